// Which rows of the transcript are in view. A place in it is named by block, strip and row, never by a number of rows
// from the beginning: only what is in view is ever laid out, however long the transcript is.
import type { Block } from "../model/blocks.ts";
import { cardStrips, opensByDefault } from "../cards/card.ts";
import { imageRows, imageSize } from "../layout/image-size.ts";
import { strip, type Strip } from "../cards/strips.ts";
import type { Row } from "../layout/wrap.ts";
import type { State } from "../model/state.ts";
import { blockAt, blockCount } from "../model/transcript.ts";
import { textColumns, transcriptHeight } from "../layout/screen-layout.ts";

export type ScrollPosition = { block: number; strip: number; row: number };

export const startPosition: ScrollPosition = { block: 0, strip: 0, row: 0 };

export function isOpen(state: State, block: Block): boolean {
  return (state.allOpen || opensByDefault(block)) !== state.toggled.has(block.id);
}

const gap: Strip = strip(() => [[]]);

/** With an empty row before it, unless it is a folded call below another one. */
export function stripsAt(state: State, at: number): readonly Strip[] {
  const block = blockAt(state.transcript, at);
  if (block === undefined) return [];
  const card = cardStrips(block, textColumns(state), isOpen(state, block));
  const image = imageStrip(state, block);
  const strips = image === null ? card : [...card, image];
  const before = at === 0 ? undefined : blockAt(state.transcript, at - 1);
  return before === undefined || (isFoldedCall(state, block) && isFoldedCall(state, before)) ? strips : [gap, ...strips];
}

const longestBase64 = (8 * 1024 * 1024 * 4) / 3;
const blankRows = new Map<number, Strip>();

/** The rows that an image is drawn in, below the line that tells of it. They are the same ones whenever it has as many. */
function imageStrip(state: State, block: Block): Strip | null {
  const { canDraw, failed } = state.images;
  if (block.kind !== "image" || !canDraw || failed.has(block.id) || !isOpen(state, block)) return null;
  const size = block.image.base64.length > longestBase64 ? null : imageSize(block.image);
  if (size === null) return null;
  const rows = imageRows(size, { columns: textColumns(state), screenRows: state.size.rows });
  const blank = blankRows.get(rows) ?? strip(() => Array.from({ length: rows }, (): Row => []));
  blankRows.set(rows, blank);
  return blank;
}

function isFoldedCall(state: State, block: Block): boolean {
  return block.kind === "tool" && !isOpen(state, block);
}

/** So many rows further down, or up; at most to the end, which is behind the last block. */
export function moveBy(state: State, from: ScrollPosition, by: number): ScrollPosition {
  return by < 0 ? movedUp(state, from, -by) : movedDown(state, from, by);
}

function movedDown(state: State, { block, strip: first, row }: ScrollPosition, by: number): ScrollPosition {
  let left = by + row;
  for (let at = block, from = first; at < blockCount(state.transcript); at += 1, from = 0) {
    const strips = stripsAt(state, at);
    for (let index = from; index < strips.length; index += 1) {
      const rows = strips[index]?.().length ?? 0;
      if (left < rows) return { block: at, strip: index, row: left };
      left -= rows;
    }
  }
  return endPosition(state);
}

function movedUp(state: State, { block, strip: first, row }: ScrollPosition, by: number): ScrollPosition {
  let left = by - row;
  if (left <= 0) return { block, strip: first, row: -left };
  for (let at = block, end = first; at >= 0; at -= 1, end = Number.POSITIVE_INFINITY) {
    const strips = stripsAt(state, at);
    for (let index = Math.min(end, strips.length) - 1; index >= 0; index -= 1) {
      left -= strips[index]?.().length ?? 0;
      if (left <= 0) return { block: at, strip: index, row: -left };
    }
  }
  return startPosition;
}

export function endPosition(state: State): ScrollPosition {
  return { block: blockCount(state.transcript), strip: 0, row: 0 };
}

export function isBefore(a: ScrollPosition, b: ScrollPosition): boolean {
  return a.block !== b.block ? a.block < b.block : a.strip !== b.strip ? a.strip < b.strip : a.row < b.row;
}

/** The first row when the last one is at the bottom. */
export function lastTopPosition(state: State): ScrollPosition {
  return moveBy(state, endPosition(state), -transcriptHeight(state));
}

/** The first row in view. A place that is no longer there, because a block was folded or has become shorter, is the nearest before it. */
export function topPosition(state: State): ScrollPosition {
  const last = lastTopPosition(state);
  if (state.top === "end") return last;
  const { block, strip: wanted } = state.top;
  const strips = stripsAt(state, block);
  const index = Math.min(wanted, Math.max(0, strips.length - 1));
  const rows = strips[index]?.().length ?? 1;
  const top = { block, strip: index, row: index < wanted ? 0 : Math.min(state.top.row, Math.max(0, rows - 1)) };
  return isBefore(top, last) ? top : last;
}

/** `drawn` says which row of an image is drawn there, of how many. */
export type VisibleRow = { block: Block; row: Row; drawn: { row: number; of: number } | null };

export function rowsInView(state: State): VisibleRow[] {
  const { block: from, strip: first, row } = topPosition(state);
  const wanted = transcriptHeight(state) + row;
  const shown: VisibleRow[] = [];
  for (let at = from, index = first; shown.length < wanted; at += 1, index = 0) {
    const block = blockAt(state.transcript, at);
    if (block === undefined) break;
    const image = imageStrip(state, block);
    for (const each of stripsAt(state, at).slice(index)) {
      if (shown.length >= wanted) break;
      const rows = each();
      rows.forEach((laid, nth) => shown.push({ block, row: laid, drawn: each === image ? { row: nth, of: rows.length } : null }));
    }
  }
  return shown.slice(row, wanted);
}
