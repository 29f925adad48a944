// Text that was meant for a terminal, for places that are none: without its escape sequences, or in runs of one look.
// A line that was written over shows what was written last.

export type TextStyle = {
  /** 0-15 by number, others as #rrggbb. */
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

/** Without escape sequences and control characters; always well-formed. */
export function stripAnsi(text: string): string {
  return cleaned(Bun.stripANSI(overwritten(text)));
}

/** Runs of text that look the same; colours are kept, every other sequence is dropped. */
export function ansiRuns(text: string): TextRun[] {
  const runs: TextRun[] = [];
  let style: TextStyle = {};
  let from = 0;
  const source = overwritten(text);
  const push = (piece: string) => {
    const clean = cleaned(Bun.stripANSI(piece));
    if (clean !== "") runs.push({ text: clean, style: style });
  };
  for (const found of source.matchAll(colorSequence)) {
    push(source.slice(from, found.index));
    from = found.index + found[0].length;
    style = lookAfter(style, (found[1] ?? "").split(/[;:]/).map(Number));
  }
  push(source.slice(from));
  return runs;
}

const colorSequence = new RegExp(String.raw`${"\x1b"}\[([\d;:]{0,64})m`, "g");

/** Lines end with LF; of what a carriage return wrote over, only the last is left. */
function overwritten(text: string): string {
  if (!text.includes("\r")) return text;
  return text
    .replaceAll(/\r+\n/g, "\n")
    .split("\n")
    .map((line) => line.slice(line.lastIndexOf("\r", line.length - 2) + 1).replaceAll("\r", ""))
    .join("\n");
}

function cleaned(text: string): string {
  return text.toWellFormed().replace(/[^\P{Cc}\n\t]|[\u202A-\u202E\u2066-\u2069]/gu, "");
}

function lookAfter(before: TextStyle, codes: number[]): TextStyle {
  const style: TextStyle = { ...before };
  for (let at = 0; at < codes.length; at += 1) {
    const code = codes[at] ?? 0;
    if (code === 38 || code === 48) {
      const wide = codes[at + 1] === 2;
      const color = wide ? trueColor(codes.slice(at + 2, at + 5)) : paletteColor(codes[at + 2] ?? 0);
      style[code === 38 ? "color" : "background"] = color;
      at += wide ? 4 : 2;
    } else if (code === 0) for (const key of Object.keys(style)) delete style[key as keyof TextStyle];
    else apply(style, code);
  }
  return style;
}

const switches: Record<number, keyof TextStyle> = { 1: "bold", 2: "dim", 3: "italic", 4: "underline", 7: "inverse", 9: "strike" };
const offs: Record<number, (keyof TextStyle)[]> = {
  22: ["bold", "dim"],
  23: ["italic"],
  24: ["underline"],
  27: ["inverse"],
  29: ["strike"],
  39: ["color"],
  49: ["background"],
};

function apply(style: TextStyle, code: number): void {
  const on = switches[code];
  if (on !== undefined) Object.assign(style, { [on]: true });
  for (const key of offs[code] ?? []) delete style[key];
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

function trueColor(shades: number[]): string {
  const hex = (at: number) =>
    Math.max(0, Math.min(255, shades[at] || 0))
      .toString(16)
      .padStart(2, "0");
  return `#${hex(0)}${hex(1)}${hex(2)}`;
}
