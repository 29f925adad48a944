// Moving in the transcript: by rows, to its ends, from block to block. At the end the view follows what is added.
import type { State } from "./state.ts";
import { lastTop, startsOf, topRow, transcriptHeight } from "./views/layout.ts";

export function scrollBy(state: State, rows: number): State {
  const starts = startsOf(state);
  return scrollTo(state, topRow(state, starts) + rows, starts);
}

export function scrollPage(state: State, pages: number): State {
  return scrollBy(state, Math.round(pages * transcriptHeight(state)) || Math.sign(pages));
}

function scrollTo(state: State, row: number, starts: readonly number[]): State {
  const last = lastTop(state, starts);
  return { ...state, top: row >= last ? "end" : Math.max(0, row) };
}

/** The block before or after the one in focus; at first the last or first one in view. */
export function moveFocus(state: State, by: -1 | 1): State {
  if (state.blocks.length === 0) return state;
  const starts = startsOf(state);
  const top = topRow(state, starts);
  const bottom = top + transcriptHeight(state);
  const now = state.blocks.findIndex((block) => block.id === state.focus);
  const begun = starts.slice(0, -1);
  const first = by < 0 ? begun.findLastIndex((start) => start < bottom) : begun.findIndex((start) => start >= top);
  const wanted = now < 0 ? first : now + by;
  const at = Math.max(0, Math.min(state.blocks.length - 1, wanted));
  const focused = { ...state, focus: state.blocks[at]?.id ?? null };
  const [start = 0, end = 0] = [starts[at], starts[at + 1]];
  if (start < top) return scrollTo(focused, start, starts);
  if (end > bottom) return scrollTo(focused, Math.min(start, end - transcriptHeight(state)), starts);
  return focused;
}

/** Opens or folds the block in focus; its first row stays where it was. */
export function toggleFocused(state: State): State {
  if (state.focus === null) return state;
  const toggled = new Set(state.toggled);
  if (!toggled.delete(state.focus)) toggled.add(state.focus);
  const top = topRow(state, startsOf(state));
  const next = { ...state, toggled };
  return scrollTo(next, state.top === "end" ? Number.MAX_SAFE_INTEGER : top, startsOf(next));
}

export function toggleAll(state: State): State {
  return { ...state, allOpen: !state.allOpen, toggled: new Set() };
}
