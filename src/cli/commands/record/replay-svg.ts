// A replay as an animated SVG: the rows of the output appear one after another and scroll up. It has no script and loads
// nothing, so a page may show it as an image. A reader who prefers no motion sees the last screen.
import { barHeight, lineHeight, margin, rowSvg, windowSvg, type Screen } from "../../export/terminal-svg.ts";

/** Text with colours that was printed at this time. */
export type PrintedText = { text: string; afterMs: number };

export type ReplaySvgOptions = { columns: number; rows: number; title: string };

/** The last screen is shown for at least this time, because some viewers repeat the picture. */
const lastScreenMs = 1_000;

export function replaySvg(printed: readonly PrintedText[], { columns, rows, title }: ReplaySvgOptions): string {
  const lines = printed.flatMap(({ text, afterMs }) => toRows(text, columns).map((row) => ({ row, afterMs })));
  const totalMs = Math.max(1, (printed.at(-1)?.afterMs ?? 0) + lastScreenMs);
  const shownRows = Math.min(rows, Math.max(1, lines.length));
  const scrolled = Math.max(0, lines.length - shownRows) * lineHeight;
  const top = barHeight + margin;
  const drawn = lines.map(({ row, afterMs }, index) => {
    const content = rowSvg(row, top + index * lineHeight);
    return content === "" ? "" : `<g class="row" style="animation-delay:${seconds(afterMs)}">${content}</g>`;
  });
  const style = `
.row { opacity: 0; animation: show .01s linear forwards } .scroll { animation: scroll ${seconds(totalMs)} step-end forwards }
@keyframes show { to { opacity: 1 } } @keyframes scroll {${scrollFrames(lines, shownRows, totalMs)} }
@media (prefers-reduced-motion: reduce) { .row { opacity: 1; animation: none } .scroll { animation: none; transform: translateY(-${scrolled}px) } }
`;
  const height = shownRows * lineHeight;
  return windowSvg({ columns, rows: shownRows, title, style }, [
    `<clipPath id="screen"><rect x="0" y="${top}" width="100%" height="${height}"/></clipPath>`,
    `<g clip-path="url(#screen)"><g class="scroll">`,
    ...drawn.filter((row) => row !== ""),
    "</g></g>",
  ]);
}

/** One frame for each time at which rows leave the screen. */
function scrollFrames(lines: readonly { afterMs: number }[], shownRows: number, totalMs: number): string {
  const frames = new Map<string, number>([["0%", 0]]);
  for (const [index, { afterMs }] of lines.entries())
    if (index >= shownRows) frames.set(`${Math.round((afterMs / totalMs) * 100_000) / 1_000}%`, (index + 1 - shownRows) * lineHeight);
  const last = Math.max(...frames.values());
  return [...frames, ["100%", last] as const].map(([at, shift]) => ` ${at} { transform: translateY(-${shift}px) }`).join("");
}

function seconds(ms: number): string {
  return `${Math.round(ms) / 1_000}s`;
}

/** ANSI codes that start a style, and the classes of the picture for them. */
const classOfCode: Readonly<Record<string, string>> = { "1": "bold", "2": "dim", "3": "italic", "4": "under" };
/** ANSI codes that end a style. */
const classesEndedBy: Readonly<Record<string, readonly string[]>> = { "22": ["bold", "dim"], "23": ["italic"], "24": ["under"] };
const colorCode = /^3([1-6])$/;

/** The rows of a text with the colours that skein's printers use. A line that is too long continues in the next row. */
function toRows(text: string, columns: number): Screen["rows"] {
  const rows: Screen["rows"] = [];
  let active = new Set<string>();
  for (const line of text.replace(/\n$/, "").split("\n")) {
    let row: Screen["rows"][number] = [];
    let width = 0;
    // oxlint-disable-next-line no-control-regex -- colours begin with the escape character
    for (const piece of line.split(/(\x1b\[[\d;]*m)/)) {
      // oxlint-disable-next-line no-control-regex
      const codes = /^\x1b\[([\d;]*)m$/.exec(piece)?.[1];
      if (codes !== undefined) {
        for (const code of codes.split(";")) active = applyCode(active, code);
        continue;
      }
      for (const { segment } of graphemes.segment(piece.replaceAll("\t", "    "))) {
        const segmentWidth = Bun.stringWidth(segment);
        if (width + segmentWidth > columns) {
          rows.push(row);
          [row, width] = [[], 0];
        }
        row.push({ text: segment, style: [...active].join(" ") });
        width += segmentWidth;
      }
    }
    rows.push(row);
  }
  return rows;
}

const graphemes = new Intl.Segmenter();

function applyCode(active: ReadonlySet<string>, code: string): Set<string> {
  if (code === "" || code === "0") return new Set();
  const color = colorCode.exec(code)?.[1];
  const kept = [...active].filter(
    (name) => !(classesEndedBy[code] ?? []).includes(name) && !((color !== undefined || code === "39") && /^c\d$/.test(name)),
  );
  const added = color === undefined ? classOfCode[code] : `c${color}`;
  return new Set(added === undefined ? kept : [...kept, added]);
}
