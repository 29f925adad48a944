// The transcript file of a session: created once, then only appended to, and readable after any crash.
// The store is authoritative: `catchUp` adds the lines that a crash prevented. Tools may be able to write the directory,
// so every file in it is opened by `safe-file.ts`.
import { closeSync, constants, fstatSync, ftruncateSync, lstatSync, readSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { makeIgnoredDirectory } from "../kit/files/ignored-directory.ts";
import { makeDirectorySafely, openSafely, readChunks, writeAll } from "../kit/files/safe-file.ts";
import { readLines } from "../kit/text/line-splitter.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { gitignoreTexts } from "../protocol/tree/skein-directory.ts";
import type { Node } from "../protocol/tree/node.ts";
import type { Session } from "../protocol/tree/turn.ts";
import { errorCode } from "./sqlite/faults.ts";
import { providerOf, toTranscriptHeader, toTranscriptLines, type TranscriptLine } from "../protocol/json/transcript-lines.ts";

export class Transcript {
  readonly path: string;
  /** The last whole line of the file; null if there is only the header. */
  last: LineId | null;
  readonly #fd: number;
  #bytes: number;

  private constructor(path: string, fd: number, bytes: number, last: LineId | null) {
    this.path = path;
    this.#fd = fd;
    this.#bytes = bytes;
    this.last = last;
  }

  /** Creates a missing file. Removes a torn last line. Writes the header again if the file lost it. */
  static open(path: string, session: Session): Transcript {
    return withFileFaults(path, () => {
      const fd = openExisting(path) ?? create(path);
      const { wholeBytes, bytes, line } = lastLine(fd);
      if (wholeBytes < bytes) ftruncateSync(fd, wholeBytes);
      const transcript = new Transcript(path, fd, wholeBytes, lastLineId(line));
      if (wholeBytes === 0) transcript.#write(`${headerLine(session)}\n`);
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
      writeAll(this.#fd, bytes);
      this.#bytes += bytes.length;
    } catch (error) {
      ftruncateSync(this.#fd, this.#bytes);
      throw error;
    }
  }
}

/** Appends the missing lines of the session's nodes, oldest first. Returns the number of lines. */
export async function catchUp(transcript: Transcript, nodes: Node[]): Promise<number> {
  const last = transcript.last;
  const lastIndex = last ? nodes.findLastIndex((node) => node.id === last.id) : -1;
  // Only the nodes from the last line on, unless another program wrote that line.
  const keys = last && lastIndex === -1 ? (await readLineKeys(transcript.path)).keys : null;
  const isMissing = (line: TranscriptLine) => (keys ? !keys.has(lineKey(line)) : line.id !== last?.id || line.part > last.part);
  const missing = nodes.slice(Math.max(0, lastIndex)).flatMap(toTranscriptLines).filter(isMissing);
  transcript.appendLines(missing);
  return missing.length;
}

export type LineId = { id: string; part: number };

export function lineKey({ id, part }: LineId): string {
  return `${id} ${part}`;
}

export function headerLine(session: Session): string {
  return JSON.stringify(toTranscriptHeader(session, providerOf(session)));
}

/** The keys of all lines of a file, read in chunks. Lines that are not JSON are only counted. */
export async function readLineKeys(path: string): Promise<{ keys: Set<string>; broken: number; isTorn: boolean }> {
  const keys = new Set<string>();
  let broken = 0;
  const fd = openSafely(path, constants.O_RDONLY);
  try {
    for await (const { text, isIncomplete } of readLines(readChunks(fd), Infinity)) {
      if (isIncomplete) return { keys, broken, isTorn: true };
      const line = parseLine(text);
      if (line === null) broken += 1;
      else if (line !== "header") keys.add(lineKey(line));
    }
    return { keys, broken, isTorn: false };
  } finally {
    closeSync(fd);
  }
}

const appending = constants.O_RDWR | constants.O_APPEND;

/** Most files are new, and a status costs less than an exception. */
function openExisting(path: string): number | null {
  try {
    if (!exists(path)) return null;
    return openSafely(path, appending);
  } catch (error) {
    if (errorCode(error) === "ENOENT") return null;
    throw error;
  }
}

/** The path is opened without following links afterwards, so that a link counts as present here. */
function exists(path: string): boolean {
  return lstatSync(path, { throwIfNoEntry: false }) !== undefined;
}

/** Refuses a file that another program created meanwhile. */
function create(path: string): number {
  const directory = dirname(path);
  const parent = dirname(directory);
  if (basename(directory) === "sessions" && basename(parent) === ".skein" && !exists(join(parent, ".gitignore")))
    makeIgnoredDirectory(parent, gitignoreTexts.private);
  if (!exists(directory)) makeDirectorySafely(directory);
  return openSafely(path, appending | constants.O_CREAT | constants.O_EXCL, { mode: 0o600 });
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

/** For a damaged line, returns an id that no node has, so that `catchUp` compares every line. */
function lastLineId(text: string): LineId | null {
  const line = text === "" ? "header" : parseLine(text);
  return line === "header" ? null : (line ?? { id: "", part: 0 });
}

/** Null for a damaged line. */
export function parseLine(text: string): LineId | "header" | null {
  try {
    const { id, part, session_id } = JSON.parse(text) ?? {};
    if (session_id !== undefined) return "header";
    return typeof id === "string" && typeof part === "number" ? { id, part } : null;
  } catch {
    return null;
  }
}

function withFileFaults<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof Fault) throw error;
    const code = errorCode(error);
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new Fault("store-full", `the disk is full: ${path} can't be written`, { cause: error });
    throw new Fault("file-unwritable", `the transcript ${path} can't be written: ${messageOf(error)}`, { cause: error });
  }
}
