// Finds the text to replace in a file, even if their line endings differ, or explains why it can't be found.
// Works on strings with one character per byte, so that invalid UTF-8 stays unchanged.
import { groupDigits, oneLine } from "../../kit/text/cut-text.ts";

export type Match = { start: number; end: number };
export type MatchResult = { match: Match; problem: null } | { match: null; problem: string };

export function findUnique(content: string, text: string): MatchResult {
  const positions = positionsOf(content, text);
  if (positions.length === 1) return { match: { start: positions[0]!, end: positions[0]! + text.length }, problem: null };
  if (positions.length > 1) return { match: null, problem: describeAmbiguity(content, positions) };
  return findIgnoringLineEndings(content, text);
}

/** `oldText` is the text as the model sent it, `replaced` the part of the file that it matched. */
export type ReplacedText = { oldText: string; replaced: string; content: string };

/** The new text with the line endings of the text that it replaces. If that has no line ending, those of the file. */
export function matchLineEndings(newText: string, { oldText, replaced, content }: ReplacedText): string {
  const sample = replaced.includes("\n") ? replaced : content;
  const crlf = count(sample, "\r\n");
  const lf = count(sample, "\n") - crlf;
  const lfText = newText.replaceAll("\r\n", "\n");
  if (crlf > lf) return lfText.replaceAll("\n", "\r\n");
  // The model sent CRLF, but the file has only LF.
  return crlf === 0 && oldText.includes("\r\n") ? lfText : newText;
}

const maxPositions = 1000;

/** Overlapping positions count too: the model could mean either. */
function positionsOf(content: string, text: string): number[] {
  const positions: number[] = [];
  for (let index = content.indexOf(text); index !== -1 && positions.length < maxPositions; index = content.indexOf(text, index + 1))
    positions.push(index);
  return positions;
}

function describeAmbiguity(content: string, positions: number[]): string {
  const lines = positions.slice(0, 5).map((position) => lineNumberAt(content, position));
  const times = positions.length >= maxPositions ? `at least ${groupDigits(maxPositions)}` : String(positions.length);
  const more = positions.length > 5 ? ", ..." : "";
  return `old_text occurs ${times} times (lines ${lines.join(", ")}${more}); add lines around it until it is unique`;
}

/** Models send LF; the file may have CRLF, or both. */
function findIgnoringLineEndings(content: string, text: string): MatchResult {
  const mayDiffer = text.includes("\n") && (content.includes("\r\n") || text.includes("\r\n"));
  if (mayDiffer) {
    const lfContent = content.replaceAll("\r\n", "\n");
    const lfText = text.replaceAll("\r\n", "\n");
    const positions = positionsOf(lfContent, lfText);
    if (positions.length > 1) return { match: null, problem: describeAmbiguity(lfContent, positions) };
    const [start] = positions;
    if (start !== undefined) return { match: toFilePositions(content, start, start + lfText.length), problem: null };
  }
  return { match: null, problem: `old_text was not found${describeNearMiss(content, text)}` };
}

/** Converts positions in the text without carriage returns to positions in the file. */
function toFilePositions(content: string, start: number, end: number): Match {
  const match = { start, end };
  let removed = 0;
  for (let index = content.indexOf("\r\n"); index !== -1; index = content.indexOf("\r\n", index + 2)) {
    const lfIndex = index - removed;
    if (lfIndex >= end) break;
    if (lfIndex < start) match.start += 1;
    match.end += 1;
    removed += 1;
  }
  return match;
}

/** Describes the part of the file that is most similar to the text. */
function describeNearMiss(content: string, text: string): string {
  const lines = content.split("\n");
  const textLines = text.split("\n").map(collapseSpace);
  while (textLines.length > 1 && textLines[0] === "") textLines.shift();
  while (textLines.length > 1 && textLines.at(-1) === "") textLines.pop();
  if (textLines[0] === "") return "";

  let best = { line: -1, length: 0 };
  for (let line = 0; line < lines.length; line += 1) {
    let length = 0;
    while (length < textLines.length && line + length < lines.length && collapseSpace(lines[line + length]!) === textLines[length])
      length += 1;
    if (length > best.length) best = { line, length };
    if (best.length === textLines.length) break;
  }
  if (best.length === textLines.length) {
    const span = best.length === 1 ? `line ${best.line + 1} differs` : `lines ${best.line + 1}-${best.line + best.length} differ`;
    return `; ${span} only in white space: copy the text exactly`;
  }
  const containingIndex = lines.findIndex((line) => textLines.length === 1 && collapseSpace(line).includes(textLines[0]!));
  if (containingIndex !== -1) return `; line ${containingIndex + 1} differs only in white space: copy the text exactly`;
  if (best.length === 0) return "; read the file again";
  const differingIndex = best.line + best.length;
  const actual = differingIndex < lines.length ? `is ${JSON.stringify(toReadable(lines[differingIndex]!))}` : "is past the end of the file";
  return `; it matches from line ${best.line + 1}, but line ${differingIndex + 1} ${actual}`;
}

function collapseSpace(line: string): string {
  return line.trim().replace(/\s+/g, " ");
}

function toReadable(line: string): string {
  return oneLine(Buffer.from(line.slice(0, 1000), "latin1").toString("utf8"), 120);
}

export function lineNumberAt(content: string, position: number): number {
  let line = 1;
  for (let index = content.indexOf("\n"); index !== -1 && index < position; index = content.indexOf("\n", index + 1)) line += 1;
  return line;
}

function count(text: string, piece: string): number {
  let total = 0;
  for (let index = text.indexOf(piece); index !== -1; index = text.indexOf(piece, index + piece.length)) total += 1;
  return total;
}
