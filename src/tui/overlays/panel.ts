// What the tree, the agents and the sessions have in common: a list with one line chosen, what is known of it beside the
// list (below it on a narrow screen), a line of keys or of typing at the foot, and a table of keys.
import { visiblePart, layOutText } from "../../kit/text/text-layout.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import { markdown } from "../cards/markdown.ts";
import { stripsOf } from "../cards/strips.ts";
import type { Row } from "../layout/wrap.ts";
import { faint } from "../layout/styles.ts";
import { step, type Key, type State, type UpdateResult } from "../model/state.ts";
import { drawBox, selectedStyle, padRow, firstInView, type OverlayView, type OverlayArea } from "./box.ts";

/** A key of a panel, for the help too. Two characters are pressed one after the other. */
export type PanelKey<P> = { keys: readonly string[]; summary: string; run: (state: State, panel: P) => UpdateResult };

export function handleKeyByTable<P>(table: readonly PanelKey<P>[], state: State, panel: P, { name }: Key): UpdateResult {
  const typed = (state.pending ?? "") + name;
  const next = { ...state, pending: null };
  const row = table.find(({ keys }) => keys.includes(typed));
  if (row !== undefined) return row.run(next, panel);
  const begins = state.pending === null && table.some(({ keys }) => keys.some((key) => key.length === 2 && key === name + name));
  return step(begins ? { ...state, pending: name } : next);
}

export type PanelOptions = {
  title: string;
  count: number;
  at: number;
  /** Only asked for lines that are in view. */
  line: (at: number, columns: number) => Row;
  /** Where there is nothing in the list. */
  empty: string;
  /** At most so many rows of it are shown. */
  preview: (columns: number, rows: number) => readonly Row[];
  /** Above the list. */
  head?: (columns: number) => readonly Row[];
  /** A list that needs the whole width has its preview below. */
  isStacked?: true;
  keys: string;
  /** What is being typed, instead of the keys. */
  typing: { label: string; line: EditLine } | null;
};

const wide = 120;
const fewestRows = 12;
const tallestPreview = 10;

export function panelView(options: PanelOptions, { columns, height }: OverlayArea): OverlayView {
  const inner = Math.max(1, columns - 4);
  const room = Math.max(3, height - 3);
  const foot = options.typing === null ? null : visiblePart(layOutText(`${options.typing.label} > `, options.typing.line, inner), 1);
  const body = columns >= wide && options.isStacked !== true ? besides(options, inner, room) : stacked(options, inner, room);
  const last: Row = foot === null ? [{ text: options.keys, style: faint }] : [{ text: foot.rows[0] ?? "", style: {} }];
  const rows = drawBox(options.title, [...body, last], columns);
  return { rows, cursor: foot === null ? null : { row: body.length + 1, column: 2 + foot.cursor.column } };
}

function besides(options: PanelOptions, inner: number, room: number): Row[] {
  const left = Math.floor(inner * 0.6);
  const right = inner - left - 3;
  const preview = options.preview(right, room);
  const rows = Math.min(room, Math.max(fewestRows, options.count + 1, preview.length));
  const list = listRows(options, left, rows);
  const line: Row = [{ text: " │ ", style: faint }];
  return Array.from({ length: rows }, (_, at) => [...padRow(list[at] ?? [], left), ...line, ...padRow(preview[at] ?? [], right)]);
}

/** The preview has its room whatever is chosen, so that the list stays where it is. */
function stacked(options: PanelOptions, inner: number, room: number): Row[] {
  const head = options.head?.(inner).length ?? 0;
  const forPreview = room < 8 || options.count === 0 ? 0 : Math.min(tallestPreview, Math.floor(room * 0.4));
  const rows = Math.max(1, Math.min(room - forPreview - 1, Math.max(1, options.count) + head));
  const list = listRows(options, inner, rows);
  if (forPreview === 0) return list;
  const preview = options.preview(inner, forPreview);
  const rule: Row = [{ text: "─".repeat(inner), style: faint }];
  return [...list, rule, ...Array.from({ length: forPreview }, (_, at) => preview[at] ?? [])];
}

function listRows(options: PanelOptions, columns: number, rows: number): Row[] {
  const head = options.head?.(columns) ?? [];
  if (options.count === 0) return [...head, [{ text: options.empty, style: faint }]];
  const room = Math.max(1, rows - head.length);
  const first = firstInView(options.count, options.at, room);
  const lines = Array.from({ length: Math.min(room, options.count - first) }, (_, offset): Row => {
    const line = padRow(options.line(first + offset, columns), columns);
    // Without its colours, which turned around are patches of a background.
    return first + offset === options.at ? line.map(({ text }) => ({ text, style: selectedStyle })) : line;
  });
  return [...head, ...lines];
}

/** When a list that is not there yet says so. */
export const slowAfterMs = 150;

/** How far a key moves in a list. */
export const listMoves: Record<string, number> = { down: 1, up: -1, pagedown: 10, pageup: -10, "ctrl+d": 10, "ctrl+u": -10 };

export function moveIndex(at: number, by: number, count: number): number {
  return Math.max(0, Math.min(count - 1, at + by));
}

const proseChars = 8000;
/** Its own, so that what streams in the transcript is not read anew. */
const prose = { ...markdown };

/** The beginning of a message, as the transcript shows it. */
export function proseRows(text: string, columns: number): Row[] {
  return stripsOf(prose, text.slice(0, proseChars), columns).flatMap((strip) => strip());
}
