// What each list to choose from is called, what it offers where that is known at once, and what choosing does.
import type { Bindings } from "../keys/bindings.ts";
import { screenCommands, type ScreenCommand } from "../keys/commands.ts";
import { withText } from "../composer/type.ts";
import { keysText } from "../keys/help.ts";
import { step, withNotice, type State, type UpdateResult } from "../model/state.ts";
import type { PickerItem, PickerKind } from "./picker.ts";

type PickerDefinition = {
  title: string;
  items?: (bindings: Bindings) => readonly PickerItem[];
  /** What may follow the words that are looked for; it goes with the choice. */
  suffix?: RegExp;
  choose: (state: State, item: PickerItem, suffix: string) => UpdateResult;
};

/** What has a name after the colon first; what only moves is at one's fingers anyway. */
const paletteCommands = screenCommands.toSorted((one, other) => Number(one.typed === undefined) - Number(other.typed === undefined));

export const pickerKinds: Record<PickerKind, PickerDefinition> = {
  palette: {
    title: "commands",
    items: (bindings) =>
      paletteCommands.map((command, at) => ({ id: String(at), label: command.summary, detail: keysText(command, bindings) })),
    choose: (state, { id }) => runOrAsk(state, paletteCommands[Number(id)]!),
  },
  models: {
    title: "models, with $ for a million tokens; add :high for an effort",
    suffix: /:[a-z]*$/,
    choose: chooseModel,
  },
  agents: {
    title: "who takes the turns",
    choose: (state, { id }) => step(state, { type: "agent", name: id }),
  },
  history: {
    title: "sent before in this project",
    choose: (state, { id }) => step(withText({ ...state, mode: "insert" }, state.composer.history[Number(id)] ?? "")),
  },
};

const efforts = ["low", "medium", "high", "xhigh", "max"];

/** What was typed behind a colon may also be part of the model's own name. */
function chooseModel(state: State, { id }: PickerItem, suffix: string): UpdateResult {
  const effort = suffix.slice(1);
  if (efforts.includes(effort)) return step(state, { type: "model", name: `${id}:${effort}` });
  if (effort === "" || id.includes(suffix)) return step(state, { type: "model", name: id });
  return step(withNotice(state, `no effort "${effort}": ${efforts.join(", ")}`, "error"));
}

/** What can't be done without an argument asks for it on the command line. */
function runOrAsk(state: State, command: ScreenCommand): UpdateResult {
  if (command.typed?.startsWith("<") !== true) return command.run(state, "");
  const text = `${command.name} `;
  return step({ ...state, mode: "command", commandLine: { text, cursor: text.length } });
}
