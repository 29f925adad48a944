// A longer text over the transcript, to be scrolled and closed: the help, a comparison of branches, a preview.
import type { Bindings } from "../keys/bindings.ts";
import { helpLines, panelHelp } from "../keys/help.ts";
import { transcriptHeight } from "../layout/screen-layout.ts";
import { step, type Key, type State, type UpdateResult } from "../model/state.ts";
import type { Overlay } from "./index.ts";
import { drawBox, type BoxLine, type OverlayView, type OverlayArea } from "./box.ts";

/** Without lines of its own it is the help. */
export type TextOverlay = {
  kind: "reader";
  title: string;
  lines: readonly BoxLine[] | null;
  top: number;
  /** What it was opened from, and gives back. */
  under?: Overlay;
};

const rowMoves: Record<string, number> = { j: 1, down: 1, k: -1, up: -1 };
const pageMoves: Record<string, number> = { pagedown: 1, pageup: -1, "ctrl+d": 0.5, "ctrl+u": -0.5 };

export function handleTextKey(state: State, reader: TextOverlay, { name }: Key): UpdateResult {
  if (name === "escape" || name === "q") return step({ ...state, overlay: reader.under ?? null });
  const room = roomIn(transcriptHeight(state));
  const last = linesOf(reader, state.bindings).length - room;
  const by = rowMoves[name] ?? Math.round((pageMoves[name] ?? 0) * room);
  const wanted = name === "g" ? 0 : name === "G" ? last : Math.min(reader.top, last) + by;
  return step({ ...state, overlay: { ...reader, top: Math.max(0, Math.min(last, wanted)) } });
}

export function textOverlayView(reader: TextOverlay, { columns, height, bindings }: OverlayArea): OverlayView {
  const { title, top } = reader;
  const lines = linesOf(reader, bindings);
  const room = roomIn(height);
  const first = Math.min(top, Math.max(0, lines.length - room));
  const where = lines.length > room ? `, ${first + 1}-${first + room} of ${lines.length}: j and k scroll,` : ":";
  return { rows: drawBox(`${title}${where} Esc closes it`, lines.slice(first, first + room), columns), cursor: null };
}

function roomIn(height: number): number {
  return Math.max(1, height - 2);
}

function linesOf({ lines }: TextOverlay, bindings: Bindings): readonly BoxLine[] {
  if (lines !== null) return lines;
  const panels = panelHelp.flatMap(({ title, lines: keys }): BoxLine[] => ["", { text: title, style: { bold: true } }, ...inColumns(keys)]);
  return [...inColumns(helpLines(bindings)), ...panels];
}

function inColumns(help: readonly [keys: string, summary: string][]): string[] {
  const keyColumns = Math.max(...help.map(([keys]) => keys.length)) + 2;
  return help.map(([keys, summary]) => keys.padEnd(keyColumns) + summary);
}
