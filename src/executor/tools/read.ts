// The read tool: a window of a text file with line numbers, or an image. Reads as a stream, so that the size of
// the file does not matter, and never opens what could make it wait.
import { constants } from "node:fs";
import { type FileHandle, open, stat } from "node:fs/promises";
import type { ToolOutcome } from "../../protocol/api/ports.ts";
import { LineSplitter } from "../../kit/text/line-splitter.ts";
import { absolutePath } from "../../kit/files/absolute-path.ts";
import { byteLength, pluralize, cutText, groupDigits } from "../../kit/text/cut-text.ts";
import { definitions } from "./definitions.ts";
import { directoryProblem, fileProblem, secretProblem, specialFileProblem } from "./file-problem.ts";
import { errorOutcome, type Tool } from "./tool.ts";

const defaultLines = 2000;
const mostBytes = 30_000;
const longestLine = 2000;
const largestImage = 5 << 20;
const chunkBytes = 128 << 10;
// A line longer than this is not read to its end.
const mostOfALine = 16 << 20;

export const readTool: Tool = {
  definition: definitions.read,
  run: async (input, run) => {
    const { cwd, home, signal } = run;
    const path = absolutePath(String(input.path), { cwd, home });
    const range = {
      offset: Math.max(1, (input.offset as number | undefined) ?? 1),
      limit: Math.max(1, (input.limit as number | undefined) ?? defaultLines),
    };
    let file: FileHandle | null = null;
    try {
      const found = await stat(path);
      if (found.isDirectory()) return directoryProblem(path, run);
      if (!found.isFile()) return specialFileProblem(path, run);
      file = await open(path, constants.O_RDONLY | constants.O_NONBLOCK);
      const outcome = await readOpen({ file, path, size: found.size }, range, signal);
      return (outcome === emptyFile ? secretProblem(path, "read", run) : null) ?? outcome;
    } catch (error) {
      if (signal.aborted) return errorOutcome("cancelled");
      return fileProblem(error, "read", path, run);
    } finally {
      await file?.close();
    }
  },
};

const emptyFile: ToolOutcome = { text: "(empty file)", isError: false };

type OpenFile = { file: FileHandle; path: string; size: number };
type Range = { offset: number; limit: number };

async function readOpen(target: OpenFile, range: Range, signal: AbortSignal): Promise<ToolOutcome> {
  const chunk = Buffer.allocUnsafe(Math.min(chunkBytes, Math.max(target.size + 1, 4096)));
  const { bytesRead } = await target.file.read(chunk, 0, chunk.length, 0);
  const first = chunk.subarray(0, bytesRead);
  if (first.length === 0) return emptyFile;
  const mime = imageType(first);
  if (mime) return readImage(target, mime);
  const binary = binaryProblem(target, first);
  if (binary) return errorOutcome(binary);
  return readLines(target, range, first, chunk, signal);
}

async function readLines(target: OpenFile, range: Range, first: Buffer, buffer: Buffer, signal: AbortSignal): Promise<ToolOutcome> {
  const window = new Window(range);
  let position = first.length;
  for (let chunk = first; chunk.length > 0 && !window.isFull;) {
    window.push(chunk);
    if (window.isFull) break;
    signal.throwIfAborted();
    const { bytesRead } = await target.file.read(buffer, 0, buffer.length, position);
    position += bytesRead;
    chunk = buffer.subarray(0, bytesRead);
  }
  window.end();
  return window.outcome(target.size);
}

/** Collects the asked lines until a bound is reached. */
class Window {
  isFull = false;
  readonly #range: Range;
  readonly #splitter = new LineSplitter(longestLine * 4);
  readonly #shown: string[] = [];
  #line = 0;
  #bytes = 0;
  #hasLongLine = false;
  #endsInLine = false;
  #isEndless = false;

  constructor(range: Range) {
    this.#range = range;
  }

  push(chunk: Uint8Array): void {
    const rest = this.#skip(chunk);
    if (rest.length === 0) return;
    for (const line of this.#splitter.push(rest)) this.#add(line.text, line.cutBytes);
    const pending = this.#splitter.pendingBytes;
    if (pending > 0 && this.#shown.length >= this.#range.limit) this.isFull = true;
    if (pending > mostOfALine && !this.isFull) {
      this.end();
      this.isFull = this.#isEndless = true;
    }
  }

  end(): void {
    const last = this.#splitter.end();
    if (last) this.#add(last.text, last.cutBytes);
    else if (this.#endsInLine && this.#shown.length === 0) this.#line += 1;
  }

  outcome(size: number): ToolOutcome {
    if (this.#shown.length === 0) {
      return errorOutcome(`offset ${this.#range.offset} is past the end: the file has ${pluralize(this.#line, "line")}`);
    }
    const notices: string[] = [];
    if (this.#hasLongLine) notices.push(`[lines are cut at ${groupDigits(longestLine)} characters; use bash to see more of them]`);
    if (this.#isEndless) {
      notices.push(`[stopped inside line ${this.#line}, which is longer than ${groupDigits(mostOfALine)} bytes; use bash to go on]`);
    } else if (this.isFull) {
      notices.push(`[stopped at line ${this.#line}; the file goes on (${groupDigits(size)} bytes in all): use offset=${this.#line + 1}]`);
    }
    return { text: [...this.#shown, ...notices].join("\n"), isError: false };
  }

  /** Passes over the lines before the offset without keeping them. */
  #skip(chunk: Uint8Array): Uint8Array {
    let from = 0;
    while (this.#line < this.#range.offset - 1) {
      const at = chunk.indexOf(10, from);
      this.#endsInLine = at === -1 && from < chunk.length;
      if (at === -1) return chunk.subarray(chunk.length);
      this.#line += 1;
      from = at + 1;
    }
    this.#endsInLine = false;
    return chunk.subarray(from);
  }

  #add(text: string, cutBytes: number): void {
    if (this.isFull) return;
    const shown = `${this.#line + 1}\t${this.#cutLine(text, cutBytes)}`;
    const bytes = byteLength(shown) + 1;
    if (this.#shown.length >= this.#range.limit || this.#bytes + bytes > mostBytes) {
      this.isFull = true;
      return;
    }
    this.#shown.push(shown);
    this.#bytes += bytes;
    this.#line += 1;
  }

  #cutLine(text: string, cutBytes: number): string {
    let line = text.endsWith("\r") ? text.slice(0, -1) : text;
    if (this.#line === 0 && line.startsWith("\ufeff")) line = line.slice(1);
    if (line.length <= longestLine && cutBytes === 0) return line;
    this.#hasLongLine = true;
    const short = line.slice(0, longestLine);
    const kept = cutText(line, byteLength(short), { keep: "head" });
    return `${kept.text} [... ${groupDigits(kept.cutBytes + cutBytes)} bytes of this line not shown ...]`;
  }
}

async function readImage({ file, path, size }: OpenFile, mime: string): Promise<ToolOutcome> {
  if (size > largestImage) {
    return errorOutcome(
      `${path} is an image of ${groupDigits(size)} bytes; at most ${groupDigits(largestImage)} can be shown. Make it smaller first`,
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
