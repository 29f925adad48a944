// The read tool: numbered lines of a text file, or an image. It reads a stream, so that the size of the file does not
// matter. It opens only regular files, because opening a pipe could block.
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import { absolutePath } from "../../kit/files/absolute-path.ts";
import { byteLength, cutText, groupDigits, pluralize } from "../../kit/text/cut-text.ts";
import { LineSplitter } from "../../kit/text/line-splitter.ts";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { fileProblem, fileTypeProblem, secretProblem } from "./file-problem.ts";
import { errorOutcome, type RunTool } from "./tool.ts";

const defaultLines = 2000;
const maxResultBytes = 30_000;
const maxLineLength = 2000;
const maxImageBytes = 5 << 20;
const chunkBytes = 128 << 10;
/** A longer line is not read to its end. */
const maxLineBytes = 16 << 20;

export const runRead: RunTool = async (input, ctx) => {
  const path = absolutePath(String(input.path), ctx);
  const range = {
    offset: Math.max(1, (input.offset as number | undefined) ?? 1),
    limit: Math.max(1, (input.limit as number | undefined) ?? defaultLines),
  };
  let file: FileHandle | null = null;
  try {
    const stats = await stat(path);
    const problem = fileTypeProblem(stats, path, ctx);
    if (problem) return problem;
    file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
    const outcome = await readFile({ file, path, size: stats.size }, range, ctx.signal);
    return (outcome === emptyFile ? secretProblem(path, "read", ctx) : null) ?? outcome;
  } catch (error) {
    if (ctx.signal.aborted) return errorOutcome("cancelled");
    return fileProblem(error, "read", path, ctx);
  } finally {
    await file?.close();
  }
};

const emptyFile: ToolOutcome = { text: "(empty file)", isError: false };

type OpenFile = { file: FileHandle; path: string; size: number };
type LineRange = { offset: number; limit: number };

async function readFile(target: OpenFile, range: LineRange, signal: AbortSignal): Promise<ToolOutcome> {
  const buffer = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(target.size + 1, 4096)));
  const readChunk = async (position: number): Promise<Buffer> => {
    const { bytesRead } = await target.file.read(buffer, 0, buffer.length, position);
    return buffer.subarray(0, bytesRead);
  };
  const first = await readChunk(0);
  if (first.length === 0) return emptyFile;
  const mime = imageType(first);
  if (mime) return readImage(target, mime);
  const problem = binaryProblem(target, first);
  if (problem) return errorOutcome(problem);

  const lines = new LineCollector(range);
  let position = first.length;
  for (let chunk = first; chunk.length > 0 && !lines.isFull;) {
    lines.push(chunk);
    if (lines.isFull) break;
    signal.throwIfAborted();
    chunk = await readChunk(position);
    position += chunk.length;
  }
  lines.end();
  return lines.outcome(target.size);
}

/** Collects the requested lines until a limit is reached. */
class LineCollector {
  isFull = false;
  readonly #range: LineRange;
  readonly #splitter = new LineSplitter(maxLineLength * 4);
  readonly #visible: string[] = [];
  #line = 0;
  #bytes = 0;
  #hasLongLine = false;
  #endsInSkippedLine = false;
  #stoppedInsideLine = false;

  constructor(range: LineRange) {
    this.#range = range;
  }

  push(chunk: Uint8Array): void {
    const requested = this.#skipToOffset(chunk);
    if (requested.length === 0) return;
    for (const line of this.#splitter.push(requested)) this.#add(line.text, line.cutBytes);
    const pending = this.#splitter.pendingBytes;
    if (pending > 0 && this.#visible.length >= this.#range.limit) this.isFull = true;
    if (pending > maxLineBytes && !this.isFull) {
      this.end();
      this.isFull = this.#stoppedInsideLine = true;
    }
  }

  end(): void {
    const last = this.#splitter.end();
    if (last) this.#add(last.text, last.cutBytes);
    else if (this.#endsInSkippedLine && this.#visible.length === 0) this.#line += 1;
  }

  outcome(size: number): ToolOutcome {
    if (this.#visible.length === 0) {
      return errorOutcome(`offset ${this.#range.offset} is past the end: the file has ${pluralize(this.#line, "line")}`);
    }
    const notices: string[] = [];
    if (this.#hasLongLine) notices.push(`[lines are cut at ${groupDigits(maxLineLength)} characters; use bash to see more of them]`);
    if (this.#stoppedInsideLine) {
      notices.push(`[stopped inside line ${this.#line}, which is longer than ${groupDigits(maxLineBytes)} bytes; use bash to read more]`);
    } else if (this.isFull) {
      notices.push(`[stopped at line ${this.#line}; there is more (${groupDigits(size)} bytes in all): use offset=${this.#line + 1}]`);
    }
    return { text: [...this.#visible, ...notices].join("\n"), isError: false };
  }

  /** Returns the part of the chunk that follows the lines before the offset. */
  #skipToOffset(chunk: Uint8Array): Uint8Array {
    let start = 0;
    while (this.#line < this.#range.offset - 1) {
      const newline = chunk.indexOf(10, start);
      this.#endsInSkippedLine = newline === -1 && start < chunk.length;
      if (newline === -1) return chunk.subarray(chunk.length);
      this.#line += 1;
      start = newline + 1;
    }
    this.#endsInSkippedLine = false;
    return chunk.subarray(start);
  }

  #add(text: string, cutBytes: number): void {
    if (this.isFull) return;
    const numbered = `${this.#line + 1}\t${this.#cutLine(text, cutBytes)}`;
    const bytes = byteLength(numbered) + 1;
    if (this.#visible.length >= this.#range.limit || this.#bytes + bytes > maxResultBytes) {
      this.isFull = true;
      return;
    }
    this.#visible.push(numbered);
    this.#bytes += bytes;
    this.#line += 1;
  }

  #cutLine(text: string, cutBytes: number): string {
    let line = text.endsWith("\r") ? text.slice(0, -1) : text;
    if (this.#line === 0 && line.startsWith("\ufeff")) line = line.slice(1);
    if (line.length <= maxLineLength && cutBytes === 0) return line;
    this.#hasLongLine = true;
    const cut = cutText(line, byteLength(line.slice(0, maxLineLength)), { keep: "head" });
    return `${cut.text} [... ${groupDigits(cut.cutBytes + cutBytes)} bytes of this line not shown ...]`;
  }
}

async function readImage({ file, path, size }: OpenFile, mime: string): Promise<ToolOutcome> {
  if (size > maxImageBytes) {
    return errorOutcome(
      `${path} is an image of ${groupDigits(size)} bytes; at most ${groupDigits(maxImageBytes)} can be shown. Make it smaller first`,
    );
  }
  const bytes = Buffer.alloc(size);
  const { bytesRead } = await file.read(bytes, 0, size, 0);
  const base64 = bytes.subarray(0, bytesRead).toString("base64");
  return { text: `${mime}, ${groupDigits(bytesRead)} bytes`, isError: false, images: [{ mime, base64 }] };
}

function imageType(bytes: Buffer): string | null {
  const ascii = bytes.subarray(0, 12).toString("latin1");
  if (ascii.startsWith("\x89PNG\r\n\x1a\n")) return "image/png";
  if (ascii.startsWith("\xff\xd8\xff")) return "image/jpeg";
  if (ascii.startsWith("GIF87a") || ascii.startsWith("GIF89a")) return "image/gif";
  if (ascii.startsWith("RIFF") && ascii.slice(8) === "WEBP") return "image/webp";
  return null;
}

function binaryProblem({ path, size }: OpenFile, first: Buffer): string | null {
  if (!first.subarray(0, 8192).includes(0)) return null;
  const isUtf16 = (first[0] === 0xff && first[1] === 0xfe) || (first[0] === 0xfe && first[1] === 0xff);
  if (isUtf16) return `${path} is UTF-16 text; read it with bash: iconv -f UTF-16 -t UTF-8`;
  return `${path} is a binary file (${groupDigits(size)} bytes); look at it with bash: file, xxd or strings`;
}
