// A session's transcript file: made once, appended as the session goes, readable after any crash.
// The store is the truth; what a crash kept from the file is added from there.
import { closeSync, constants, fstatSync, ftruncateSync, mkdirSync, openSync, readSync, writeFileSync, writeSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { type Node, shortId } from "../protocol/tree/node.ts";
import type { Session } from "../protocol/tree/turn.ts";
import { errorCode } from "./sqlite/faults.ts";
import { toTranscriptHeader, toTranscriptLines, type TranscriptHeader, type TranscriptLine } from "../protocol/json/transcript-lines.ts";

export class Transcript {
  readonly path: string;
  /** The last whole line that is in the file; null when there is only the header. */
  last: { id: string; part: number } | null;
  readonly #fd: number;
  #bytes: number;

  private constructor(path: string, fd: number, bytes: number, last: Transcript["last"]) {
    this.path = path;
    this.#fd = fd;
    this.#bytes = bytes;
    this.last = last;
  }

  static create(path: string, session: Session, options: { provider: string | null }): Transcript {
    return unlessRefused(path, () => {
      makeDirectory(dirname(path));
      const fd = openSync(path, constants.O_CREAT | constants.O_EXCL | constants.O_RDWR | constants.O_APPEND, 0o600);
      const transcript = new Transcript(path, fd, 0, null);
      transcript.#put(`${JSON.stringify(toTranscriptHeader(session, options.provider))}\n`);
      return transcript;
    });
  }

  /** Takes a torn last line away. A file that lost even its header gets it again from `start`. */
  static open(path: string, start?: { session: Session; provider: string | null }): Transcript {
    return unlessRefused(path, () => {
      const fd = openSync(path, constants.O_RDWR | constants.O_APPEND);
      const { wholeBytes, bytes, line } = lastLine(fd);
      if (wholeBytes < bytes) ftruncateSync(fd, wholeBytes);
      const transcript = new Transcript(path, fd, wholeBytes, lastPlace(line));
      if (wholeBytes === 0 && start) transcript.#put(`${JSON.stringify(toTranscriptHeader(start.session, start.provider))}\n`);
      return transcript;
    });
  }

  append(node: Node): void {
    this.appendLines(toTranscriptLines(node));
  }

  appendLines(lines: TranscriptLine[]): void {
    const last = lines.at(-1);
    if (!last) return;
    unlessRefused(this.path, () => this.#put(lines.map((line) => `${JSON.stringify(line)}\n`).join("")));
    this.last = { id: last.id, part: last.part };
  }

  close(): void {
    closeSync(this.#fd);
  }

  #put(text: string): void {
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

/** Adds what the file lacks of the session's nodes (oldest first); returns how many lines that was. */
export async function catchUp(transcript: Transcript, nodes: Node[]): Promise<number> {
  const last = transcript.last;
  const from = last ? nodes.findLastIndex((node) => node.id === last.id) : -1;
  if (last && from === -1) return await addAbsent(transcript, nodes);
  const rest = from === -1 ? [] : toTranscriptLines(nodes[from]!).filter((line) => line.part > last!.part);
  const missing = [...rest, ...nodes.slice(from + 1).flatMap(toTranscriptLines)];
  transcript.appendLines(missing);
  return missing.length;
}

async function addAbsent(transcript: Transcript, nodes: Node[]): Promise<number> {
  const { places } = await readLineKeys(transcript.path);
  const missing = nodes.flatMap(toTranscriptLines).filter((line) => !places.has(lineKey(line)));
  transcript.appendLines(missing);
  return missing.length;
}

export function lineKey(line: { id: string; part: number }): string {
  return `${line.id} ${line.part}`;
}

/** Which parts of which nodes a file holds, read piece by piece; lines that are no JSON are only counted. */
export async function readLineKeys(path: string): Promise<{ places: Set<string>; broken: number; torn: boolean }> {
  const places = new Set<string>();
  const decoder = new TextDecoder();
  let broken = 0;
  let rest: string[] = [];
  for await (const chunk of Bun.file(path).stream()) {
    const [first = "", ...others] = decoder.decode(chunk, { stream: true }).split("\n");
    rest.push(first);
    for (const next of others) {
      const line = rest.join("");
      rest = [next];
      const place = parseLineId(line);
      if (place) places.add(lineKey(place));
      else if (!isHeader(line)) broken += 1;
    }
  }
  return { places, broken, torn: rest.join("") !== "" };
}

export type ReadTranscript = { header: TranscriptHeader; lines: TranscriptLine[]; torn: boolean };

/** Reads a whole file; a last line that was cut off is left out. */
export async function readTranscript(path: string): Promise<ReadTranscript> {
  const text = await Bun.file(path)
    .text()
    .catch((error: unknown) => {
      throw new Fault("file-unreadable", `The transcript ${path} can't be read: ${messageOf(error)}`, { cause: error });
    });
  const rows = text.split("\n");
  const rest = rows.pop() ?? "";
  const [header, ...lines] = rows.map((row, index) => parsed(row, path, index + 1));
  if (!header) throw new Fault("file-unreadable", `The transcript ${path} has no header.`);
  return { header: header as TranscriptHeader, lines: lines as TranscriptLine[], torn: rest !== "" };
}

function parsed(row: string, path: string, number: number): unknown {
  try {
    return JSON.parse(row);
  } catch (error) {
    throw new Fault("file-unreadable", `Line ${number} of the transcript ${path} is no JSON.`, { cause: error });
  }
}

function makeDirectory(directory: string): void {
  const above = dirname(directory);
  mkdirSync(above, { recursive: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  if (basename(directory) !== "sessions" || basename(above) !== ".skein") return;
  try {
    writeFileSync(join(above, ".gitignore"), "sessions/\n", { flag: "wx" });
  } catch (error) {
    if (errorCode(error) !== "EEXIST") throw error;
  }
}

/** Reads backwards from the end, as far as the last whole line goes. */
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

/** Of a line that can't be told, a place that no node has: `catchUp` then compares everything. */
function lastPlace(line: string): Transcript["last"] {
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

function unlessRefused<T>(path: string, act: () => T): T {
  try {
    return act();
  } catch (error) {
    if (error instanceof Fault) throw error;
    const code = errorCode(error);
    if (code === "ENOSPC" || code === "EDQUOT")
      throw new Fault("store-full", `The disk is full: ${path} can't be written.`, { cause: error });
    if (code === "ENOENT") throw new Fault("file-unreadable", `The transcript ${path} is not there.`, { cause: error });
    throw new Fault("file-unwritable", `The transcript ${path} can't be written: ${messageOf(error)}`, { cause: error });
  }
}
