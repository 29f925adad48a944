// Handles Enter: sends the unsent message to the agent, to the running turn, to a shell (`!`) or to a screen command (`/`).
import { oneLine } from "../../kit/text/cut-text.ts";
import { slashNameOf } from "../../protocol/api/slash-commands.ts";
import { emptyEditLine } from "../../kit/text/line-edit.ts";
import { continueTurn } from "../keys/command-actions.ts";
import { hintFor } from "../keys/hint.ts";
import { commandOfWord } from "../keys/keymap.ts";
import { step, withNotice, type State, type UpdateResult } from "../model/state.ts";
import { expandChips, imagesIn } from "./chips.ts";
import { emptyComposer } from "./composer.ts";

const maxHistory = 1000;

export function send(state: State): UpdateResult {
  const { unsent, composer, activity, session } = state;
  const text = expandChips(unsent.text, composer.chips).trim();
  if (text === "") return state.isInterrupted && activity === null ? continueTurn(state) : step(state);
  const result = runSlashCommand(state);
  if (result !== null) return result;
  const leaving = state.bindings.preset === "vi" ? "Esc, then q, goes back" : "Esc goes back";
  if (state.visit !== null && activity === null)
    return step(withNotice(state, `this session is only watched; ${hintFor(state.bindings, "switch")} goes to it; ${leaving}`));
  const images = imagesIn(unsent.text, composer.chips);
  const sent = clearPrompt(state, text);
  const addToHistory = { type: "add to history", text } as const;
  if (unsent.text.startsWith("!")) {
    const command = text.slice(1).trim();
    if (command === "") return step(state);
    // A shell command is a turn, and a session runs one turn at a time.
    const stopKey = state.runner === null ? "Ctrl+C" : hintFor(state.bindings, "cancel");
    if (activity !== null) return step(withNotice(state, `a turn is running: press Enter again when it has ended; ${stopKey} stops it`));
    return step({ ...sent, activity: "starting" }, { type: "execute", command, unsent: text }, addToHistory);
  }
  if (activity === null) return step({ ...sent, activity: "starting" }, { type: "start", prompt: text, images }, addToHistory);
  if (session === null) return step(withNotice(state, "the turn is starting; press Enter again"));
  if (images.length > 0) return step(withNotice(state, "a running turn takes only text; send the image with the next message"));
  return step(sent, { type: "steer", session: session.id, text, orStart: state.visit === null }, addToHistory);
}

function clearPrompt(state: State, text: string): State {
  const { unsent, composer } = state;
  const history = composer.history.at(-1) === text ? composer.history : [...composer.history, text].slice(-maxHistory);
  const sent = { message: unsent, chips: composer.chips };
  return { ...state, unsent: emptyEditLine, top: "end", composer: { ...emptyComposer, history, sent } };
}

/** Runs `/model x` like `:model x`. Null for text: a path, or a slash after a space. An unknown command is never sent. */
function runSlashCommand(state: State): UpdateResult | null {
  const [, word, argument = ""] = /^\/([\w?-]+)(?:\s+([^]*))?$/.exec(state.unsent.text.trimEnd()) ?? [];
  if (word === undefined) return null;
  const command = commandOfWord(word.toLowerCase());
  if ("run" in command && command.name === slashNameOf(word.toLowerCase())) {
    const next = { ...state, unsent: emptyEditLine, composer: { ...state.composer, undo: [], menu: null } };
    return command.run(next, argument.trim());
  }
  const nearest = "run" in command ? command.name : command.nearest;
  const hint = nearest === null ? "/help lists all." : `did you mean /${nearest}?`;
  return step(withNotice(state, `no command /${oneLine(word, 30)}; ${hint} A space before it sends it as text`, "error"));
}
