// Scrolls the transcript: by rows, to its ends, from block to block. At the end the view follows new rows. Pure.
import type { Block } from "./blocks.ts";
import type { State } from "./state.ts";
import { allBlocks, blockAt, blockCount } from "./transcript.ts";
import { transcriptHeight } from "../layout/screen-layout.ts";
import { opensByDefault } from "../cards/card.ts";
import { rowsInView, startOfBlock, isBefore, lastTopPosition, moveBy, topPosition, type ScrollPosition } from "../views/window.ts";

export function scrollBy(state: State, rows: number): State {
  return scrollTo(state, moveBy(state, topPosition(state), rows));
}

export function scrollPage(state: State, pages: number): State {
  return scrollBy(state, Math.sign(pages) * Math.max(1, Math.round(Math.abs(pages) * transcriptHeight(state))));
}

export function scrollToBeginning(state: State): State {
  return scrollTo(state, startOfBlock(0));
}

export function scrollToEnd(state: State): State {
  return { ...state, top: "end" };
}

function scrollTo(state: State, position: ScrollPosition): State {
  return { ...state, top: isBefore(position, lastTopPosition(state)) ? position : "end" };
}

/** Moves the focus to the previous (-1) or next (1) block. Without a focus, starts at the last or first visible block. */
export function moveFocus(state: State, delta: -1 | 1): State {
  if (blockCount(state.transcript) === 0) return state;
  const current = state.focus === null ? -1 : allBlocks(state.transcript).findIndex((block) => block.id === state.focus);
  return focusAt(state, current < 0 ? firstInView(state, delta) : current + delta);
}

function firstInView(state: State, delta: -1 | 1): number {
  const top = topPosition(state);
  if (delta > 0) return top.strip === 0 && top.row === 0 ? top.block : top.block + 1;
  return moveBy(state, top, transcriptHeight(state) - 1).block;
}

/** Focuses a block and scrolls it into view. `index` is clamped. */
function focusAt(state: State, index: number): State {
  const block = Math.max(0, Math.min(blockCount(state.transcript) - 1, index));
  const focused = { ...state, focus: blockAt(state.transcript, block)?.id ?? null };
  const [start, end] = [startOfBlock(block), startOfBlock(block + 1)];
  const top = topPosition(state);
  if (isBefore(start, top)) return scrollTo(focused, start);
  const bottom = moveBy(state, top, transcriptHeight(state));
  if (!isBefore(bottom, end)) return focused;
  const fitting = moveBy(state, end, -transcriptHeight(state));
  return scrollTo(focused, isBefore(start, fitting) ? start : fitting);
}

/** Scrolls so that a row outside of the view is in its upper third. */
export function bringIntoView(state: State, position: ScrollPosition): State {
  const top = topPosition(state);
  if (!isBefore(position, top) && isBefore(position, moveBy(state, top, transcriptHeight(state)))) return state;
  return scrollTo(state, moveBy(state, position, -Math.floor(transcriptHeight(state) / 3)));
}

export function focusedBlock({ transcript, focus }: State): Block | undefined {
  return focus === null ? undefined : allBlocks(transcript).find(({ id }) => id === focus);
}

/** Opens or folds the block in focus. Its first row keeps its place on the screen if possible. */
export function toggleFocused(state: State): State {
  if (state.focus === null) return state;
  const toggled = new Set(state.toggled);
  if (!toggled.delete(state.focus)) toggled.add(state.focus);
  return scrollTo({ ...state, toggled }, topPosition(state));
}

/** Opens or folds the block at a row of the screen, if it is a block that folds. */
export function toggleAt(state: State, row: number): State {
  const visible = row < transcriptHeight(state) ? rowsInView(state)[row] : undefined;
  if (visible === undefined || visible.row.length === 0 || !canFold(visible.block)) return state;
  return { ...toggleFocused({ ...state, focus: visible.block.id }), focus: state.focus };
}

function canFold(block: Block): boolean {
  return ["tool", "thinking", "session", "diff"].includes(block.kind) || !opensByDefault(block);
}

export function toggleAll(state: State): State {
  return { ...state, allOpen: !state.allOpen, toggled: new Set() };
}
