// Draws the cells of a terminal as SVG. Text stays text that can be selected, and one file serves light and dark mode. Pure.

/** `style` has classes of `terminalStyle`, with blanks between them. */
type Cell = { text: string; style: string };
export type Screen = { columns: number; rows: Cell[][] };

export const cellWidth = 8.4;
export const lineHeight = 19;
export const margin = 14;
export const barHeight = 30;

/** A window with a title. */
export function terminalSvg(screen: Screen, title: string): string {
  const rows = screen.rows.map((row, index) => rowSvg(row, barHeight + margin + index * lineHeight)).filter((row) => row !== "");
  return windowSvg({ columns: screen.columns, rows: screen.rows.length, title, style: "" }, rows);
}

export type WindowOptions = { columns: number; rows: number; title: string; style: string };

/** An empty window with this content. */
export function windowSvg({ columns, rows, title, style }: WindowOptions, content: readonly string[]): string {
  const width = Math.ceil(columns * cellWidth + 2 * margin);
  const height = Math.ceil(rows * lineHeight + 2 * margin + barHeight);
  return [
    `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 ${width} ${height}" width="${width}" height="${height}" role="img" aria-label="${escaped(title)}">`,
    `<style>${terminalStyle}${style}</style>`,
    `<rect class="frame" x=".5" y=".5" width="${width - 1}" height="${height - 1}" rx="8"/>`,
    ...[0, 1, 2].map((dot) => `<circle class="dot" cx="${18 + dot * 16}" cy="${barHeight / 2 + 2}" r="5"/>`),
    `<text class="title" x="${width / 2}" y="${barHeight / 2 + 6}" text-anchor="middle">${escaped(title)}</text>`,
    ...content,
    "</svg>",
    "",
  ].join("\n");
}

/** A row whose upper edge is at `top`. */
export function rowSvg(row: Cell[], top: number): string {
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

/** Escapes text of a model or a tool. Removes characters that XML forbids: one of them would break the whole picture. */
export function escaped(text: string): string {
  return Bun.escapeHTML(text.toWellFormed().replace(/[\p{Cc}\uFFFE\uFFFF]/gu, ""));
}

export const terminalStyle = `
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
