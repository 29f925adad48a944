// What each list to choose from is called, what it offers where that is known at once, and what choosing does.
import type { Bindings } from "../bindings.ts";
import { screenCommands, type ScreenCommand } from "../commands.ts";
import { withText } from "../composer/type.ts";
import { waysTo } from "../help.ts";
import { step, type State, type Step } from "../state.ts";
import type { Item, Purpose } from "./picker.ts";

type Choosing = { title: string; items?: (bindings: Bindings) => readonly Item[]; choose: (state: State, item: Item) => Step };

export const purposes: Record<Purpose, Choosing> = {
  palette: {
    title: "commands",
    items: (bindings) =>
      screenCommands.map((command, at) => ({ id: String(at), label: command.summary, detail: waysTo(command, bindings) })),
    choose: (state, { id }) => runOrAsk(state, screenCommands[Number(id)]!),
  },
  history: {
    title: "sent before in this project",
    choose: (state, { id }) => step(withText({ ...state, mode: "insert" }, state.composer.history[Number(id)] ?? "")),
  },
};

/** What can't be done without an argument asks for it on the command line. */
function runOrAsk(state: State, command: ScreenCommand): Step {
  if (command.typed?.startsWith("<") !== true) return command.run(state, "");
  const text = `${command.name} `;
  return step({ ...state, mode: "command", commandLine: { text, cursor: text.length } });
}
