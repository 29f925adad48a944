// Cuts text to a size without splitting a character, a grapheme cluster, a line ending or an escape sequence, and notes
// how much is missing.

export type Keep = "head" | "tail" | "both";

export type CutOptions = {
  keep: Keep;
  /** The line in place of the missing text. It counts into the limit. "both" has one by default. */
  note?: (missingBytes: number) => string;
  /** Share of the limit that "both" gives to the head. */
  headShare?: number;
};

export type Cut = { text: string; cutBytes: number };

/** The text in at most `maxBytes` bytes of UTF-8, and the number of missing bytes. */
export function cutText(text: string, maxBytes: number, options: CutOptions): Cut {
  const total = byteLength(text);
  if (total <= maxBytes) return { text, cutBytes: 0 };
  const note = options.note ?? (options.keep === "both" ? omittedNote : undefined);
  const availableBytes = note ? maxBytes - byteLength(note(total)) - 2 : maxBytes;
  if (!note || availableBytes < 16) return cutEnd(text, Math.max(0, maxBytes), total, options.keep === "tail" ? "tail" : "head");

  const headBytes = { head: availableBytes, tail: 0, both: Math.floor(availableBytes * (options.headShare ?? 0.25)) }[options.keep];
  const head = text.slice(0, headEnd(text, headBytes));
  const tail = text.slice(tailStart(text, availableBytes - headBytes));
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

/** Joins two pieces of text with a separate line between them. */
export function joinWithLine(head: string, line: string, tail: string): string {
  const before = head === "" || head.endsWith("\n") ? head : `${head}\n`;
  return tail === "" ? before + line : `${before}${line}\n${tail}`;
}

export function byteLength(text: string): number {
  return Buffer.byteLength(text);
}

/** The text on one line, in at most `maxChars` UTF-16 units, with an ellipsis if it was longer. */
export function oneLine(text: string, maxChars: number): string {
  // Only a prefix is processed, so that a huge text costs nothing.
  const prefix = text.length > maxChars * 4 + 1024 ? text.slice(0, maxChars * 4 + 1024) : text;
  const flat = prefix.replace(/[\s\p{Cc}]+/gu, " ").trim();
  const isComplete = prefix.length === text.length && flat.length <= maxChars;
  if (isComplete) return flat;
  return `${flat.slice(0, clusterStart(flat, Math.max(0, Math.min(flat.length, maxChars - 1)))).trimEnd()}…`;
}

/** The last line that is not empty, at most 500 characters of it. Programs print the reason of a failure there. */
export function lastLine(text: string): string {
  const trimmed = text.trimEnd();
  return trimmed
    .slice(trimmed.lastIndexOf("\n") + 1)
    .trim()
    .slice(0, 500);
}

/** Invalid bytes become U+FFFD. A byte order mark stays. */
export function decodeUtf8(bytes: Uint8Array): string {
  return new TextDecoder("utf-8", { ignoreBOM: true }).decode(bytes);
}

function cutEnd(text: string, maxBytes: number, total: number, keep: "head" | "tail"): Cut {
  const part = keep === "head" ? text.slice(0, headEnd(text, maxBytes)) : text.slice(tailStart(text, maxBytes));
  return { text: part, cutBytes: total - byteLength(part) };
}

/** The last index at which the text may be cut so that its head fits. */
function headEnd(text: string, maxBytes: number): number {
  if (maxBytes <= 0) return 0;
  const { read } = new TextEncoder().encodeInto(text.slice(0, maxBytes), new Uint8Array(maxBytes));
  const end = splitsPair(text, read) ? read - 1 : read;
  return escapeAround(text, clusterStart(text, end))?.start ?? clusterStart(text, end);
}

/** The first index at which the text may be cut so that its tail fits. */
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

/** Longer clusters (letters with hundreds of marks) are cut between characters. */
const maxClusterLength = 256;
const maxLookBack = 1024;

export function clusterStart(text: string, index: number): number {
  const cluster = clusterAround(text, index);
  return cluster && index - cluster.start <= maxClusterLength ? cluster.start : index;
}

function clusterEnd(text: string, index: number): number {
  const cluster = clusterAround(text, index);
  return cluster && cluster.end - index <= maxClusterLength ? cluster.end : index;
}

let segmenter: Intl.Segmenter | undefined;

/** The clusters of a text. The segmenter takes a millisecond, so it is created only when it is used. */
export function segmentsOf(text: string): Intl.Segments {
  segmenter ??= new Intl.Segmenter("en", { granularity: "grapheme" });
  return segmenter.segment(text);
}

/** The cluster that a cut at `index` would split, or null. */
function clusterAround(text: string, index: number): { start: number; end: number } | null {
  if (index <= 0 || index >= text.length) return null;
  if (isSafeBefore(text, index)) return null;
  let start = index - 1;
  while (start > 0 && index - start < maxLookBack && !isSafeBefore(text, start)) start -= 1;
  if (splitsPair(text, start)) start -= 1;
  // Flags are pairs of regional indicators, counted from the first one.
  while (isRegional(text, start) && isRegional(text, start - 2)) start -= 2;
  const cluster = segmentsOf(text.slice(start, index + maxClusterLength * 2)).containing(index - start);
  if (!cluster || cluster.index === index - start) return null;
  return { start: start + cluster.index, end: start + cluster.index + cluster.segment.length };
}

function isRegional(text: string, index: number): boolean {
  const code = text.codePointAt(index) ?? 0;
  return index >= 0 && code >= 0x1f1e6 && code <= 0x1f1ff;
}

/** Whether a cluster certainly starts at `index`: before any ASCII character except the LF of a CRLF. */
function isSafeBefore(text: string, index: number): boolean {
  const code = text.charCodeAt(index);
  return code < 0x80 && !(code === 10 && text.charCodeAt(index - 1) === 13);
}

const maxEscapeLength = 64;
const esc = "\x1b";
const bell = "\x07";
const escapeSequence = new RegExp(`^${esc}(?:\\[[0-?]*[ -/]*[@-~]|\\][^${bell}${esc}]*(?:${bell}|${esc}\\\\)|[ -/]*[0-Z\\\\^-~])`);
const escapeBeginning = new RegExp(`^${esc}(?:\\[[0-?]*[ -/]*|\\][^${bell}${esc}]*)?$`);

/** The terminal escape sequence that a cut at `index` would split, or null. */
function escapeAround(text: string, index: number): { start: number; end: number } | null {
  const start = text.lastIndexOf(esc, index - 1);
  if (index <= 0 || start < 0 || index - start > maxEscapeLength) return null;
  const sequence = escapeSequence.exec(text.slice(start, index + maxEscapeLength));
  if (!sequence) return escapeBeginning.test(text.slice(start, index)) ? { start, end: index } : null;
  const end = start + sequence[0].length;
  return end > index ? { start, end } : null;
}

/** 1234 → "1.2k". */
export function shortCount(count: number): string {
  if (count < 1000) return String(count);
  return count < 999_950 ? `${(count / 1000).toFixed(1)}k` : `${(count / 1_000_000).toFixed(1)}M`;
}
