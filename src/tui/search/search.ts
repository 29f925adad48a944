// Search in the transcript with `/`: it searches while the user types. Enter stays at the match, n and N go to the next
// and previous one, Esc goes back. Pure.
import { emptyEditLine, type EditLine } from "../../kit/text/line-edit.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { bringIntoView } from "../model/scroll.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { blockAt } from "../model/transcript.ts";
import { isBefore, isOpen, topPosition, type ScrollPosition } from "../views/window.ts";
import { findBlocks, patternOf, findRows } from "./find.ts";

export type Search = {
  line: EditLine;
  /** The current match: its row, and the number of its block among all matching blocks. */
  match: { position: ScrollPosition; block: number; total: number } | null;
  /** Whether matches are highlighted. */
  isShown: boolean;
  /** The view and the open blocks at the start of the search. */
  before: Pick<State, "top" | "focus" | "toggled">;
};

/** With words, goes to their first match. */
export function beginSearch(state: State, words = ""): State {
  const { top, focus, toggled } = state;
  const search: Search = { line: emptyEditLine, match: null, isShown: true, before: { top, focus, toggled } };
  const begun: State = { ...state, mode: "search", search };
  return words === "" ? begun : runSearch(begun, search, { text: words, cursor: words.length });
}

/** With the plain preset the search stays open until Esc: Enter and Down go to the next match, Up to the previous one. */
export function searchKey(state: State, search: Search, key: Key): UpdateResult {
  const delta = state.bindings.preset === "plain" && search.line.text !== "" ? plainMoves[key.name] : undefined;
  if (delta !== undefined) return step(searchNext(state, delta));
  if (key.name === "escape" || (key.name === "backspace" && search.line.text === "")) return step(leaveSearch(state, search));
  if (key.name !== "enter") return step(runSearch(state, search, applyEditKey(search.line, key)));
  if (search.line.text === "") return step(leaveSearch(state, search));
  if (search.match !== null) return step({ ...state, mode: "normal" });
  return step(withNotice(leaveSearch(state, search), `no match for "${search.line.text}"`));
}

const plainMoves: Record<string, -1 | 1> = { enter: 1, down: 1, up: -1 };

/** With the plain preset a match stays in view, because Esc is the only way to end the search. */
function leaveSearch(state: State, { before, match }: Search): State {
  if (state.bindings.preset === "vi") return { ...state, ...before, mode: "normal", search: null };
  return match === null ? { ...state, ...before, mode: "insert", search: null } : { ...state, mode: "insert", search: null };
}

/** Goes to the nearest match: first downwards from the start of the search, then upwards. */
export function runSearch(state: State, search: Search, line: EditLine): State {
  const origin: State = { ...state, ...search.before, search: { ...search, line, match: null } };
  const pattern = patternOf(line.text);
  if (pattern === null) return origin;
  const blocks = findBlocks(origin, line.text);
  const top = topPosition(origin);
  const firstBelow = blocks.findIndex((block) => block >= top.block);
  const candidates = firstBelow < 0 ? [] : blocks.slice(firstBelow, firstBelow + 2);
  for (const block of candidates) {
    const position = rowsIn(origin, block, pattern).find((row) => !isBefore(row, top));
    if (position !== undefined) return withMatch(origin, blocks, position);
  }
  const nearestAbove = blocks.findLast((block) => block <= top.block) ?? blocks.at(-1);
  const position = nearestAbove === undefined ? undefined : rowsIn(origin, nearestAbove, pattern).at(-1);
  return position === undefined ? origin : withMatch(origin, blocks, position);
}

/** Goes to the next or previous matching row. Wraps around at the ends, with a notice. */
export function searchNext(state: State, delta: -1 | 1): State {
  const { search } = state;
  const pattern = patternOf(search?.line.text ?? "");
  if (search === null || pattern === null) return withNotice(state, "no search yet; press / to search");
  const blocks = findBlocks(state, search.line.text);
  if (blocks.length === 0) return withNotice(state, `no more matches for "${search.line.text}"`);
  const current = search.match?.position ?? topPosition(state);
  const rowsInBlock = blocks.includes(current.block) ? rowsIn(state, current.block, pattern) : [];
  const nextInBlock = delta > 0 ? rowsInBlock.find((row) => isBefore(current, row)) : rowsInBlock.findLast((row) => isBefore(row, current));
  if (nextInBlock !== undefined) return withMatch(state, blocks, nextInBlock);
  const next = delta > 0 ? blocks.find((block) => block > current.block) : blocks.findLast((block) => block < current.block);
  const block = next ?? (delta > 0 ? blocks[0]! : blocks.at(-1)!);
  const rows = rowsIn(state, block, pattern);
  const position = (delta > 0 ? rows[0] : rows.at(-1))!;
  const moved = withMatch(state, blocks, position);
  return next === undefined ? withNotice(moved, delta > 0 ? "continued from the beginning" : "continued from the end") : moved;
}

function rowsIn(state: State, block: number, pattern: RegExp): ScrollPosition[] {
  return findRows(withOpened(state, block), block, pattern);
}

/** Opens the block of the current match, and folds the block of the previous one again. */
function withOpened(state: State, blockIndex: number): State {
  const toggled = state.search?.before.toggled ?? state.toggled;
  const block = blockAt(state.transcript, blockIndex);
  if (block === undefined || isOpen({ ...state, toggled }, block)) return { ...state, toggled };
  const changed = new Set(toggled);
  if (!changed.delete(block.id)) changed.add(block.id);
  return { ...state, toggled: changed };
}

function withMatch(state: State, blocks: readonly number[], position: ScrollPosition): State {
  const { search } = state;
  if (search === null) return state;
  const found = { position, block: blocks.indexOf(position.block) + 1, total: blocks.length };
  const focus = blockAt(state.transcript, position.block)?.id ?? null;
  return bringIntoView({ ...withOpened(state, position.block), focus, search: { ...search, match: found, isShown: true } }, position);
}
