// A picker: a list that is filtered by typing (commands, models, agents, history). Pure.
import { visiblePart, layOutText } from "../../kit/text/text-layout.ts";
import { withText } from "../composer/type.ts";
import { screenCommands } from "../keys/commands.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import type { Bindings } from "../keys/bindings.ts";
import { keysText } from "../keys/help.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import { step, withNotice, type Key, type State, type UpdateResult } from "../model/state.ts";
import { wordFilter, choiceLines, drawBox, type Choice, type OverlayView, type OverlayArea } from "./box.ts";

export type PickerItem = Choice & {
  id: string;
  /** Text below the list while the item is chosen. */
  preview?: string;
  /** The current setting. The picker opens with this item chosen. */
  isCurrent?: boolean;
};

export type Picker = {
  kind: "picker";
  purpose: PickerKind;
  /** Null while the items load, and for the palette, whose items depend on the key bindings. */
  items: readonly PickerItem[] | null;
  filter: EditLine;
  index: number;
};

export type PickerKind = "palette" | "history" | "messages" | "models" | "agents";

type PickerDefinition = {
  /** From the longest form to the shortest. */
  title: string | readonly string[];
  /** A suffix of the filter that is passed to `choose` and not searched for. */
  suffix?: RegExp;
  choose: (state: State, item: PickerItem, suffix: string) => UpdateResult;
};

const pickerKinds: Record<PickerKind, PickerDefinition> = {
  palette: {
    title: "commands",
    choose: (state, { id }) => runOrPrompt(state, id),
  },
  models: {
    title: ["models, prices in $ per million tokens; add :high for an effort", "models; add :high for an effort"],
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
  messages: {
    title: ["go back to before a message; Enter forks there, files stay", "go back to before a message"],
    choose: (state, { id }) => step(state, { type: "go back", node: id }),
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

/** Runs a command. If it needs an argument, its name is put where the user types it. */
function runOrPrompt(state: State, name: string): UpdateResult {
  const command = screenCommands.find((candidate) => candidate.name === name);
  if (command?.typed?.startsWith("<") !== true) return command?.run(state, "") ?? step(state);
  if (state.bindings.preset === "plain") return step(withText({ ...state, mode: "insert" }, `/${name} `));
  const text = `${name} `;
  return step({ ...state, mode: "command", commandLine: { text, cursor: text.length } });
}

/** Commands that can be typed come first; the others only move the view. */
function paletteItems(bindings: Bindings): PickerItem[] {
  const commands = screenCommands.toSorted((a, b) => Number(a.typed === undefined) - Number(b.typed === undefined));
  return commands.flatMap((command) => {
    const keys = keysText(command, bindings);
    return keys === "" ? [] : [{ id: command.name, label: `${command.name} — ${command.summary}`, detail: keys }];
  });
}

function itemsOf({ items, purpose }: Picker, bindings: Bindings): readonly PickerItem[] | null {
  return purpose === "palette" ? paletteItems(bindings) : items;
}

const moves: Record<string, number> = { down: 1, "ctrl+n": 1, up: -1, "ctrl+p": -1, pagedown: 10, pageup: -10 };

export function handlePickerKey(state: State, picker: Picker, key: Key): UpdateResult {
  if (key.name === "escape") return step({ ...state, overlay: null });
  const items = matchingItems(picker, state.bindings);
  if (key.name === "enter") {
    const item = items[picker.index];
    const { suffix } = splitFilter(picker);
    return item === undefined ? step(state) : pickerKinds[picker.purpose].choose({ ...state, overlay: null }, item, suffix);
  }
  const delta = moves[key.name];
  if (delta !== undefined)
    return step({ ...state, overlay: { ...picker, index: Math.max(0, Math.min(items.length - 1, picker.index + delta)) } });
  return step({ ...state, overlay: { ...picker, filter: applyEditKey(picker.filter, key), index: 0 } });
}

/** Items that have every typed word. Items that start with the first word come first. */
function matchingItems(picker: Picker, bindings: Bindings): readonly PickerItem[] {
  const query = splitFilter(picker).query.trim();
  const matches = wordFilter(query);
  const [first = ""] = query.toLowerCase().split(/\s+/);
  const startsLater = ({ label }: PickerItem) => Number(!label.toLowerCase().startsWith(first));
  const items = (itemsOf(picker, bindings) ?? []).filter(({ label, detail }) => matches(`${label} ${detail}`));
  return items.toSorted((a, b) => startsLater(a) - startsLater(b));
}

/** The search text, and the suffix for `choose`. */
function splitFilter({ filter, purpose }: Picker): { query: string; suffix: string } {
  const [suffix = ""] = pickerKinds[purpose].suffix?.exec(filter.text) ?? [];
  return { query: filter.text.slice(0, filter.text.length - suffix.length), suffix };
}

/** Sets loaded items, unless another picker is open by now. */
export function withItems(state: State, purpose: PickerKind, items: readonly PickerItem[]): State {
  const { overlay } = state;
  if (overlay?.kind !== "picker" || overlay.purpose !== purpose) return state;
  const current = overlay.filter.text === "" ? items.findIndex(({ isCurrent }) => isCurrent === true) : 0;
  return { ...state, overlay: { ...overlay, items, index: Math.max(0, current) } };
}

export function pickerView(picker: Picker, { columns, height, bindings }: OverlayArea): OverlayView {
  const inner = columns - 4;
  const input = visiblePart(layOutText("> ", picker.filter, inner), 1);
  const items = matchingItems(picker, bindings);
  const preview = (items[picker.index]?.preview ?? "").split("\n").filter((line) => line !== "");
  const previewRows = Math.min(preview.length, Math.floor(height / 3));
  const listHeight = height - 3 - (previewRows === 0 ? 0 : previewRows + 1);
  const lines = choiceLines(items, picker.index, { columns: inner, height: listHeight });
  const list = itemsOf(picker, bindings) === null ? ["loading…"] : lines.length === 0 ? ["no match"] : lines;
  const previewLines = previewRows === 0 ? [] : ["─".repeat(inner), ...preview.slice(0, previewRows)];
  const rows = drawBox(pickerKinds[picker.purpose].title, [...input.rows, ...list, ...previewLines], columns);
  return { rows, cursor: { row: 1 + input.cursor.row, column: 2 + input.cursor.column } };
}
