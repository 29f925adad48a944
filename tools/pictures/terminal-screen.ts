// Reads the screen of a terminal. Ids, durations and ages of a real run are replaced by fixed ones, so that two runs draw the
// same picture.
import type { IBufferCell, Terminal } from "@xterm/headless";
import type { Screen } from "../../src/cli/export/terminal-svg.ts";

type Cell = Screen["rows"][number][number];

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
