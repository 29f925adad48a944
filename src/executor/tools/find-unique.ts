// Finds the text to be replaced in a file, whatever line endings the file has, and says why it can't be found.
// Works on strings with one character per byte, so that bytes that are no UTF-8 come through unchanged.
import { groupDigits, oneLine } from "../../kit/text/cut-text.ts";

export type Match = { start: number; end: number };
export type MatchResult = { match: Match; problem: null } | { match: null; problem: string };

export function findUnique(file: string, wanted: string): MatchResult {
  const exact = positions(file, wanted);
  if (exact.length === 1) return { match: { start: exact[0]!, end: exact[0]! + wanted.length }, problem: null };
  if (exact.length > 1) return { match: null, problem: ambiguous(file, exact) };
  return findAcrossEndings(file, wanted);
}

/** The replacement with the line endings of the place it goes to; `wanted` is how the model wrote that place. */
export function withEndings(text: string, wanted: string, place: string, file: string): string {
  const sample = place.includes("\n") ? place : file;
  const crlf = count(sample, "\r\n");
  const lf = count(sample, "\n") - crlf;
  const plain = text.replaceAll("\r\n", "\n");
  if (crlf > lf) return plain.replaceAll("\n", "\r\n");
  return crlf === 0 && wanted.includes("\r\n") ? plain : text;
}

const mostPositions = 1000;

/** Overlapping ones count: either could be meant. */
function positions(file: string, wanted: string): number[] {
  const found: number[] = [];
  for (let at = file.indexOf(wanted); at !== -1 && found.length < mostPositions; at = file.indexOf(wanted, at + 1)) found.push(at);
  return found;
}

function ambiguous(file: string, found: number[]): string {
  const lines = found.slice(0, 5).map((at) => lineAt(file, at));
  const times = found.length >= mostPositions ? `at least ${groupDigits(mostPositions)}` : String(found.length);
  const more = found.length > 5 ? ", ..." : "";
  return `old_text occurs ${times} times (lines ${lines.join(", ")}${more}); add lines around it until it is unique`;
}

/** Models write LF; the file may have CRLF, or both. */
function findAcrossEndings(file: string, wanted: string): MatchResult {
  const hasEndings = wanted.includes("\n") && (file.includes("\r\n") || wanted.includes("\r\n"));
  if (hasEndings) {
    const plain = file.replaceAll("\r\n", "\n");
    const plainWanted = wanted.replaceAll("\r\n", "\n");
    const found = positions(plain, plainWanted);
    if (found.length > 1) return { match: null, problem: ambiguous(plain, found) };
    if (found.length === 1) return { match: backToFile(file, found[0]!, found[0]! + plainWanted.length), problem: null };
  }
  return { match: null, problem: `old_text was not found${nearMiss(file, wanted)}` };
}

/** Positions in the text without carriage returns → positions in the file. */
function backToFile(file: string, start: number, end: number): Match {
  const match = { start, end };
  let removed = 0;
  for (let at = file.indexOf("\r\n"); at !== -1; at = file.indexOf("\r\n", at + 2)) {
    const plainAt = at - removed;
    if (plainAt >= end) break;
    if (plainAt < start) match.start += 1;
    match.end += 1;
    removed += 1;
  }
  return match;
}

/** What in the file looks like the text that was not found. */
function nearMiss(file: string, wanted: string): string {
  const lines = file.split("\n");
  const wantedLines = wanted.split("\n").map(squeeze);
  while (wantedLines.length > 1 && wantedLines[0] === "") wantedLines.shift();
  while (wantedLines.length > 1 && wantedLines.at(-1) === "") wantedLines.pop();
  if (wantedLines[0] === "") return "";

  let best = { line: -1, length: 0 };
  for (let line = 0; line < lines.length; line += 1) {
    let length = 0;
    while (length < wantedLines.length && line + length < lines.length && squeeze(lines[line + length]!) === wantedLines[length])
      length += 1;
    if (length > best.length) best = { line, length };
    if (best.length === wantedLines.length) break;
  }
  if (best.length === wantedLines.length) {
    const span = best.length === 1 ? `line ${best.line + 1}` : `lines ${best.line + 1}-${best.line + best.length}`;
    return `; ${span} differ only in white space: copy the text exactly`;
  }
  const part = lines.findIndex((line) => wantedLines.length === 1 && squeeze(line).includes(wantedLines[0]!));
  if (part !== -1) return `; line ${part + 1} differs only in white space: copy the text exactly`;
  if (best.length === 0) return "; read the file again";
  const differs = best.line + best.length;
  const there = differs < lines.length ? `is ${JSON.stringify(decode(lines[differs]!))}` : "is past the end of the file";
  return `; it matches from line ${best.line + 1}, but line ${differs + 1} ${there}`;
}

function squeeze(line: string): string {
  return line.trim().replace(/\s+/g, " ");
}

function decode(line: string): string {
  return oneLine(Buffer.from(line.slice(0, 1000), "latin1").toString("utf8"), 120);
}

export function lineAt(file: string, position: number): number {
  let line = 1;
  for (let at = file.indexOf("\n"); at !== -1 && at < position; at = file.indexOf("\n", at + 1)) line += 1;
  return line;
}

function count(text: string, piece: string): number {
  let found = 0;
  for (let at = text.indexOf(piece); at !== -1; at = text.indexOf(piece, at + piece.length)) found += 1;
  return found;
}
