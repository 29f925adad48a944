// Converts terminal output for a display that is not a terminal: to plain text, or to runs of one style.
// A line that was overwritten after a carriage return keeps only its last text.
import { showDirections } from "./terminal-text.ts";

export type TextStyle = {
  /** 0-15 as a number, other colours as #rrggbb. */
  color?: number | string;
  background?: number | string;
  bold?: boolean;
  dim?: boolean;
  italic?: boolean;
  underline?: boolean;
  inverse?: boolean;
  strike?: boolean;
};
export type TextRun = { text: string; style: TextStyle };

/** The text without escape sequences and control characters. It is always well-formed. */
export function stripAnsi(text: string): string {
  return cleanText(Bun.stripANSI(applyCarriageReturns(text)));
}

/** Runs of text with the same style. Only colour and attribute sequences are read. */
export function ansiRuns(text: string): TextRun[] {
  const runs: TextRun[] = [];
  let style: TextStyle = {};
  let start = 0;
  const source = applyCarriageReturns(text);
  const push = (piece: string) => {
    const clean = cleanText(Bun.stripANSI(piece));
    if (clean !== "") runs.push({ text: clean, style });
  };
  for (const match of source.matchAll(colorSequence)) {
    push(source.slice(start, match.index));
    start = match.index + match[0].length;
    style = styleAfter(style, (match[1] ?? "").split(/[;:]/).map(Number));
  }
  push(source.slice(start));
  return runs;
}

const colorSequence = new RegExp(String.raw`${"\x1b"}\[([\d;:]{0,64})m`, "g");

/** Lines end with LF. Text before the last carriage return of a line was overwritten. */
function applyCarriageReturns(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll(/\r+\n/g, "\n")
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1).replaceAll("\r", ""))
    .join("\n");
}

function cleanText(text: string): string {
  return showDirections(text.toWellFormed().replace(/[^\P{Cc}\n\t]/gu, ""));
}

function styleAfter(before: TextStyle, codes: number[]): TextStyle {
  const style: TextStyle = { ...before };
  for (let index = 0; index < codes.length; index += 1) {
    const code = codes[index] ?? 0;
    if (code === 38 || code === 48) {
      const isTrueColor = codes[index + 1] === 2;
      const color = isTrueColor ? trueColor(codes.slice(index + 2, index + 5)) : paletteColor(codes[index + 2] ?? 0);
      style[code === 38 ? "color" : "background"] = color;
      index += isTrueColor ? 4 : 2;
    } else if (code === 0) for (const key of Object.keys(style)) delete style[key as keyof TextStyle];
    else applyCode(style, code);
  }
  return style;
}

const onCodes: Record<number, keyof TextStyle> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const offCodes: Record<number, (keyof TextStyle)[]> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["strike"],
  39: ["color"],
  49: ["background"],
};

function applyCode(style: TextStyle, code: number): void {
  const on = onCodes[code];
  if (on !== undefined) Object.assign(style, { [on]: true });
  for (const key of offCodes[code] ?? []) delete style[key];
  if (code >= 30 && code <= 37) style.color = code - 30;
  else if (code >= 90 && code <= 97) style.color = code - 82;
  else if (code >= 40 && code <= 47) style.background = code - 40;
  else if (code >= 100 && code <= 107) style.background = code - 92;
}

function paletteColor(code: number): number | string {
  if (code < 16) return code;
  if (code >= 232) return trueColor([8, 8, 8].map((shade) => shade + (code - 232) * 10));
  const level = (step: number) => (step === 0 ? 0 : 55 + step * 40);
  const cube = code - 16;
  return trueColor([level(Math.floor(cube / 36)), level(Math.floor(cube / 6) % 6), level(cube % 6)]);
}

function trueColor(channels: number[]): string {
  const hex = (index: number) =>
    Math.max(0, Math.min(255, channels[index] || 0))
      .toString(16)
      .padStart(2, "0");
  return `#${hex(0)}${hex(1)}${hex(2)}`;
}
