// Computes the inline screen: finished blocks are printed once into the terminal's scrollback. Changing blocks, the
// composer and the status bar form a footer below them. Pure.
import { sessionLabel } from "../../protocol/tree/turn.ts";
import { styled, plainLine, type Row } from "../layout/wrap.ts";
import { faint } from "../layout/styles.ts";
import type { State } from "../model/state.ts";
import { blockAt, blockCount } from "../model/transcript.ts";
import { transcriptHeight } from "../layout/screen-layout.ts";
import { overlayOf } from "../views/overlays.ts";
import { renderFrame, type ScreenFrame } from "../views/screen.ts";
import { welcomeRows } from "../views/welcome.ts";
import { stripsAt } from "../views/window.ts";

/** The printed blocks: their session, their number, and the id of the last one. */
export type PrintedBlocks = { session: string | null; blocks: number; last: string | null };

export const noPrintedBlocks: PrintedBlocks = { session: null, blocks: 0, last: null };

/** Scrolling back, a focus or an overlay uses the alternate screen while it lasts. */
export function needsFullScreen(state: State): boolean {
  return state.overlay !== null || state.focus !== null || state.top !== "end";
}

/** Rows to print now. For another session: its name and its last screenful. */
export function rowsToPrint(state: State, previous: PrintedBlocks): { rows: Row[]; printed: PrintedBlocks } {
  const { transcript, session } = state;
  const isContinued =
    previous.session === (session?.id ?? null) && (previous.blocks === 0 || blockAt(transcript, previous.blocks - 1)?.id === previous.last);
  const end = finishedBlocks(state, isContinued ? previous.blocks : 0);
  const start = isContinued ? previous.blocks : firstToPrint(state, end);
  const rows = [...(isContinued ? [] : headOf(state, start)), ...blockRows(state, { start, end })];
  return { rows, printed: { session: session?.id ?? null, blocks: end, last: blockAt(transcript, end - 1)?.id ?? null } };
}

/** The changing blocks with the composer and the status bar. Before the first message, the first screen. */
export function renderFooter(state: State, { blocks }: PrintedBlocks): ScreenFrame {
  const otherRows = state.size.rows - transcriptHeight(state);
  const maxRows = Math.max(1, state.size.rows - 1 - otherRows);
  const count = blockCount(state.transcript);
  const liveRows = (count === 0 ? welcomeRows(state, maxRows) : blockRows(state, { start: blocks, end: count, maxRows })).length;
  const height = Math.min(maxRows, Math.max(liveRows, overlayOf(state, maxRows)?.rows.length ?? 0));
  const size = { ...state.size, rows: otherRows + Math.max(1, height) };
  // The last printed block is included but not visible, so that the first block keeps its empty row before it.
  const transcript = { ...state.transcript, settled: state.transcript.settled.slice(Math.max(0, blocks - 1)) };
  const { rows, cursor } = renderFrame({ ...state, size, transcript });
  if (height > 0) return { rows, cursor };
  return { rows: rows.slice(1), cursor: cursor === null ? null : { ...cursor, row: cursor.row - 1 } };
}

/** The number of finished blocks: those before the first call or sub-session that still runs. */
function finishedBlocks({ transcript, activity }: State, start: number): number {
  const { settled, running } = transcript;
  let count = start;
  for (let block = settled[count]; block !== undefined; block = settled[++count])
    if (running.has(block.id) || (activity !== null && block.kind === "tool" && block.result === null)) break;
  return count;
}

/** The first block of the last screenful. */
function firstToPrint(state: State, end: number): number {
  let rows = 0;
  for (let index = end - 1; index >= 0; index -= 1) {
    rows += blockRows(state, { start: index, end: index + 1 }).length;
    if (rows > state.size.rows) return index;
  }
  return 0;
}

function headOf({ session, bindings }: State, earlier: number): Row[] {
  const ruleLine = (text: string): Row => [styled(`── ${text}`, faint)];
  const name = plainLine(session === null ? "new session" : sessionLabel(session), 60);
  return [
    [],
    ruleLine(name),
    ...(earlier === 0
      ? []
      : [ruleLine(`${earlier} earlier blocks; ${bindings.preset === "vi" ? "press Esc, then k, to scroll back" : "PageUp scrolls back"}`)]),
  ];
}

type BlockRange = { start: number; end: number; maxRows?: number };

/** The rows of the blocks in a range. Stops after the block that reaches `maxRows`. */
export function blockRows(state: State, { start, end, maxRows = Number.POSITIVE_INFINITY }: BlockRange): Row[] {
  const rows: Row[] = [];
  for (let index = start; index < end && rows.length < maxRows; index += 1)
    for (const strip of stripsAt(state, index)) for (const row of strip()) rows.push(row.length === 0 ? [] : [styled("  "), ...row]);
  return rows;
}
