// The transcript file of a session: created once, then only appended to, and readable after any crash.
// The store is authoritative: `catchUp` adds the lines that a crash prevented.
import { closeSync, constants, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { type Node, shortId } from "../protocol/tree/node.ts";
import type { Session } from "../protocol/tree/turn.ts";
import { errorCode } from "./sqlite/faults.ts";
import { toTranscriptHeader, toTranscriptLines, type TranscriptHeader, type TranscriptLine } from "../protocol/json/transcript-lines.ts";

export class Transcript {
  readonly path: string;
  /** The last whole line of the file; null if there is only the header. */
  last: { id: string; part: number } | null;
  readonly #fd: number;
  #bytes: number;

  private constructor(path: string, fd: number, bytes: number, last: Transcript["last"]) {
    this.path = path;
    this.#fd = fd;
    this.#bytes = bytes;
    this.last = last;
  }

  static create(path: string, session: Session, options: { provider: string }): Transcript {
    return withFileFaults(path, () => {
      createDirectory(dirname(path));
      const fd = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_APPEND, 0o600);
      const transcript = new Transcript(path, fd, 0, null);
      transcript.#write(`${JSON.stringify(toTranscriptHeader(session, options.provider))}\n`);
      return transcript;
    });
  }

  /** Removes a torn last line. Writes the header again, from `start`, if the file lost it. */
  static open(path: string, start?: { session: Session; provider: string }): Transcript {
    return withFileFaults(path, () => {
      const fd = openSync(path, constants.O_RDWR | constants.O_APPEND);
      const { wholeBytes, bytes, line } = lastLine(fd);
      if (wholeBytes < bytes) ftruncateSync(fd, wholeBytes);
      const transcript = new Transcript(path, fd, wholeBytes, lastLineId(line));
      if (wholeBytes === 0 && start) transcript.#write(`${JSON.stringify(toTranscriptHeader(start.session, start.provider))}\n`);
      return transcript;
    });
  }

  append(node: Node): void {
    this.appendLines(toTranscriptLines(node));
  }

  appendLines(lines: TranscriptLine[]): void {
    const last = lines.at(-1);
    if (!last) return;
    withFileFaults(this.path, () => this.#write(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
    this.last = { id: last.id, part: last.part };
  }

  close(): void {
    closeSync(this.#fd);
  }

  #write(text: string): void {
    const bytes = Buffer.from(text);
    try {
      for (let done = 0; done < bytes.length;) done += writeSync(this.#fd, bytes, done);
      this.#bytes += bytes.length;
    } catch (error) {
      ftruncateSync(this.#fd, this.#bytes);
      throw error;
    }
  }
}

/** `<YYYY-MM-DD-HH-MM-SS>-<short id>.jsonl`, in UTC. */
export function transcriptPath(directory: string, session: Pick<Session, "id" | "createdAt">): string {
  const stamp = new Date(session.createdAt).toISOString().slice(0, 19).replaceAll(/[T:]/g, "-");
  return join(directory, `${stamp}-${shortId(session.id)}.jsonl`);
}

/** Appends the missing lines of the session's nodes, oldest first. Returns the number of lines. */
export async function catchUp(transcript: Transcript, nodes: Node[]): Promise<number> {
  const last = transcript.last;
  const lastIndex = last ? nodes.findLastIndex((node) => node.id === last.id) : -1;
  if (last && lastIndex === -1) return await appendMissing(transcript, nodes);
  const restOfNode = lastIndex === -1 ? [] : toTranscriptLines(nodes[lastIndex]!).filter((line) => line.part > last!.part);
  const missing = [...restOfNode, ...nodes.slice(lastIndex + 1).flatMap(toTranscriptLines)];
  transcript.appendLines(missing);
  return missing.length;
}

async function appendMissing(transcript: Transcript, nodes: Node[]): Promise<number> {
  const { keys } = await readLineKeys(transcript.path);
  const missing = nodes.flatMap(toTranscriptLines).filter((line) => !keys.has(lineKey(line)));
  transcript.appendLines(missing);
  return missing.length;
}

export function lineKey(line: { id: string; part: number }): string {
  return `${line.id} ${line.part}`;
}

/** The keys of all lines of a file, read in chunks. Lines that are not JSON are only counted. */
export async function readLineKeys(path: string): Promise<{ keys: Set<string>; broken: number; torn: boolean }> {
  const keys = new Set<string>();
  const decoder = new TextDecoder();
  let broken = 0;
  let pending: string[] = [];
  for await (const chunk of Bun.file(path).stream()) {
    const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    pending.push(first);
    for (const next of others) {
      const line = pending.join("");
      pending = [next];
      const id = parseLineId(line);
      if (id) keys.add(lineKey(id));
      else if (!isHeader(line)) broken += 1;
    }
  }
  return { keys, broken, torn: pending.join("") !== "" };
}

export type ReadTranscript = { header: TranscriptHeader; lines: TranscriptLine[]; torn: boolean };

/** Reads a whole file without a torn last line. */
export async function readTranscript(path: string): Promise<ReadTranscript> {
  const text = await Bun.file(path)
    .text()
    .catch((error: unknown) => {
      throw new Fault("file-unreadable", `The transcript ${path} can't be read: ${messageOf(error)}`, { cause: error });
    });
  const rows = text.split("\n");
  const tornLine = rows.pop() ?? "";
  const [header, ...lines] = rows.map((row, index) => parseRow(row, path, index + 1));
  if (!header) throw new Fault("file-unreadable", `The transcript ${path} has no header.`);
  return { header: header as TranscriptHeader, lines: lines as TranscriptLine[], torn: tornLine !== "" };
}

function parseRow(row: string, path: string, number: number): unknown {
  try {
    return JSON.parse(row);
  } catch (error) {
    throw new Fault("file-unreadable", `Line ${number} of the transcript ${path} is not JSON.`, { cause: error });
  }
}

function createDirectory(directory: string): void {
  const parent = dirname(directory);
  mkdirSync(parent, { recursive: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (basename(directory) !== "sessions" || basename(parent) !== ".skein") return;
  try {
    writeFileSync(join(parent, ".gitignore"), "sessions/\n", { flag: "wx" });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Reads backwards from the end until it has the last whole line. */
function lastLine(fd: number): { bytes: number; wholeBytes: number; line: string } {
  const bytes = fstatSync(fd).size;
  let tail: Buffer = Buffer.alloc(0);
  for (let start = bytes, step = 64 << 10; start > 0; step *= 2) {
    const size = Math.min(step, start);
    const chunk = Buffer.alloc(size);
    start -= size;
    readSync(fd, chunk, 0, size, start);
    tail = Buffer.concat([chunk, tail]);
    const end = tail.lastIndexOf(0x0a);
    const before = end <= 0 ? -1 : tail.lastIndexOf(0x0a, end - 1);
    if (end === -1 || (before === -1 && start > 0)) continue;
    return { bytes, wholeBytes: start + end + 1, line: tail.toString("utf8", before + 1, end) };
  }
  return { bytes, wholeBytes: 0, line: "" };
}

/** For a line without an id, returns an id that no node has, so that `catchUp` compares every line. */
function lastLineId(line: string): Transcript["last"] {
  return line === "" || isHeader(line) ? null : (parseLineId(line) ?? { id: "", part: 0 });
}

export function parseLineId(line: string): { id: string; part: number } | null {
  const { id, part } = fieldsOf(line);
  return typeof id === "string" && typeof part === "number" ? { id, part } : null;
}

export function isHeader(line: string): boolean {
  return "session_id" in fieldsOf(line);
}

function fieldsOf(line: string): Partial<TranscriptLine & TranscriptHeader> {
  try {
    const value: unknown = JSON.parse(line);
    return typeof value === "object" && value !== null ? value : {};
  } catch {
    return {};
  }
}

function withFileFaults<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof Fault) throw error;
    const code = errorCode(error);
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new Fault("store-full", `The disk is full: ${path} can't be written.`, { cause: error });
    if (code === "ENOENT") throw new Fault("file-unreadable", `The transcript ${path} is missing.`, { cause: error });
    throw new Fault("file-unwritable", `The transcript ${path} can't be written: ${messageOf(error)}`, { cause: error });
  }
}
