// Enter: what was typed goes to the agent, to a turn that runs, to a shell (`!`) or to a command of the screen (`/`).
import { emptyLine } from "../../kit/line-edit.ts";
import { goOn } from "../commands.ts";
import { commandOfWord } from "../keymap.ts";
import { step, tell, type State, type Step } from "../state.ts";
import { expanded, imagesIn } from "./chips.ts";
import { remembered } from "./composer.ts";

export function send(state: State): Step {
  const { draft, composer, activity, session } = state;
  const text = expanded(draft.text, composer.chips).trim();
  if (text === "") return state.isInterrupted && activity === null ? goOn(state) : step(state);
  const ran = slashCommand(state);
  if (ran !== null) return ran;
  if (state.visit !== null && activity === null)
    return step(tell(state, "this is only watched: q in Normal mode goes back, :switch stays here"));
  const images = imagesIn(draft.text, composer.chips);
  const sent = leftPrompt(state, text);
  const remember = { type: "remember", text } as const;
  if (draft.text.startsWith("!")) {
    const command = text.slice(1).trim();
    if (command === "") return step(state);
    if (activity !== null) return step(tell(state, commandWaits(state)));
    return step({ ...sent, activity: "starting" }, { type: "execute", command, draft: text }, remember);
  }
  if (activity === null) return step({ ...sent, activity: "starting" }, { type: "start", prompt: text, images }, remember);
  if (session === null) return step(tell(state, "one moment: the turn is just starting"));
  if (images.length > 0) return step(tell(state, "a turn that runs is sent text; the image can go with the next message"));
  return step(sent, { type: "steer", session: session.id, text }, remember);
}

/** A command is a turn of its own, and a session takes one at a time. */
function commandWaits({ runner }: State): string {
  return `a turn runs: the command waits here, Enter again after it; ${runner === null ? "Ctrl+C" : ":cancel"} stops it`;
}

function leftPrompt(state: State, text: string): State {
  const { draft, composer } = state;
  const kept = remembered(composer, text);
  return {
    ...state,
    draft: emptyLine,
    top: "end",
    composer: { ...kept, undo: [], chips: [], menu: null, sent: { draft, chips: composer.chips } },
  };
}

/** `/model x` is `:model x`. What begins like a path, or after a space, is text; what is nearly a command is asked about. */
function slashCommand(state: State): Step | null {
  const [, word, argument = ""] = /^\/([a-z][a-z-]*)(?:\s+([^]*))?$/.exec(state.draft.text.trimEnd()) ?? [];
  if (word === undefined) return null;
  const command = commandOfWord(word);
  if ("run" in command && command.name === word) {
    const left = { ...state, draft: emptyLine, composer: { ...state.composer, undo: [], menu: null } };
    return command.run(left, argument.trim());
  }
  const near = "run" in command ? command.name : command.near;
  if (near === null) return null;
  return step(tell(state, `no command /${word}; did you mean /${near}? With a space before it, it is sent`, "error"));
}
