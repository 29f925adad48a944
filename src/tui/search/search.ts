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
  found: { place: ScrollPosition; block: number; of: number } | null;
  /** Whether the words stand out. */
  isShown: boolean;
  /** What was in view, and which blocks were open, when it began. */
  before: Pick<State, "top" | "focus" | "toggled">;
};

export function beginSearch(state: State): State {
  const { top, focus, toggled } = state;
  return { ...state, mode: "search", search: { line: emptyEditLine, found: null, isShown: true, before: { top, focus, toggled } } };
}

export function searchKey(state: State, search: Search, key: Key): UpdateResult {
  if (key.name === "escape" || (key.name === "backspace" && search.line.text === "")) return step(leaveSearch(state, search));
  if (key.name !== "enter") return step(runSearch(state, search, applyEditKey(search.line, key)));
  if (search.line.text === "") return step(leaveSearch(state, search));
  if (search.found !== null) return step({ ...state, mode: "normal" });
  return step(withNotice(leaveSearch(state, search), `nothing has "${search.line.text}"`));
}

function leaveSearch(state: State, { before }: Search): State {
  return { ...state, ...before, mode: "normal", search: null };
}

/** The nearest from where one was: first downwards, then up. */
export function runSearch(state: State, search: Search, line: EditLine): State {
  const origin: State = { ...state, ...search.before, search: { ...search, line, found: null } };
  const pattern = patternOf(line.text);
  if (pattern === null) return origin;
  const blocks = findBlocks(origin, line.text);
  const top = topPosition(origin);
  const below = blocks.findIndex((block) => block >= top.block);
  const candidates = below < 0 ? [] : blocks.slice(below, below + 2);
  for (const block of candidates) {
    const place = rowsIn(origin, block, pattern).find((row) => !isBefore(row, top));
    if (place !== undefined) return arrived(origin, blocks, place);
  }
  const last = blocks.findLast((block) => block <= top.block) ?? blocks.at(-1);
  const place = last === undefined ? undefined : rowsIn(origin, last, pattern).at(-1);
  return place === undefined ? origin : arrived(origin, blocks, place);
}

/** To the next row with the words, or to the one before; around the end with a word about it. */
export function searchNext(state: State, by: -1 | 1): State {
  const { search } = state;
  const pattern = patternOf(search?.line.text ?? "");
  if (search === null || pattern === null) return withNotice(state, "nothing was searched for yet: / begins");
  const blocks = findBlocks(state, search.line.text);
  if (blocks.length === 0) return withNotice(state, `nothing has "${search.line.text}" any more`);
  const now = search.found?.place ?? topPosition(state);
  const inBlock = blocks.includes(now.block) ? rowsIn(state, now.block, pattern) : [];
  const onward = by > 0 ? inBlock.find((row) => isBefore(now, row)) : inBlock.findLast((row) => isBefore(row, now));
  if (onward !== undefined) return arrived(state, blocks, onward);
  const next = by > 0 ? blocks.find((block) => block > now.block) : blocks.findLast((block) => block < now.block);
  const block = next ?? (by > 0 ? blocks[0]! : blocks.at(-1)!);
  const rows = rowsIn(state, block, pattern);
  const place = (by > 0 ? rows[0] : rows.at(-1))!;
  const there = arrived(state, blocks, place);
  return next === undefined ? withNotice(there, by > 0 ? "on from the beginning" : "on from the end") : there;
}

function rowsIn(state: State, block: number, pattern: RegExp): ScrollPosition[] {
  return findRows(withOpened(state, block), block, pattern);
}

/** A folded block with the words is open as long as one is there. */
function withOpened(state: State, at: number): State {
  const toggled = state.search?.before.toggled ?? state.toggled;
  const block = blockAt(state.transcript, at);
  if (block === undefined || isOpen({ ...state, toggled }, block)) return { ...state, toggled };
  const changed = new Set(toggled);
  if (!changed.delete(block.id)) changed.add(block.id);
  return { ...state, toggled: changed };
}

function arrived(state: State, blocks: readonly number[], position: ScrollPosition): State {
  const { search } = state;
  if (search === null) return state;
  const found = { place: position, block: blocks.indexOf(position.block) + 1, of: blocks.length };
  const focus = blockAt(state.transcript, position.block)?.id ?? null;
  return bringIntoView({ ...withOpened(state, position.block), focus, search: { ...search, found, isShown: true } }, position);
}
