// Enter: what was typed goes to the agent, to a turn that runs, to a shell (`!`) or to a command of the screen (`/`).
import { emptyEditLine } from "../../kit/text/line-edit.ts";
import { continueTurn } from "../keys/commands.ts";
import { commandOfWord } from "../keys/keymap.ts";
import { step, withNotice, type State, type UpdateResult } from "../model/state.ts";
import { expandChips, imagesIn } from "./chips.ts";
import { addToHistory } from "./composer.ts";

export function send(state: State): UpdateResult {
  const { draft, composer, activity, session } = state;
  const text = expandChips(draft.text, composer.chips).trim();
  if (text === "") return state.isInterrupted && activity === null ? continueTurn(state) : step(state);
  const ran = slashCommand(state);
  if (ran !== null) return ran;
  if (state.visit !== null && activity === null)
    return step(withNotice(state, "this is only watched: q in Normal mode goes back, :switch stays here"));
  const images = imagesIn(draft.text, composer.chips);
  const sent = leftPrompt(state, text);
  const remember = { type: "remember", text } as const;
  if (draft.text.startsWith("!")) {
    const command = text.slice(1).trim();
    if (command === "") return step(state);
    if (activity !== null) return step(withNotice(state, commandWaits(state)));
    return step({ ...sent, activity: "starting" }, { type: "execute", command, draft: text }, remember);
  }
  if (activity === null) return step({ ...sent, activity: "starting" }, { type: "start", prompt: text, images }, remember);
  if (session === null) return step(withNotice(state, "one moment: the turn is just starting"));
  if (images.length > 0) return step(withNotice(state, "a turn that runs is sent text; the image can go with the next message"));
  return step(sent, { type: "steer", session: session.id, text }, remember);
}

/** A command is a turn of its own, and a session takes one at a time. */
function commandWaits({ runner }: State): string {
  return `a turn runs: the command waits here, Enter again after it; ${runner === null ? "Ctrl+C" : ":cancel"} stops it`;
}

function leftPrompt(state: State, text: string): State {
  const { draft, composer } = state;
  const kept = addToHistory(composer, text);
  return {
    ...state,
    draft: emptyEditLine,
    top: "end",
    composer: { ...kept, undo: [], chips: [], menu: null, sent: { draft, chips: composer.chips } },
  };
}

/** `/model x` is `:model x`. What begins like a path, or after a space, is text; what is nearly a command is asked about. */
function slashCommand(state: State): UpdateResult | null {
  const [, word, argument = ""] = /^\/([a-z][a-z-]*)(?:\s+([^]*))?$/.exec(state.draft.text.trimEnd()) ?? [];
  if (word === undefined) return null;
  const command = commandOfWord(word);
  if ("run" in command && command.name === word) {
    const left = { ...state, draft: emptyEditLine, composer: { ...state.composer, undo: [], menu: null } };
    return command.run(left, argument.trim());
  }
  const near = "run" in command ? command.name : command.near;
  if (near === null) return null;
  return step(withNotice(state, `no command /${word}; did you mean /${near}? With a space before it, it is sent`, "error"));
}
