// The common layout and keys of the tree, agents and sessions panels: a list with one chosen line, its preview, and a last
// line with keys or a prompt. The preview is beside the list, or below it on a narrow screen.
import { visiblePart, layOutText } from "../../kit/text/text-layout.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import { markdown } from "../cards/markdown.ts";
import { stripsOf } from "../cards/strips.ts";
import { cellsOf, styled, type Row } from "../layout/wrap.ts";
import { faint } from "../layout/styles.ts";
import { step, withNotice, type Effect, type Key, type State, type UpdateResult } from "../model/state.ts";
import { drawBox, selectedStyle, padRow, firstInView, type OverlayView, type OverlayArea } from "./box.ts";
import type { Overlay } from "./index.ts";

/** State of every panel. */
export type PanelState = {
  /** The visible session. */
  currentSession: string | null;
  /** Number of the reading that is awaited. Results of other readings are dropped. */
  reading: number;
  /** Time of the latest reading, in milliseconds. */
  now: number;
  /** The chosen line. */
  index: number;
  /** Whether a missing reading is shown as loading. Data that arrives quickly is shown without that. */
  isSlow: boolean;
};

const slowAfterMs = 150;

/** Opens a panel that has read nothing yet. */
export function openPanel<P extends Overlay>(
  state: State,
  fields: Omit<P, keyof PanelState>,
  readingOf: (panel: P) => Effect | null,
): UpdateResult {
  const initial: PanelState = { currentSession: state.session?.id ?? null, reading: 0, now: 0, index: 0, isSlow: false };
  const overlay = { ...initial, ...fields } as P;
  const effect = readingOf(overlay);
  return effect === null ? step({ ...state, overlay }) : step({ ...state, overlay }, effect, { type: "wake", afterMs: slowAfterMs });
}

/** A key of a panel; the help lists it too. Two characters are pressed one after the other. */
export type PanelKey<P> = {
  keys: readonly string[];
  summary: string;
  run: (state: State, panel: P) => UpdateResult;
  /** Whether `run` uses `confirm`. */
  asksTwice?: true;
};

/** The tree and agents panels. */
type ActionPanel = Extract<Overlay, { confirming: string | null }>;

export function handleKeyByTable<P extends ActionPanel>(
  table: readonly PanelKey<P>[],
  { pending, ...state }: State,
  panel: P,
  { name }: Key,
): UpdateResult {
  const binding = table.find(({ keys }) => keys.includes((pending ?? "") + name));
  const overlay = binding?.asksTwice === true ? panel : { ...panel, confirming: null };
  const next: State = { ...state, pending: null, overlay };
  if (binding !== undefined) return binding.run(next, overlay);
  const startsPair = pending === null && table.some(({ keys }) => keys.some((key) => key.length === 2 && key === name + name));
  return step(startsPair ? { ...next, pending: name } : next);
}

export function listKeys<P extends ActionPanel>(countOf: (panel: P) => number): PanelKey<P>[] {
  const moveBy = (delta: number) => (state: State, panel: P) =>
    step({ ...state, overlay: { ...panel, index: moveIndex(panel.index, delta, countOf(panel)) } });
  return [
    { keys: ["j", "down"], summary: "to the next line", run: moveBy(1) },
    { keys: ["k", "up"], summary: "to the previous line", run: moveBy(-1) },
    { keys: ["ctrl+d", "pagedown"], summary: "ten lines down", run: moveBy(10) },
    { keys: ["ctrl+u", "pageup"], summary: "ten lines up", run: moveBy(-10) },
    { keys: ["gg"], summary: "to the first line", run: moveBy(-Infinity) },
    { keys: ["G"], summary: "to the last line", run: moveBy(Infinity) },
  ];
}

/** Asks with a notice at the first press of a key, and returns the effect at the second one. */
export function confirm(state: State, panel: ActionPanel, question: string, effect: Effect & { session: string }): UpdateResult {
  if (panel.confirming === effect.session) return step({ ...state, overlay: { ...panel, confirming: null } }, effect);
  return step(withNotice({ ...state, overlay: { ...panel, confirming: effect.session } }, question));
}

export function moveIndex(index: number, delta: number, count: number): number {
  return Math.max(0, Math.min(count - 1, index + delta));
}

export type PanelOptions = {
  panel: PanelState;
  title: string | readonly string[];
  count: number;
  /** Called only for visible lines. */
  line: (index: number, columns: number) => Row;
  /** Text for an empty list. Null while the list is still loading. */
  empty: string | null;
  /** At most `rows` rows of it are visible. */
  preview: (columns: number, rows: number) => readonly Row[];
  head?: (columns: number) => readonly Row[];
  /** Puts the preview below the list, which needs the full width. */
  isStacked?: true;
  keys: string;
  /** A prompt in place of the keys. */
  typing: { label: string; line: EditLine } | null;
};

const minColumnsBeside = 120;
const minRowsBeside = 12;
const maxPreviewRows = 10;

export function panelView(options: PanelOptions, { columns, height }: OverlayArea): OverlayView {
  const inner = Math.max(1, columns - 4);
  const foot = options.typing === null ? null : visiblePart(layOutText(`${options.typing.label} > `, options.typing.line, inner), 1);
  const lastRows: Row[] =
    foot === null ? keyRows(options.keys, inner, height).map((text) => [styled(text, faint)]) : [[styled(foot.rows[0] ?? "")]];
  const bodyRows = Math.max(3, height - 2 - lastRows.length);
  const body =
    columns >= minColumnsBeside && options.isStacked !== true
      ? bodyBeside(options, inner, bodyRows)
      : bodyStacked(options, inner, bodyRows);
  const rows = drawBox(options.title, [...body, ...lastRows], columns);
  return { rows, cursor: foot === null ? null : { row: body.length + 1, column: 2 + foot.cursor.column } };
}

/** A low screen has one row for the keys; a narrow one as many as they need. */
function keyRows(keys: string, columns: number, height: number): string[] {
  if (height < minRowsForKeys) return [keys];
  const rows: string[] = [];
  for (const part of keys.split(keySeparator)) {
    const longer = rows.length === 0 ? part : `${rows.at(-1)}${keySeparator}${part}`;
    if (rows.length > 0 && cellsOf(longer) > columns) rows.push(part);
    else rows.splice(-1, 1, longer);
  }
  return rows;
}

const keySeparator = " · ";
const minRowsForKeys = 8;

function bodyBeside(options: PanelOptions, inner: number, maxRows: number): Row[] {
  const listColumns = Math.floor(inner * 0.6);
  const previewColumns = inner - listColumns - 3;
  const preview = options.preview(previewColumns, maxRows);
  const rows = Math.min(maxRows, Math.max(minRowsBeside, options.count + 1, preview.length));
  const list = listRows(options, listColumns, rows);
  const separator: Row = [styled(" │ ", faint)];
  return Array.from({ length: rows }, (_, index) => [
    ...padRow(list[index] ?? [], listColumns),
    ...separator,
    ...padRow(preview[index] ?? [], previewColumns),
  ]);
}

/** The preview has a fixed height, so that the list does not move with the choice. */
function bodyStacked(options: PanelOptions, inner: number, maxRows: number): Row[] {
  const head = options.head?.(inner).length ?? 0;
  const previewRows = maxRows < 8 || options.count === 0 ? 0 : Math.min(maxPreviewRows, Math.floor(maxRows * 0.4));
  const rows = Math.max(1, Math.min(maxRows - previewRows - 1, Math.max(1, options.count) + head));
  const list = listRows(options, inner, rows);
  if (previewRows === 0) return list;
  const preview = options.preview(inner, previewRows);
  const rule: Row = [styled("─".repeat(inner), faint)];
  return [...list, rule, ...Array.from({ length: previewRows }, (_, index) => preview[index] ?? [])];
}

function listRows(options: PanelOptions, columns: number, rows: number): Row[] {
  const head = options.head?.(columns) ?? [];
  if (options.count === 0) return [...head, [styled(options.empty ?? (options.panel.isSlow ? "loading…" : ""), faint)]];
  const listHeight = Math.max(1, rows - head.length);
  const first = firstInView(options.count, options.panel.index, listHeight);
  const lines = Array.from({ length: Math.min(listHeight, options.count - first) }, (_, offset): Row => {
    const line = padRow(options.line(first + offset, columns), columns);
    // Inverse colours would be patches of background, so the chosen line has no colours.
    return first + offset === options.panel.index ? line.map(({ text }) => styled(text, selectedStyle)) : line;
  });
  return [...head, ...lines];
}

const maxPreviewChars = 8000;
/** A copy, because `stripsOf` caches one text per reader. A preview must not displace the text that streams. */
const previewMarkdown = { ...markdown };

/** The beginning of a message, rendered as in the transcript. */
export function proseRows(text: string, columns: number): Row[] {
  return stripsOf(previewMarkdown, text.slice(0, maxPreviewChars), columns).flatMap((strip) => strip());
}
