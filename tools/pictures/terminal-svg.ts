// Draws the screen of a terminal as SVG: text as text, one file for light and dark. Ids, durations and ages of a real run
// are replaced by fixed ones, so that two runs draw the same picture.
import type { IBufferCell, Terminal } from "@xterm/headless";

type Cell = { text: string; style: string };
export type Screen = { columns: number; rows: Cell[][] };

/** The cells of the terminal, without the empty rows at its end. */
export function readScreen(terminal: Terminal): Screen {
  const { active } = terminal.buffer;
  const rows: Cell[][] = [];
  for (let row = 0; row < terminal.rows; row += 1) {
    const line = active.getLine(active.viewportY + row);
    const cells: Cell[] = [];
    for (let column = 0; column < terminal.cols; column += 1) {
      const cell = line?.getCell(column);
      if (cell === undefined || cell.getWidth() === 0) continue;
      cells.push({ text: cell.getChars() || " ", style: styleOf(cell) });
    }
    rows.push(cells);
  }
  while (rows.length > 0 && isEmpty(rows.at(-1)!)) rows.pop();
  return { columns: terminal.cols, rows };
}

function isEmpty(row: Cell[]): boolean {
  return row.every(({ text, style }) => text === " " && !/[bi]/.test(style));
}

/** Names of the classes of a cell. A colour outside of the sixteen is not used by the program. */
function styleOf(cell: IBufferCell): string {
  const names: string[] = [];
  if (cell.isFgPalette() && cell.getFgColor() < 16) names.push(`c${cell.getFgColor() % 8}`);
  if (cell.isBgPalette() && cell.getBgColor() < 16) names.push(`b${cell.getBgColor() % 8}`);
  if (cell.isBold()) names.push("bold");
  if (cell.isDim()) names.push("dim");
  if (cell.isItalic()) names.push("italic");
  if (cell.isUnderline()) names.push("under");
  if (cell.isInverse()) names.push("inv");
  return names.join(" ");
}

const duration = String.raw`(?:\d+ [hm] )*\d+(?:\.\d+)? ?(?:ms|s|m|h)`;
const fixedIds = ["7c1e09d2", "5be20a41", "4f2a91c0", "d03b6e58", "91ac27f4", "2e86d10b", "b75f43a9", "60c9e8d3"];

/** Replaces texts that differ between two runs. `ids` keeps the fixed id of each id over several screens. */
export function withFixedTexts(screen: Screen, ids: Map<string, string>): Screen {
  const idOf = (id: string) => {
    if (!ids.has(id)) ids.set(id, fixedIds[ids.size % fixedIds.length]!);
    return ids.get(id)!;
  };
  const rules: [RegExp, (match: string) => string][] = [
    [/\b[0-9a-f]{8}-[0-9a-f]{4}-7[0-9a-f]{3}-[0-9a-f]{4}-[0-9a-f]{12}\b/g, (id) => `01a1e3d3-0aa3-743a-8a80-1085${idOf(id.slice(-8))}`],
    [/(?<![\w-])(?=[0-9a-f]*\d)[0-9a-f]{8}(?![\w-])/g, idOf],
    [new RegExp(` · ${duration}(?= |$)`, "g"), () => ""],
    [new RegExp(String.raw`(?<=\s)${duration}(?= |$)`, "g"), (text) => (text.endsWith("ms") ? "40 ms" : "2 s")],
    [/[\u2800-\u28ff]/g, () => "⠹"],
    [/process \d+/g, () => "process 4711"],
  ];
  return {
    ...screen,
    rows: screen.rows.map((row) => rules.reduce((cells, [pattern, replace]) => replaceText(cells, pattern, replace), row)),
  };
}

/** Spaces after the replaced text grow or shrink, so that the columns behind it stay. */
function replaceText(cells: Cell[], pattern: RegExp, replace: (match: string) => string): Cell[] {
  const text = cells.map((cell) => cell.text.charAt(0)).join("");
  let result = cells;
  for (const match of [...text.matchAll(pattern)].reverse()) {
    const start = match.index;
    const end = start + match[0].length;
    const fixed = replace(match[0]);
    const difference = match[0].length - fixed.length;
    const style = result[start]?.style ?? "";
    const replacement = Array.from(fixed, (character) => ({ text: character, style }));
    const gap = /^ {2,}/.exec(text.slice(end))?.[0].length ?? 0;
    const rest = difference < 0 && gap > -difference ? result.slice(end - difference) : result.slice(end);
    const padding =
      difference > 0 && (gap > 0 || end === text.length) ? Array.from({ length: difference }, () => ({ text: " ", style: "" })) : [];
    result = [...result.slice(0, start), ...replacement, ...padding, ...rest];
  }
  return result;
}

const cellWidth = 8.4;
const lineHeight = 19;
const margin = 14;
const barHeight = 30;

/** A window with a title. */
export function terminalSvg(screen: Screen, title: string): string {
  const width = Math.ceil(screen.columns * cellWidth + 2 * margin);
  const height = Math.ceil(screen.rows.length * lineHeight + 2 * margin + barHeight);
  const rows = screen.rows.map((row, index) => rowSvg(row, barHeight + margin + index * lineHeight)).filter((row) => row !== "");
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${terminalStyle}</style>`,
    `<rect class="frame" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...[0, 1, 2].map((dot) => `<circle class="dot" cx="${18 + dot * 16}" cy="${barHeight / 2 + 2}" r="5"/>`),
    `<text class="title" x="${width / 2}" y="${barHeight / 2 + 6}" text-anchor="middle">${escaped(title)}</text>`,
    ...rows,
    "</svg>",
    "",
  ].join("\n");
}

function rowSvg(row: Cell[], top: number): string {
  const pieces: string[] = [];
  let column = 0;
  while (column < row.length) {
    let end = column + 1;
    while (end < row.length && row[end]!.style === row[column]!.style) end += 1;
    pieces.push(
      runSvg({
        text: row
          .slice(column, end)
          .map(({ text }) => text)
          .join(""),
        style: row[column]!.style,
        column,
        top,
      }),
    );
    column = end;
  }
  return pieces.join("");
}

type Run = { text: string; style: string; column: number; top: number };

function runSvg({ text, style, column, top }: Run): string {
  const x = round(margin + column * cellWidth);
  const background = /\b(b\d|inv)\b/.exec(style)?.[1];
  const box =
    background === undefined
      ? ""
      : `<rect class="${background === "inv" ? "invbox" : background}" x="${x}" y="${top}" width="${round(text.length * cellWidth)}" height="${lineHeight}"/>`;
  if (text.trim() === "") return box;
  const lead = text.length - text.trimStart().length;
  const shown = text.trim();
  const classes = style === "" ? "" : ` class="${style}"`;
  const start = round(margin + (column + lead) * cellWidth);
  return `${box}<text${classes} x="${start}" y="${top + 14}" textLength="${round(shown.length * cellWidth)}">${escaped(shown)}</text>`;
}

function round(value: number): number {
  return Math.round(value * 10) / 10;
}

export function escaped(text: string): string {
  return Bun.escapeHTML(text);
}

const terminalStyle = `
text { font: 14px ui-monospace, "SF Mono", Menlo, Consolas, "DejaVu Sans Mono", monospace; fill: #24292f; white-space: pre }
.frame { fill: #ffffff; stroke: #d0d7de } .dot { fill: #d0d7de } .title { fill: #6e7781; font-size: 12px }
.c0 { fill: #57606a } .c1 { fill: #b3261e } .c2 { fill: #1a7f37 } .c3 { fill: #8a5a00 } .c4 { fill: #0958b8 } .c5 { fill: #8250df } .c6 { fill: #0b7285 } .c7 { fill: #57606a }
.b0, .b7 { fill: #eaeef2 } .b1 { fill: #ffdcd7 } .b2 { fill: #d8f5e0 } .b3 { fill: #fff0c2 } .b4 { fill: #dbeafe } .b5 { fill: #f0e4ff } .b6 { fill: #d3f2f7 } .invbox { fill: #24292f } .inv { fill: #ffffff }
.bold { font-weight: 700 } .dim { opacity: .65 } .italic { font-style: italic } .under { text-decoration: underline }
@media (prefers-color-scheme: dark) {
text { fill: #e6edf3 } .frame { fill: #0d1117; stroke: #30363d } .dot { fill: #30363d } .title { fill: #8b949e }
.c0 { fill: #8b949e } .c1 { fill: #ff8a80 } .c2 { fill: #56d37a } .c3 { fill: #e3b341 } .c4 { fill: #79b8ff } .c5 { fill: #d2a8ff } .c6 { fill: #5fd0e0 } .c7 { fill: #b1bac4 }
.b0, .b7 { fill: #21262d } .b1 { fill: #4a1f1c } .b2 { fill: #12361f } .b3 { fill: #3d2f00 } .b4 { fill: #12305c } .b5 { fill: #34215a } .b6 { fill: #0d3a42 } .invbox { fill: #e6edf3 } .inv { fill: #0d1117 }
}
`;
