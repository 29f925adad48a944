// Typing a message: what each key does to the draft, and what goes with every change of it.
import { moveByRow } from "../../kit/text/text-layout.ts";
import { insertText, recallEntry, type EditLine } from "../../kit/text/line-edit.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { composerPrompt } from "../layout/screen-layout.ts";
import { imageChip, imagePathIn, pasteChip, withoutChip, type Chip } from "./chips.ts";
import { undo, withUndo } from "./composer.ts";
import { menuFor, handleMenuKey } from "./menu.ts";
import { send } from "./send.ts";

export function typeKey(state: State, key: Key): UpdateResult {
  const { draft, composer } = state;
  const inMenu = handleMenuKey(state, key);
  if (inMenu !== null) return "complete" in inMenu ? setDraft(state, inMenu.complete) : inMenu;
  switch (key.name) {
    case "enter":
      return send(state);
    case "up":
    case "down":
      return moveOrRecall(state, key.name === "up" ? -1 : 1);
    // What terminals make of it.
    case "ctrl+_":
    case "ctrl+-":
    case "ctrl+/": {
      const back = undo(composer);
      return back === null ? step(withNotice(state, "nothing to take back")) : step({ ...state, ...back });
    }
    case "backspace":
      return setDraft(state, withoutChip(draft, composer.chips, "before") ?? applyEditKey(draft, key));
    case "delete":
      return setDraft(state, withoutChip(draft, composer.chips, "after") ?? applyEditKey(draft, key));
    default:
      return setDraft(state, applyEditKey(draft, key));
  }
}

/** The draft as a person left it: it can be taken back, and the word at the cursor may be completed. */
export function setDraft(state: State, draft: EditLine): UpdateResult {
  const composer = withUndo(state.composer, state.draft, draft);
  const recalled = draft.text === state.draft.text ? composer.recalled : null;
  return menuFor({ ...state, draft, composer: { ...composer, recalled } });
}

/** Text that is not typed letter by letter; a long one shows as a label. */
export function paste(state: State, text: string): UpdateResult {
  const path = imagePathIn(text);
  const typing: State = { ...state, mode: "insert" };
  if (path !== null) return step(typing, { type: "attach", path, text });
  const chip = pasteChip(text, state.composer.chips);
  return setDraft(withChip(typing, chip), insertText(state.draft, chip?.label ?? text));
}

/** An image that was found at a pasted path; without one the path is text. */
export function attach(state: State, { text, path }: { text: string; path: string | null }): UpdateResult {
  const chip = path === null ? null : imageChip(path, state.composer.chips);
  return setDraft(withChip(state, chip), insertText(state.draft, chip?.label ?? text));
}

function withChip(state: State, chip: Chip | null): State {
  return chip === null ? state : { ...state, composer: { ...state.composer, chips: [...state.composer.chips, chip] } };
}

function moveOrRecall(state: State, delta: -1 | 1): UpdateResult {
  const { draft, composer } = state;
  const moved = moveByRow({ prompt: composerPrompt, line: draft, columns: state.size.columns, delta });
  if (moved !== null) return step({ ...state, draft: moved });
  const waiting = state.queue.at(-1);
  if (delta < 0 && draft.text === "" && waiting !== undefined && state.session !== null)
    return step(state, { type: "take back", session: state.session.id, input: waiting.id });
  const next = recallEntry(composer.history, { line: draft, recalled: composer.recalled }, delta);
  if (next === null) return step(state);
  const { line, recalled } = next;
  const placed = recalled === null ? { ...state, draft: line } : withText(state, line.text);
  return step({ ...placed, composer: { ...placed.composer, recalled } });
}

/** A message that waited stands in the prompt again, before what has been typed since. */
export function restoreInput(state: State, { input, text }: { input: string; text: string | null }): UpdateResult {
  const queue = state.queue.filter(({ id }) => id !== input);
  if (text === null) return step(withNotice({ ...state, queue }, "the agent has that message already"));
  const { draft } = state;
  const placed = withText({ ...state, queue, mode: "insert" }, text);
  return draft.text === "" ? step(placed) : setDraft(placed, { ...placed.draft, text: `${placed.draft.text}\n${draft.text}` });
}

/** A message from before in the place of what was typed. */
export function withText(state: State, text: string): State {
  const chip = pasteChip(text, state.composer.chips);
  const shown = chip?.label ?? text;
  const draft = { text: shown, cursor: shown.length };
  const placed = withChip(state, chip);
  return { ...placed, draft, composer: { ...withUndo(placed.composer, state.draft, draft), menu: null } };
}
