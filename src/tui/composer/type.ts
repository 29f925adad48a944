// Handles keys and pastes in the composer. Every change of the unsent message updates undo, history and the menu.
import { moveByRow } from "../../kit/text/text-layout.ts";
import { insertText, recallEntry, type EditLine } from "../../kit/text/line-edit.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { composerPrompt } from "../layout/screen-layout.ts";
import { imageChip, imagePathIn, pasteChip, withoutChip, type Chip } from "./chips.ts";
import { withUndo } from "./composer.ts";
import { menuFor, handleMenuKey } from "./menu.ts";
import { send } from "./send.ts";

export function typeKey(state: State, key: Key): UpdateResult {
  const { unsent, composer } = state;
  const menuResult = handleMenuKey(state, key);
  if (menuResult !== null) return "complete" in menuResult ? setUnsent(state, menuResult.complete) : menuResult;
  switch (key.name) {
    case "enter":
      return endsWithBackslash(unsent) ? setUnsent(state, insertText(applyEditKey(unsent, backspace), "\n")) : send(state);
    case "up":
    case "down":
      return moveOrRecall(state, key.name === "up" ? -1 : 1);
    // Terminals send Ctrl+_ as any of these.
    case "ctrl+_":
    case "ctrl+-":
    case "ctrl+/": {
      const previous = composer.undo.at(-1);
      if (previous === undefined) return step(withNotice(state, "nothing to undo"));
      return step({ ...state, unsent: previous, composer: { ...composer, undo: composer.undo.slice(0, -1), recalled: null } });
    }
    case "backspace":
      return setUnsent(state, withoutChip(unsent, composer.chips, "before") ?? applyEditKey(unsent, key));
    case "ctrl+d":
    case "delete":
      return setUnsent(state, withoutChip(unsent, composer.chips, "after") ?? applyEditKey(unsent, { name: "delete", text: "" }));
    default:
      return setUnsent(state, applyEditKey(unsent, key));
  }
}

const backspace: Key = { name: "backspace", text: "" };

/** A backslash before the cursor and Enter insert a line break, as in a shell. Two backslashes are text. */
function endsWithBackslash({ text, cursor }: EditLine): boolean {
  return /(?<!\\)(\\\\)*\\$/.test(text.slice(0, cursor));
}

/** Sets the unsent message after an edit: adds an undo step and updates the menu. */
export function setUnsent(state: State, unsent: EditLine): UpdateResult {
  const composer = withUndo(state.composer, state.unsent, unsent);
  const recalled = unsent.text === state.unsent.text ? composer.recalled : null;
  return menuFor({ ...state, unsent, composer: { ...composer, recalled } });
}

/** Inserts pasted text. A long one becomes a chip, and the path of an image is looked up first. */
export function paste(state: State, text: string): UpdateResult {
  const path = imagePathIn(text);
  const typing: State = { ...state, mode: "insert" };
  if (path !== null) return step(typing, { type: "attach", path, text });
  const chip = pasteChip(text, state.composer.chips);
  return setUnsent(withChip(typing, chip), insertText(state.unsent, chip?.label ?? text));
}

/** Inserts an attached image as a chip, or the pasted path as text if `path` is null. */
export function attach(state: State, { text, path }: { text: string; path: string | null }): UpdateResult {
  const chip = path === null ? null : imageChip(path, state.composer.chips);
  return setUnsent(withChip(state, chip), insertText(state.unsent, chip?.label ?? text));
}

function withChip(state: State, chip: Chip | null): State {
  return chip === null ? state : { ...state, composer: { ...state.composer, chips: [...state.composer.chips, chip] } };
}

function moveOrRecall(state: State, delta: -1 | 1): UpdateResult {
  const { unsent, composer } = state;
  const moved = moveByRow({ prompt: composerPrompt, line: unsent, columns: state.size.columns, delta });
  if (moved !== null) return step({ ...state, unsent: moved });
  const lastQueued = state.queue.at(-1);
  if (delta < 0 && unsent.text === "" && lastQueued !== undefined && state.session !== null)
    return step(state, { type: "take back", session: state.session.id, input: lastQueued.id });
  const next = recallEntry(composer.history, { line: unsent, recalled: composer.recalled }, delta);
  if (next === null) return step(state);
  const { line, recalled } = next;
  const placed = recalled === null ? { ...state, unsent: line } : withText(state, line.text);
  return step({ ...placed, composer: { ...placed.composer, recalled } });
}

/** Puts a withdrawn message back into the prompt, before the text typed since. */
export function restoreInput(state: State, { input, text }: { input: string; text: string | null }): UpdateResult {
  const queue = state.queue.filter(({ id }) => id !== input);
  if (text === null) return step(withNotice({ ...state, queue }, "the agent already has that message"));
  const { unsent } = state;
  const placed = withText({ ...state, queue, mode: "insert" }, text);
  return unsent.text === "" ? step(placed) : setUnsent(placed, { ...placed.unsent, text: `${placed.unsent.text}\n${unsent.text}` });
}

/** Replaces the unsent message by an earlier message. */
export function withText(state: State, text: string): State {
  const chip = pasteChip(text, state.composer.chips);
  const label = chip?.label ?? text;
  const unsent = { text: label, cursor: label.length };
  const placed = withChip(state, chip);
  return { ...placed, unsent, composer: { ...withUndo(placed.composer, state.unsent, unsent), menu: null } };
}
