// Computes the height of each part of the screen, and the width of the transcript.
import { oneLine } from "../../kit/text/cut-text.ts";
import { layOutText, type TextLayout } from "../../kit/text/text-layout.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import { waitingText } from "../../protocol/limits/clock-time.ts";
import type { State } from "../model/state.ts";
import { cellsOf } from "./wrap.ts";

export const composerPrompt = "> ";
const maxComposerRows = 8;
const maxQueueRows = 3;

/** The width of the transcript's text: two columns before each block mark the focus. */
export function textColumns({ size }: State): number {
  return Math.max(4, size.columns - 2);
}

export function composerRows(state: State, line: EditLine): number {
  const maxRows = Math.max(1, Math.min(maxComposerRows, state.size.rows - 6));
  return Math.min(maxRows, layOutPrompt(composerPrompt, line, state.size.columns).rows.length);
}

let latest: { prompt: string; line: EditLine; columns: number; layout: TextLayout } | null = null;

/** Keeps the latest layout: a frame needs the height of the same message several times. */
export function layOutPrompt(prompt: string, line: EditLine, columns: number): TextLayout {
  if (latest === null || latest.line !== line || latest.columns !== columns || latest.prompt !== prompt)
    latest = { prompt, line, columns, layout: layOutText(prompt, line, columns) };
  return latest.layout;
}

/** One line for turns that start later, and the queued messages. On a low screen they leave a row for the transcript and one for the composer. */
export function visibleQueue(state: State): string[] {
  if (state.queue.length === 0 && state.later.length === 0) return [];
  const rows = Math.max(0, Math.min(maxQueueRows, state.size.rows - 3 - statusRows(state)));
  const label = state.activity === null ? "queued for the next turn" : "queued";
  const queued = state.queue.map(({ text }, index) => {
    const line = `${label}: ${oneLine(text, 300)}`;
    const withKey = `${line} · Up takes it back`;
    const isNextToUp = index === state.queue.length - 1 && state.unsent.text === "";
    return isNextToUp && cellsOf(withKey) <= state.size.columns ? withKey : line;
  });
  const texts = [...laterTexts(state.later), ...queued];
  return texts.slice(Math.max(0, texts.length - rows));
}

/** `waiting until 14:05 · queued 2: the first task`. No line without such turns. */
function laterTexts(later: State["later"]): string[] {
  const now = Date.now();
  const waits = later.flatMap(({ kind, wakeAt }) => (kind === "waiting" ? [wakeAt === null ? "waiting" : waitingText(wakeAt, now)] : []));
  const continued = later.some(({ kind }) => kind === "continued") ? ["the hub continues the interrupted turn"] : [];
  const queued = later.filter(({ kind }) => kind === "queued");
  const first = queued[0]?.prompt;
  const queue = queued.length === 0 ? [] : [`queued ${queued.length}${first == null ? "" : `: ${oneLine(first, 200)}`}`];
  const problem = later.find((turn) => turn.problem !== null)?.problem;
  const parts = [...waits, ...continued, ...queue, ...(problem == null ? [] : [`blocked: ${oneLine(problem, 200)}`])];
  return parts.length === 0 ? [] : [parts.join(" · ")];
}

/** Rows of facts below the composer. */
function statusRows({ bindings }: State): number {
  return bindings.preset === "vi" ? 2 : 1;
}

/** Rows of the transcript: the screen without the queue, the rule, the composer and the rows of facts below it. */
export function transcriptHeight(state: State): number {
  return Math.max(1, state.size.rows - composerRows(state, state.unsent) - visibleQueue(state).length - 1 - statusRows(state));
}
