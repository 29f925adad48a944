// Where everything is: how high each part of the screen is, where each block begins, and which rows are in view.
import { layOut } from "../../kit/lay-out.ts";
import type { Line } from "../../kit/line-edit.ts";
import { cardRows, opensItself } from "../cards/card.ts";
import type { Block } from "../blocks.ts";
import type { State } from "../state.ts";

export const composerPrompt = "> ";
const tallestComposer = 8;
const mostQueued = 3;

export function isOpen(state: State, block: Block): boolean {
  return (state.allOpen || opensItself(block)) !== state.toggled.has(block.id);
}

/** The column before each block is where the focus is marked. */
export function textColumns({ size }: State): number {
  return Math.max(4, size.columns - 2);
}

export function rowsOf(state: State, block: Block) {
  return cardRows(block, textColumns(state), isOpen(state, block));
}

/** The row at which each block begins, and behind them where the last one ends. */
export function startsOf(state: State): number[] {
  const starts = [0];
  let row = 0;
  for (const block of state.blocks) starts.push((row += rowsOf(state, block).length));
  return starts;
}

export function composerRows(state: State, line: Line): number {
  const most = Math.max(1, Math.min(tallestComposer, state.size.rows - 6));
  return Math.min(most, layOut(composerPrompt, line, state.size.columns).rows.length);
}

export function shownQueue(state: State): State["queue"] {
  return state.queue.slice(-mostQueued);
}

/** What is left for the transcript above the queue, the rule, the composer and the status bar. */
export function transcriptHeight(state: State): number {
  return Math.max(1, state.size.rows - composerRows(state, state.draft) - shownQueue(state).length - 2);
}

export function lastTop(state: State, starts: readonly number[]): number {
  return Math.max(0, (starts.at(-1) ?? 0) - transcriptHeight(state));
}

/** The first row in view. */
export function topRow(state: State, starts: readonly number[]): number {
  const last = lastTop(state, starts);
  return state.top === "end" ? last : Math.min(state.top, last);
}
