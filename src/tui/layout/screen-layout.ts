// Computes the height of each part of the screen, and the width of the transcript.
import { layOutText } from "../../kit/text/text-layout.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import type { State } from "../model/state.ts";

export const composerPrompt = "> ";
const maxComposerRows = 8;
const maxQueueRows = 3;

/** The width of the transcript's text: two columns before each block mark the focus. */
export function textColumns({ size }: State): number {
  return Math.max(4, size.columns - 2);
}

export function composerRows(state: State, line: EditLine): number {
  const maxRows = Math.max(1, Math.min(maxComposerRows, state.size.rows - 6));
  return Math.min(maxRows, layOutText(composerPrompt, line, state.size.columns).rows.length);
}

/** On a low screen the queue leaves a row for the transcript and one for the composer. */
export function visibleQueue(state: State): State["queue"] {
  const rows = Math.max(0, Math.min(maxQueueRows, state.size.rows - 3 - statusRows(state)));
  return state.queue.slice(Math.max(0, state.queue.length - rows));
}

/** Rows of facts below the composer. */
function statusRows({ bindings }: State): number {
  return bindings.preset === "vi" ? 2 : 1;
}

/** Rows of the transcript: the screen without the queue, the rule, the composer and the rows of facts below it. */
export function transcriptHeight(state: State): number {
  return Math.max(1, state.size.rows - composerRows(state, state.unsent) - visibleQueue(state).length - 1 - statusRows(state));
}
