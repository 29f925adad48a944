// A longer text over the transcript, to be scrolled and closed: the help, a comparison of branches, a preview.
import type { Bindings } from "../bindings.ts";
import { helpLines, panelHelp } from "../help.ts";
import { step, type Key, type State, type Step } from "../state.ts";
import type { Overlay } from "./index.ts";
import { boxed, type BoxLine, type OverlayView, type Room } from "./box.ts";

/** Without lines of its own it is the help. */
export type Reader = {
  kind: "reader";
  title: string;
  lines: readonly BoxLine[] | null;
  top: number;
  /** What it was opened from, and gives back. */
  under?: Overlay;
};

const moves: Record<string, number> = { j: 1, down: 1, k: -1, up: -1, pagedown: 10, pageup: -10, "ctrl+d": 10, "ctrl+u": -10 };

export function pressInReader(state: State, reader: Reader, { name }: Key): Step {
  if (name === "escape" || name === "q") return step({ ...state, overlay: reader.under ?? null });
  const last = linesOf(reader, state.bindings).length - 1;
  const wanted = name === "g" ? 0 : name === "G" ? last : reader.top + (moves[name] ?? 0);
  return step({ ...state, overlay: { ...reader, top: Math.max(0, Math.min(last, wanted)) } });
}

export function readerView(reader: Reader, { columns, height, bindings }: Room): OverlayView {
  const { title, top } = reader;
  const lines = linesOf(reader, bindings);
  const room = Math.max(1, height - 2);
  const first = Math.min(top, Math.max(0, lines.length - room));
  return { rows: boxed(`${title}: j and k scroll, Esc closes it`, lines.slice(first, first + room), columns), cursor: null };
}

function linesOf({ lines }: Reader, bindings: Bindings): readonly BoxLine[] {
  if (lines !== null) return lines;
  const help = helpLines(bindings);
  const keyColumns = Math.max(...help.map(([keys]) => keys.length)) + 2;
  const told = ([keys, summary]: [string, string]) => keys.padEnd(keyColumns) + summary;
  const panels = panelHelp.flatMap(({ title, lines: keys }): BoxLine[] => ["", { text: title, look: { bold: true } }, ...keys.map(told)]);
  return [...help.map(told), ...panels];
}
