// Draws a box with a title in the full width of the screen. Also the types that every overlay shares.
import type { Bindings } from "../keys/bindings.ts";
import type { TextStyle, TextRun } from "../../kit/text/ansi.ts";
import { cellsOf, cellsOfRow, fit, oneRow, styled, type Row } from "../layout/wrap.ts";
import { frame } from "../layout/styles.ts";

/** The area that an overlay may fill, and the key bindings that it may show. */
export type OverlayArea = { columns: number; height: number; bindings: Bindings };

export type OverlayView = {
  rows: Row[];
  cursor: { row: number; column: number } | null;
  /** The prompt keeps the cursor: the user is typing a message. */
  keepsPromptCursor?: true;
};

export type BoxLine = string | TextRun | Row;

export const selectedStyle: TextStyle = { inverse: true };

/** `title` may have several forms, from the longest to the shortest: the first one that fits is drawn. */
export function drawBox(title: string | readonly string[], lines: readonly BoxLine[], columns: number): Row[] {
  const inner = Math.max(1, columns - 4);
  const forms = typeof title === "string" ? [title] : title;
  const head = fit(` ${forms.find((form) => cellsOf(form) <= inner - 2) ?? forms.at(-1) ?? ""} `, inner);
  const row = (line: BoxLine): Row => [styled("│ ", frame), ...padRow(runsOf(line), inner), styled(" │", frame)];
  return [
    [styled(`┌─${head}${"─".repeat(Math.max(0, columns - cellsOf(head) - 3))}┐`, frame)],
    ...lines.map(row),
    [styled(`└${"─".repeat(Math.max(0, columns - 2))}┘`, frame)],
  ];
}

function runsOf(line: BoxLine): Row {
  if (typeof line === "string") return [styled(line)];
  return "text" in line ? [line] : line;
}

/** Cuts or pads a row to exactly `columns`. The padding of a chosen line is highlighted too. */
export function padRow(row: Row, columns: number): Row {
  const runs = oneRow(row, columns);
  const free = columns - cellsOfRow(runs);
  return free > 0 ? [...runs, styled(" ".repeat(free), runs.at(-1)?.style.inverse === true ? selectedStyle : {})] : runs;
}

/** Index of the first visible line, if `height` lines around `index` are visible. */
export function firstInView(count: number, index: number, height: number): number {
  return Math.max(0, Math.min(index - Math.floor(height / 2), count - height));
}

export type Choice = { label: string; detail: string };

/** A narrower part of a detail says nothing. */
const minDetailColumns = 12;

/** The choices around the chosen one, with their details in a second column. In a narrow area long labels have no details. */
export function choiceLines(choices: readonly Choice[], chosen: number, area: { columns: number; height: number }): BoxLine[] {
  const height = Math.max(1, area.height);
  const first = firstInView(choices.length, chosen, height);
  const visible = choices.slice(first, first + height);
  const widest = (texts: string[]) => Math.max(0, ...texts.map(cellsOf));
  const widestLabel = widest(visible.map(({ label }) => label));
  const widestDetail = widest(visible.map(({ detail }) => detail));
  const hasDetails = area.columns >= 50 || widestLabel + 2 + Math.min(widestDetail, minDetailColumns) <= area.columns;
  const maxLabelWidth = hasDetails ? Math.max(Math.floor(area.columns / 2), area.columns - 2 - widestDetail) : area.columns;
  const labelWidth = Math.min(maxLabelWidth, widestLabel);
  return visible.map(({ label, detail }, row) => {
    const runs = [...padRow([styled(label)], labelWidth), ...(hasDetails ? [styled(`  ${detail}`)] : [])];
    if (first + row !== chosen) return runs;
    return padRow(runs, area.columns).map(({ text }) => styled(text, selectedStyle));
  });
}

/** Returns a test for texts that have all words of a query, in any case. */
export function wordFilter(query: string): (text: string) => boolean {
  const words = query.toLowerCase().split(/\s+/).filter(Boolean);
  return (text) => words.every((word) => text.toLowerCase().includes(word));
}
