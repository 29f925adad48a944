// How high each part of the screen is, and how wide the transcript.
import { layOutText } from "../../kit/text/text-layout.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import type { State } from "../model/state.ts";

export const composerPrompt = "> ";
const tallestComposer = 8;
const mostQueued = 3;

/** The column before each block is where the focus is marked. */
export function textColumns({ size }: State): number {
  return Math.max(4, size.columns - 2);
}

export function composerRows(state: State, line: EditLine): number {
  const most = Math.max(1, Math.min(tallestComposer, state.size.rows - 6));
  return Math.min(most, layOutText(composerPrompt, line, state.size.columns).rows.length);
}

export function visibleQueue(state: State): State["queue"] {
  return state.queue.slice(-mostQueued);
}

/** What is left for the transcript above the queue, the rule, the composer and the status bar. */
export function transcriptHeight(state: State): number {
  return Math.max(1, state.size.rows - composerRows(state, state.draft) - visibleQueue(state).length - 2);
}
