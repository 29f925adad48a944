// `/` in Normal mode: the transcript is searched while one types, Enter stays where it was found, n and N go on, Esc
// goes back to where one was.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { bringIntoView } from "../model/scroll.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { blockAt } from "../model/transcript.ts";
import { isBefore, isOpen, topPosition, type ScrollPosition } from "../views/window.ts";
import { findBlocks, patternOf, findRows } from "./find.ts";

export type Search = {
  line: EditLine;
  /** The row that was found last, and which of how many blocks with the words it is in. */
  match: { position: ScrollPosition; block: number; total: number } | null;
  /** Whether the words stand out. */
  isShown: boolean;
  /** What was in view, and which blocks were open, when it began. */
  before: Pick<State, "top" | "focus" | "toggled">;
};

export function beginSearch(state: State): State {
  const { top, focus, toggled } = state;
  return { ...state, mode: "search", search: { line: emptyEditLine, match: null, isShown: true, before: { top, focus, toggled } } };
}

export function searchKey(state: State, search: Search, key: Key): UpdateResult {
  if (key.name === "escape" || (key.name === "backspace" && search.line.text === "")) return step(leaveSearch(state, search));
  if (key.name !== "enter") return step(runSearch(state, search, applyEditKey(search.line, key)));
  if (search.line.text === "") return step(leaveSearch(state, search));
  if (search.match !== null) return step({ ...state, mode: "normal" });
  return step(withNotice(leaveSearch(state, search), `no match for "${search.line.text}"`));
}

function leaveSearch(state: State, { before }: Search): State {
  return { ...state, ...before, mode: "normal", search: null };
}

/** The nearest from where one was: first downwards, then up. */
export function runSearch(state: State, search: Search, line: EditLine): State {
  const origin: State = { ...state, ...search.before, search: { ...search, line, match: null } };
  const pattern = patternOf(line.text);
  if (pattern === null) return origin;
  const blocks = findBlocks(origin, line.text);
  const top = topPosition(origin);
  const below = blocks.findIndex((block) => block >= top.block);
  const candidates = below < 0 ? [] : blocks.slice(below, below + 2);
  for (const block of candidates) {
    const position = rowsIn(origin, block, pattern).find((row) => !isBefore(row, top));
    if (position !== undefined) return arrived(origin, blocks, position);
  }
  const last = blocks.findLast((block) => block <= top.block) ?? blocks.at(-1);
  const position = last === undefined ? undefined : rowsIn(origin, last, pattern).at(-1);
  return position === undefined ? origin : arrived(origin, blocks, position);
}

/** To the next row with the words, or to the one before; around the end with a word about it. */
export function searchNext(state: State, delta: -1 | 1): State {
  const { search } = state;
  const pattern = patternOf(search?.line.text ?? "");
  if (search === null || pattern === null) return withNotice(state, "nothing was searched for yet: / begins");
  const blocks = findBlocks(state, search.line.text);
  if (blocks.length === 0) return withNotice(state, `no more matches for "${search.line.text}"`);
  const now = search.match?.position ?? topPosition(state);
  const inBlock = blocks.includes(now.block) ? rowsIn(state, now.block, pattern) : [];
  const onward = delta > 0 ? inBlock.find((row) => isBefore(now, row)) : inBlock.findLast((row) => isBefore(row, now));
  if (onward !== undefined) return arrived(state, blocks, onward);
  const next = delta > 0 ? blocks.find((block) => block > now.block) : blocks.findLast((block) => block < now.block);
  const block = next ?? (delta > 0 ? blocks[0]! : blocks.at(-1)!);
  const rows = rowsIn(state, block, pattern);
  const position = (delta > 0 ? rows[0] : rows.at(-1))!;
  const there = arrived(state, blocks, position);
  return next === undefined ? withNotice(there, delta > 0 ? "on from the beginning" : "on from the end") : there;
}

function rowsIn(state: State, block: number, pattern: RegExp): ScrollPosition[] {
  return findRows(withOpened(state, block), block, pattern);
}

/** A folded block with the words is open as long as one is there. */
function withOpened(state: State, blockIndex: number): State {
  const toggled = state.search?.before.toggled ?? state.toggled;
  const block = blockAt(state.transcript, blockIndex);
  if (block === undefined || isOpen({ ...state, toggled }, block)) return { ...state, toggled };
  const changed = new Set(toggled);
  if (!changed.delete(block.id)) changed.add(block.id);
  return { ...state, toggled: changed };
}

function arrived(state: State, blocks: readonly number[], position: ScrollPosition): State {
  const { search } = state;
  if (search === null) return state;
  const found = { position: position, block: blocks.indexOf(position.block) + 1, total: blocks.length };
  const focus = blockAt(state.transcript, position.block)?.id ?? null;
  return bringIntoView({ ...withOpened(state, position.block), focus, search: { ...search, match: found, isShown: true } }, position);
}
