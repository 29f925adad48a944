// Computes the visible rows of the transcript. Only visible blocks are laid out, however long the transcript is.
// Therefore a position is a block, a strip and a row, never a number of rows from the beginning.
import type { ImageData } from "../../protocol/tree/node.ts";
import type { Block } from "../model/blocks.ts";
import { cardStrips, opensByDefault } from "../cards/card.ts";
import { imageRows, imageSize } from "../layout/image-size.ts";
import { strip, type Strip } from "../cards/strips.ts";
import { accent } from "../layout/styles.ts";
import { plainLine, styled, type Row } from "../layout/wrap.ts";
import type { State } from "../model/state.ts";
import { blockAt, blockCount } from "../model/transcript.ts";
import { textColumns, transcriptHeight } from "../layout/screen-layout.ts";

export type ScrollPosition = { block: number; strip: number; row: number };

export function startOfBlock(block: number): ScrollPosition {
  return { block, strip: 0, row: 0 };
}

export function isOpen(state: State, block: Block): boolean {
  return (state.allOpen || opensByDefault(block)) !== state.toggled.has(block.id);
}

const gap: Strip = strip(() => [[]]);

/** The strips of a block, with an empty row before it, unless it and the block before it are folded calls. */
export function stripsAt(state: State, index: number): readonly Strip[] {
  const block = blockAt(state.transcript, index);
  if (block === undefined) return [];
  const card = cardStrips(block, textColumns(state), isOpen(state, block));
  const image = imageStrip(state, block);
  const label = block.by !== undefined && state.transcript.speakers.size > 1 ? [labelStrip(block.by)] : [];
  const strips = image === null ? [...label, ...card] : [...label, ...card, image];
  const previous = index === 0 ? undefined : blockAt(state.transcript, index - 1);
  return previous === undefined || (label.length === 0 && isFoldedCall(state, block) && isFoldedCall(state, previous))
    ? strips
    : [gap, ...strips];
}

const labels = new Map<string, Strip>();

/** The name of the speaker above an answer. The same strip is returned for the same name. */
function labelStrip(by: string): Strip {
  const label = labels.get(by) ?? strip(() => [[styled(plainLine(by, 60), accent)]]);
  labels.set(by, label);
  return label;
}

const maxBase64Chars = (8 * 1024 * 1024 * 4) / 3;
const blankRows = new Map<number, Strip>();

/** Empty rows for an image, below its description. The same strip is returned for the same height. */
function imageStrip(state: State, block: Block): Strip | null {
  const { canDraw, failed } = state.images;
  if (block.kind !== "image" || !canDraw || failed.has(block.id) || !isOpen(state, block)) return null;
  const size = block.image.base64.length > maxBase64Chars ? null : imageSize(block.image);
  if (size === null) return null;
  const rows = imageRows(size, { columns: textColumns(state), screenRows: state.size.rows });
  const blank = blankRows.get(rows) ?? strip(() => Array.from({ length: rows }, (): Row => []));
  blankRows.set(rows, blank);
  return blank;
}

function isFoldedCall(state: State, block: Block): boolean {
  return block.kind === "tool" && !isOpen(state, block);
}

/** Moves by rows: down, or up if negative. Stops at the start, or at the end after the last block. */
export function moveBy(state: State, from: ScrollPosition, rows: number): ScrollPosition {
  return rows < 0 ? moveUp(state, from, -rows) : moveDown(state, from, rows);
}

function moveDown(state: State, from: ScrollPosition, delta: number): ScrollPosition {
  let remaining = delta + from.row;
  for (const { block, strip, rows } of stripsFrom(state, from)) {
    if (remaining < rows.length) return { block, strip, row: remaining };
    remaining -= rows.length;
  }
  return endPosition(state);
}

/** The rows of each strip, from the strip of a position on. */
function* stripsFrom(state: State, from: ScrollPosition): Generator<{ block: number; strip: number; layOut: Strip; rows: readonly Row[] }> {
  for (let block = from.block, first = from.strip; block < blockCount(state.transcript); block += 1, first = 0) {
    const strips = stripsAt(state, block);
    for (let index = first; index < strips.length; index += 1) {
      const layOut = strips[index]!;
      yield { block, strip: index, layOut, rows: layOut() };
    }
  }
}

function moveUp(state: State, { block: firstBlock, strip: firstStrip, row }: ScrollPosition, delta: number): ScrollPosition {
  let remaining = delta - row;
  if (remaining <= 0) return { block: firstBlock, strip: firstStrip, row: -remaining };
  for (let block = firstBlock, end = firstStrip; block >= 0; block -= 1, end = Number.POSITIVE_INFINITY) {
    const strips = stripsAt(state, block);
    for (let index = Math.min(end, strips.length) - 1; index >= 0; index -= 1) {
      remaining -= strips[index]?.().length ?? 0;
      if (remaining <= 0) return { block, strip: index, row: -remaining };
    }
  }
  return startOfBlock(0);
}

export function endPosition(state: State): ScrollPosition {
  return startOfBlock(blockCount(state.transcript));
}

export function isBefore(a: ScrollPosition, b: ScrollPosition): boolean {
  return a.block !== b.block ? a.block < b.block : a.strip !== b.strip ? a.strip < b.strip : a.row < b.row;
}

/** The top position at which the last row is at the bottom of the view. */
export function lastTopPosition(state: State): ScrollPosition {
  return moveBy(state, endPosition(state), -transcriptHeight(state));
}

/** The first visible row. If it is gone, because a block was folded or got shorter, the nearest row before it. */
export function topPosition(state: State): ScrollPosition {
  const lastTop = lastTopPosition(state);
  if (state.top === "end") return lastTop;
  const { block, strip: oldStrip } = state.top;
  const strips = stripsAt(state, block);
  const index = Math.min(oldStrip, Math.max(0, strips.length - 1));
  const rows = strips[index]?.().length ?? 1;
  const top = { block, strip: index, row: index < oldStrip ? 0 : Math.min(state.top.row, Math.max(0, rows - 1)) };
  return isBefore(top, lastTop) ? top : lastTop;
}

/** `imageRow` is the row of an image that is drawn there, and the number of its rows. */
export type VisibleRow = { block: Block; row: Row; imageRow: { index: number; count: number } | null };

export function rowsInView(state: State): VisibleRow[] {
  const top = topPosition(state);
  const count = transcriptHeight(state) + top.row;
  const visible: VisibleRow[] = [];
  for (const { block: index, layOut, rows } of stripsFrom(state, top)) {
    const block = blockAt(state.transcript, index)!;
    const isImage = layOut === imageStrip(state, block);
    rows.forEach((row, y) => visible.push({ block, row, imageRow: isImage ? { index: y, count: rows.length } : null }));
    if (visible.length >= count) break;
  }
  return visible.slice(top.row, count);
}

/** An image of `rows` rows. `top` may be above the screen; `visibleRows` rows are visible, from row `firstVisible` of the screen. */
export type VisibleImage = { id: string; image: ImageData; top: number; rows: number; firstVisible: number; visibleRows: number };

export function visibleImages(rows: readonly Partial<VisibleRow>[]): VisibleImage[] {
  const images = new Map<string, VisibleImage>();
  rows.forEach(({ block, imageRow }, y) => {
    if (block?.kind !== "image" || imageRow == null) return;
    const { id, image } = block;
    const visible = images.get(id) ?? { id, image, top: y - imageRow.index, rows: imageRow.count, firstVisible: y, visibleRows: 0 };
    images.set(id, { ...visible, visibleRows: visible.visibleRows + 1 });
  });
  return [...images.values()];
}
