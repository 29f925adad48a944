// Reads the entries of an open transcript in batches, from an offset to the end of its last whole line. A line that is still
// being written is left for the next reading. Lines that are no JSON objects are left out.
import { readSync } from "node:fs";
import { parseJson, type Json } from "../../../kit/text/json.ts";
import type { TranscriptAgent } from "../../../protocol/transcripts/agent-transcript.ts";

export type Batch = {
  entries: Json[];
  /** The next batch begins here. */
  offset: number;
  /** Bytes of this batch. */
  bytes: number;
  isLast: boolean;
};

type Range = { from: number; to: number; agent: TranscriptAgent; path: string };

const batchBytes = 4 << 20;
/** A longer line has pictures or a huge output. It is left out. */
const maxLineBytes = 32 << 20;
const lineFeed = 10;

export function* readBatches(descriptor: number, { from, to, agent, path }: Range): Generator<Batch> {
  if (agent === "gemini" && path.endsWith(".json")) return yield* readObject(descriptor, to);
  let offset = from;
  /** The start of a line that is longer than a batch. */
  let held: Buffer[] = [];
  let heldBytes = 0;
  let isTooLong = false;
  for (let position = from; position < to;) {
    const chunk = readAt(descriptor, position, Math.min(batchBytes, to - position));
    if (chunk.length === 0) break;
    position += chunk.length;
    const isLast = position >= to;
    const end = chunk.lastIndexOf(lineFeed) + 1;
    if (end === 0) {
      isTooLong ||= heldBytes + chunk.length > maxLineBytes;
      held = isTooLong ? [] : [...held, chunk];
      heldBytes = isTooLong ? 0 : heldBytes + chunk.length;
      if (isLast) yield { entries: [], offset, bytes: chunk.length, isLast };
      continue;
    }
    const whole = Buffer.concat([...held, chunk.subarray(0, end)]);
    const lines = isTooLong ? whole.subarray(whole.indexOf(lineFeed) + 1) : whole;
    offset = position - (chunk.length - end);
    yield { entries: entriesIn(lines), offset, bytes: chunk.length, isLast };
    held = [chunk.subarray(end)];
    heldBytes = chunk.length - end;
    isTooLong = false;
  }
}

function readAt(descriptor: number, position: number, length: number): Buffer {
  const chunk = Buffer.allocUnsafe(length);
  return chunk.subarray(0, readSync(descriptor, chunk, 0, length, position));
}

function entriesIn(lines: Buffer): Json[] {
  const entries: Json[] = [];
  for (let start = 0; start < lines.length;) {
    const end = lines.indexOf(lineFeed, start);
    const stop = end === -1 ? lines.length : end;
    const entry = stop > start ? parseJson(lines.toString("utf8", start, stop)) : null;
    if (entry !== null) entries.push(entry);
    start = stop + 1;
  }
  return entries;
}

/** Older versions of Gemini CLI wrote one object over many lines. */
function* readObject(descriptor: number, bytes: number): Generator<Batch> {
  const text = bytes > maxLineBytes ? "" : readAt(descriptor, 0, bytes).toString("utf8");
  const entry = parseJson(text);
  yield { entries: entry === null ? [] : [entry], offset: bytes, bytes, isLast: true };
}
