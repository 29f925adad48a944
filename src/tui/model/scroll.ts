// Moving in the transcript: by rows, to its ends, from block to block. At the end the view follows what is added.
import type { Block } from "./blocks.ts";
import type { State } from "./state.ts";
import { allBlocks, blockAt, blockCount } from "./transcript.ts";
import { transcriptHeight } from "../layout/screen-layout.ts";
import { startPosition, isBefore, lastTopPosition, moveBy, topPosition, type ScrollPosition } from "../views/window.ts";

export function scrollBy(state: State, rows: number): State {
  return scrollTo(state, moveBy(state, topPosition(state), rows));
}

export function scrollPage(state: State, pages: number): State {
  return scrollBy(state, Math.sign(pages) * Math.max(1, Math.round(Math.abs(pages) * transcriptHeight(state))));
}

export function scrollToBeginning(state: State): State {
  return scrollTo(state, startPosition);
}

export function scrollToEnd(state: State): State {
  return { ...state, top: "end" };
}

function scrollTo(state: State, position: ScrollPosition): State {
  return { ...state, top: isBefore(position, lastTopPosition(state)) ? position : "end" };
}

/** The block before or after the one in focus; at first the last or first one in view. */
export function moveFocus(state: State, by: -1 | 1): State {
  if (blockCount(state.transcript) === 0) return state;
  const now = state.focus === null ? -1 : allBlocks(state.transcript).findIndex((block) => block.id === state.focus);
  return focusAt(state, now < 0 ? firstInView(state, by) : now + by);
}

function firstInView(state: State, by: -1 | 1): number {
  const top = topPosition(state);
  if (by > 0) return top.strip === 0 && top.row === 0 ? top.block : top.block + 1;
  return moveBy(state, top, transcriptHeight(state) - 1).block;
}

/** Brings a block into view, and marks it. */
export function focusAt(state: State, wanted: number): State {
  const at = Math.max(0, Math.min(blockCount(state.transcript) - 1, wanted));
  const focused = { ...state, focus: blockAt(state.transcript, at)?.id ?? null };
  const [start, end] = [
    { block: at, strip: 0, row: 0 },
    { block: at + 1, strip: 0, row: 0 },
  ];
  const top = topPosition(state);
  if (isBefore(start, top)) return scrollTo(focused, start);
  const bottom = moveBy(state, top, transcriptHeight(state));
  if (!isBefore(bottom, end)) return focused;
  const fitting = moveBy(state, end, -transcriptHeight(state));
  return scrollTo(focused, isBefore(start, fitting) ? start : fitting);
}

/** A row that is not in view comes to the upper third. */
export function bringIntoView(state: State, position: ScrollPosition): State {
  const top = topPosition(state);
  if (!isBefore(position, top) && isBefore(position, moveBy(state, top, transcriptHeight(state)))) return state;
  return scrollTo(state, moveBy(state, position, -Math.floor(transcriptHeight(state) / 3)));
}

export function focusedBlock({ transcript, focus }: State): Block | undefined {
  return focus === null ? undefined : allBlocks(transcript).find(({ id }) => id === focus);
}

/** Opens or folds the block in focus; its first row stays where it was, wherever there is room for that. */
export function toggleFocused(state: State): State {
  if (state.focus === null) return state;
  const toggled = new Set(state.toggled);
  if (!toggled.delete(state.focus)) toggled.add(state.focus);
  return scrollTo({ ...state, toggled }, topPosition(state));
}

export function toggleAll(state: State): State {
  return { ...state, allOpen: !state.allOpen, toggled: new Set() };
}
