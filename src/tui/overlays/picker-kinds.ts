// The kinds of pickers: title, items (if they need no Api call), and the action of a choice.
import type { Bindings } from "../keys/bindings.ts";
import { screenCommands, type ScreenCommand } from "../keys/commands.ts";
import { withText } from "../composer/type.ts";
import { keysText } from "../keys/help.ts";
import { step, withNotice, type State, type UpdateResult } from "../model/state.ts";
import type { PickerItem, PickerKind } from "./picker.ts";

type PickerDefinition = {
  title: string;
  items?: (bindings: Bindings) => readonly PickerItem[];
  /** A suffix of the filter that is passed to `choose` and not searched for. */
  suffix?: RegExp;
  choose: (state: State, item: PickerItem, suffix: string) => UpdateResult;
};

/** Commands that can be typed come first; the others only move the view. */
const paletteCommands = screenCommands.toSorted((a, b) => Number(a.typed === undefined) - Number(b.typed === undefined));

export const pickerKinds: Record<PickerKind, PickerDefinition> = {
  palette: {
    title: "commands",
    items: (bindings) =>
      paletteCommands.map((command, index) => ({ id: String(index), label: command.summary, detail: keysText(command, bindings) })),
    choose: (state, { id }) => runOrPrompt(state, paletteCommands[Number(id)]!),
  },
  models: {
    title: "models, prices in $ per million tokens; add :high for an effort",
    suffix: /:[a-z]*$/,
    choose: chooseModel,
  },
  agents: {
    title: "agents",
    choose: (state, { id }) => step(state, { type: "agent", name: id }),
  },
  history: {
    title: "messages sent in this project",
    choose: (state, { id }) => step(withText({ ...state, mode: "insert" }, state.composer.history[Number(id)] ?? "")),
  },
};

const efforts = ["low", "medium", "high", "xhigh", "max"];

/** The text after a colon may be an effort, or part of the model's name. */
function chooseModel(state: State, { id }: PickerItem, suffix: string): UpdateResult {
  const effort = suffix.slice(1);
  if (efforts.includes(effort)) return step(state, { type: "model", name: `${id}:${effort}` });
  if (effort === "" || id.includes(suffix)) return step(state, { type: "model", name: id });
  return step(withNotice(state, `no effort "${effort}": ${efforts.join(", ")}`, "error"));
}

/** Runs a command. If it needs an argument, opens the command line with its name. */
function runOrPrompt(state: State, command: ScreenCommand): UpdateResult {
  if (command.typed?.startsWith("<") !== true) return command.run(state, "");
  const text = `${command.name} `;
  return step({ ...state, mode: "command", commandLine: { text, cursor: text.length } });
}
