// Bounds on text: how to cut it without breaking a character, a cluster, a line ending or an escape sequence,
// and how to say what is missing. Knows nothing of who reads it.

export type Keep = "head" | "tail" | "both";

export type CutOptions = {
  keep: Keep;
  /** The line that stands for what was left out; it counts into the bound. "both" has one by default. */
  note?: (missingBytes: number) => string;
  /** Share of the bound that "both" gives to the head. */
  headShare?: number;
};

export type Cut = { text: string; cutBytes: number };

/** The text in at most `maxBytes` bytes of UTF-8, and how many bytes of it are not there. */
export function cutText(text: string, maxBytes: number, options: CutOptions): Cut {
  const total = byteLength(text);
  if (total <= maxBytes) return { text, cutBytes: 0 };
  const note = options.note ?? (options.keep === "both" ? omittedNote : undefined);
  const room = note ? maxBytes - byteLength(note(total)) - 2 : maxBytes;
  if (!note || room < 16) return cutEnd(text, Math.max(0, maxBytes), total, options.keep === "tail" ? "tail" : "head");

  const headRoom = { head: room, tail: 0, both: Math.floor(room * (options.headShare ?? 0.25)) }[options.keep];
  const head = text.slice(0, headEnd(text, headRoom));
  const tail = text.slice(tailStart(text, room - headRoom));
  const cutBytes = total - byteLength(head) - byteLength(tail);
  return { text: joinWithLine(head, note(cutBytes), tail), cutBytes };
}

export function omittedNote(missingBytes: number): string {
  return `[... ${groupDigits(missingBytes)} bytes not shown ...]`;
}

/** 1234567 → "1,234,567". */
export function groupDigits(count: number): string {
  return String(count).replace(/\B(?=(\d{3})+$)/g, ",");
}

/** "1 step", "2 steps". */
export function pluralize(count: number, noun: string): string {
  return `${groupDigits(count)} ${noun}${count === 1 ? "" : "s"}`;
}

/** Puts a line of its own between two pieces of text. */
export function joinWithLine(head: string, line: string, tail: string): string {
  const before = head === "" || head.endsWith("\n") ? head : `${head}\n`;
  return tail === "" ? before + line : `${before}${line}\n${tail}`;
}

export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

/** Everything on one line, in at most `maxChars` UTF-16 units, with an ellipsis when it was longer. */
export function oneLine(text: string, maxChars: number): string {
  // Only as much is looked at as could be shown, so that a huge text costs nothing.
  const looked = text.length > maxChars * 4 + 1024 ? text.slice(0, maxChars * 4 + 1024) : text;
  const flat = looked.replace(/[\s\p{Cc}]+/gu, " ").trim();
  const isWhole = looked.length === text.length && flat.length <= maxChars;
  if (isWhole) return flat;
  return `${flat.slice(0, clusterStart(flat, Math.max(0, Math.min(flat.length, maxChars - 1)))).trimEnd()}…`;
}

/** Bytes that arrive in pieces become text; a character may be torn between two pieces, invalid bytes become U+FFFD. */
export class Utf8Stream {
  readonly #decoder = new TextDecoder("utf-8", { ignoreBOM: true });

  push(chunk: Uint8Array): string {
    return this.#decoder.decode(chunk, { stream: true });
  }

  end(): string {
    return this.#decoder.decode();
  }
}

export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function cutEnd(text: string, maxBytes: number, total: number, keep: "head" | "tail"): Cut {
  const kept = keep === "head" ? text.slice(0, headEnd(text, maxBytes)) : text.slice(tailStart(text, maxBytes));
  return { text: kept, cutBytes: total - byteLength(kept) };
}

/** The index up to which the text fits, moved back to where it may be cut. */
function headEnd(text: string, maxBytes: number): number {
  if (maxBytes <= 0) return 0;
  const { read } = new TextEncoder().encodeInto(text.slice(0, maxBytes), new Uint8Array(maxBytes));
  const end = splitsPair(text, read) ? read - 1 : read;
  return escapeAround(text, clusterStart(text, end))?.start ?? clusterStart(text, end);
}

/** The index from which the text fits, moved forward to where it may be cut. */
function tailStart(text: string, maxBytes: number): number {
  if (maxBytes <= 0) return text.length;
  let start = Math.max(0, text.length - maxBytes);
  if (splitsPair(text, start)) start += 1;
  const bytes = new TextEncoder().encode(text.slice(start));
  let skip = Math.max(0, bytes.length - maxBytes);
  while (skip < bytes.length && (bytes[skip]! & 0xc0) === 0x80) skip += 1;
  start += decodeUtf8(bytes.subarray(0, skip)).length;
  const clean = clusterEnd(text, start);
  return escapeAround(text, clean)?.end ?? clean;
}

function splitsPair(text: string, index: number): boolean {
  return index > 0 && isHigh(text.charCodeAt(index - 1)) && isLow(text.charCodeAt(index));
}

const isHigh = (code: number): boolean => code >= 0xd800 && code <= 0xdbff;
const isLow = (code: number): boolean => code >= 0xdc00 && code <= 0xdfff;

// Clusters longer than this (letters under heaps of marks) are cut between characters after all.
const longestCluster = 256;
const lookBack = 1024;

export function clusterStart(text: string, index: number): number {
  const cluster = clusterAround(text, index);
  return cluster && index - cluster.start <= longestCluster ? cluster.start : index;
}

function clusterEnd(text: string, index: number): number {
  const cluster = clusterAround(text, index);
  return cluster && cluster.end - index <= longestCluster ? cluster.end : index;
}

let segmenter: Intl.Segmenter | undefined;

/** The cluster that a cut at `index` would split, or null. The segmenter is only made for text that is not plain ASCII. */
function clusterAround(text: string, index: number): { start: number; end: number } | null {
  if (index <= 0 || index >= text.length) return null;
  if (isSafeBefore(text, index)) return null;
  let from = index - 1;
  while (from > 0 && index - from < lookBack && !isSafeBefore(text, from)) from -= 1;
  if (splitsPair(text, from)) from -= 1;
  // Flags are pairs counted from the first of a row.
  while (isRegional(text, from) && isRegional(text, from - 2)) from -= 2;
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  const found = segmenter.segment(text.slice(from, index + longestCluster * 2)).containing(index - from);
  if (!found || found.index === index - from) return null;
  return { start: from + found.index, end: from + found.index + found.segment.length };
}

function isRegional(text: string, index: number): boolean {
  const code = text.codePointAt(index) ?? 0;
  return index >= 0 && code >= 0x1f1e6 && code <= 0x1f1ff;
}

/** Whether a cluster surely starts at `index`: before an ASCII character, but for the LF of a CRLF. */
function isSafeBefore(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code < 0x80 && !(code === 10 && text.charCodeAt(index - 1) === 13);
}

const longestEscape = 64;
const esc = "\x1b";
const bell = "\x07";
const escapeSequence = new RegExp(`^${esc}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${bell}${esc}]*(?:${bell}|${esc}\\\\)|[ -/]*[0-Z\\\\^-~])`);
const escapeBeginning = new RegExp(`^${esc}(?:\\[[0-?]*[ -/]*|\\][^${bell}${esc}]*)?$`);

/** The terminal escape sequence that a cut at `index` would split, or null. */
function escapeAround(text: string, index: number): { start: number; end: number } | null {
  const start = text.lastIndexOf(esc, index - 1);
  if (index <= 0 || start < 0 || index - start > longestEscape) return null;
  const whole = escapeSequence.exec(text.slice(start, index + longestEscape));
  if (!whole) return escapeBeginning.test(text.slice(start, index)) ? { start, end: index } : null;
  const end = start + whole[0].length;
  return end > index ? { start, end } : null;
}

/** 1234 is 1.2k. */
export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 999_950 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}
