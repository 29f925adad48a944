// The screen without a screen of its own: what is finished is printed once, and only what still changes stands below it,
// with the composer and the status bar. Pure.
import { stripAnsi } from "../../kit/text/ansi.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Row } from "../layout/wrap.ts";
import { faint } from "../layout/styles.ts";
import type { State } from "../model/state.ts";
import { blockAt, blockCount, type TranscriptBlocks } from "../model/transcript.ts";
import { transcriptHeight } from "../layout/screen-layout.ts";
import { overlayOf } from "../views/overlays.ts";
import { renderFrame, type ScreenFrame } from "../views/screen.ts";
import { stripsAt } from "../views/window.ts";

/** What was printed: of which session, how many of its blocks, and which was the last. */
export type PrintedBlocks = { session: string | null; blocks: number; last: string | null };

export const noPrintedBlocks: PrintedBlocks = { session: null, blocks: 0, last: null };

/** What looks back, or lies over the transcript, takes the whole screen for as long as it is there. */
export function needsFullScreen(state: State): boolean {
  return state.overlay !== null || state.focus !== null || state.top !== "end";
}

/** Rows to be printed now, and what has been printed with them: of another session its name, and what was said last. */
export function rowsToPrint(state: State, before: PrintedBlocks): { rows: Row[]; printed: PrintedBlocks } {
  const { transcript, session } = state;
  const goesOn =
    before.session === (session?.id ?? null) && (before.blocks === 0 || blockAt(transcript, before.blocks - 1)?.id === before.last);
  const upTo = finishedBlocks(state, goesOn ? before.blocks : 0);
  const from = goesOn ? before.blocks : firstToPrint(state, upTo);
  const rows = [...(goesOn ? [] : headOf(state, from)), ...blockRows(state, from, upTo)];
  return { rows, printed: { session: session?.id ?? null, blocks: upTo, last: blockAt(transcript, upTo - 1)?.id ?? null } };
}

/** What is left when the screen is closed is printed as it is. */
export function lastRows(state: State, { blocks }: PrintedBlocks): Row[] {
  return blockRows(state, blocks, blockCount(state.transcript));
}

/** What still changes, and all that stands below it. */
export function renderFooter(state: State, { blocks }: PrintedBlocks): ScreenFrame {
  const around = state.size.rows - transcriptHeight(state);
  const room = Math.max(1, state.size.rows - 1 - around);
  const live = blockRows(state, blocks, blockCount(state.transcript), room).length;
  const height = Math.min(room, Math.max(live, overlayOf(state, room)?.rows.length ?? 0));
  const size = { ...state.size, rows: around + Math.max(1, height) };
  // With the one before it, which is out of view, the first block has its distance from what was printed.
  const { rows, cursor } = renderFrame({ ...state, size, transcript: after(state.transcript, Math.max(0, blocks - 1)) });
  if (height > 0) return { rows, cursor };
  return { rows: rows.slice(1), cursor: cursor === null ? null : { ...cursor, row: cursor.row - 1 } };
}

/** Calls and sub-sessions that still run, and whatever came after them, are not. */
function finishedBlocks({ transcript, activity }: State, from: number): number {
  const { settled, running } = transcript;
  let at = from;
  for (let block = settled[at]; block !== undefined; block = settled[++at])
    if (running.has(block.id) || (activity !== null && block.kind === "tool" && block.result === null)) break;
  return at;
}

/** Of a session that is opened, the last screenful is enough. */
function firstToPrint(state: State, upTo: number): number {
  let rows = 0;
  for (let at = upTo - 1; at >= 0; at -= 1) {
    rows += blockRows(state, at, at + 1).length;
    if (rows > state.size.rows) return at;
  }
  return 0;
}

function headOf({ session }: State, earlier: number): Row[] {
  const remark = (text: string): Row => [{ text: `── ${text}`, style: faint }];
  const name = oneLine(stripAnsi(session?.name ?? session?.id.slice(-8) ?? "new session"), 60);
  return [[], remark(name), ...(earlier === 0 ? [] : [remark(`${earlier} earlier blocks; Esc and k look back`)])];
}

/** Of these blocks, or of as many as fill `most`. */
function blockRows(state: State, from: number, to: number, most = Number.POSITIVE_INFINITY): Row[] {
  const rows: Row[] = [];
  for (let at = from; at < to && rows.length < most; at += 1)
    for (const strip of stripsAt(state, at))
      for (const row of strip()) rows.push(row.length === 0 ? [] : [{ text: "  ", style: {} }, ...row]);
  return rows;
}

function after({ settled, running, writing }: TranscriptBlocks, blocks: number): TranscriptBlocks {
  return { settled: settled.slice(blocks), running, writing };
}
