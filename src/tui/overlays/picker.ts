// A list to choose from by typing: the palette, models, sessions, agents. What a choice does stands in one table by its
// purpose, so that the list itself is data.
import { visiblePart, layOutText } from "../../kit/text/text-layout.ts";
import { applyEditKey } from "../keys/edit-keys.ts";
import type { EditLine } from "../../kit/text/line-edit.ts";
import type { Bindings } from "../keys/bindings.ts";
import { fit } from "../layout/wrap.ts";
import { step, type Key, type State, type UpdateResult } from "../model/state.ts";
import { drawBox, selectedStyle, windowAround, type BoxLine, type OverlayView, type OverlayArea } from "./box.ts";
import { pickerKinds } from "./picker-kinds.ts";

export type PickerItem = {
  id: string;
  label: string;
  /** Beside the label, fainter. */
  detail: string;
  /** Shown below the list while it is chosen. */
  preview?: string;
  /** What holds now: the list begins there. */
  isNow?: boolean;
};

export type Picker = {
  kind: "picker";
  purpose: PickerKind;
  /** Null while they are looked up, or where the purpose itself knows them. */
  items: readonly PickerItem[] | null;
  filter: EditLine;
  at: number;
};

export type PickerKind = "palette" | "history" | "models" | "agents";

const moves: Record<string, number> = { down: 1, "ctrl+n": 1, up: -1, "ctrl+p": -1, pagedown: 10, pageup: -10 };

export function handlePickerKey(state: State, picker: Picker, key: Key): UpdateResult {
  if (key.name === "escape") return step({ ...state, overlay: null });
  const items = matchingItems(picker, state.bindings);
  if (key.name === "enter") {
    const item = items[picker.at];
    const { suffix } = splitFilter(picker);
    return item === undefined ? step(state) : pickerKinds[picker.purpose].choose({ ...state, overlay: null }, item, suffix);
  }
  const by = moves[key.name];
  if (by !== undefined) return step({ ...state, overlay: { ...picker, at: Math.max(0, Math.min(items.length - 1, picker.at + by)) } });
  return step({ ...state, overlay: { ...picker, filter: applyEditKey(picker.filter, key), at: 0 } });
}

/** Every word typed must occur; those that begin with it come first. */
export function matchingItems(picker: Picker, bindings: Bindings): readonly PickerItem[] {
  const items = itemsOf(picker, bindings);
  const words = splitFilter(picker)
    .wanted.toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const [first] = words;
  if (items === null || first === undefined) return items ?? [];
  const found = items.filter(({ label, detail }) => words.every((word) => `${label} ${detail}`.toLowerCase().includes(word)));
  const begins = (item: PickerItem) => item.label.toLowerCase().startsWith(first);
  return [...found.filter(begins), ...found.filter((item) => !begins(item))];
}

/** What is looked for, and what goes with the choice. */
function splitFilter({ filter, purpose }: Picker): { wanted: string; suffix: string } {
  const [suffix = ""] = pickerKinds[purpose].suffix?.exec(filter.text) ?? [];
  return { wanted: filter.text.slice(0, filter.text.length - suffix.length), suffix };
}

/** What was looked up, unless the person is choosing something else by now. */
export function withItems(state: State, purpose: PickerKind, items: readonly PickerItem[]): State {
  const { overlay } = state;
  if (overlay?.kind !== "picker" || overlay.purpose !== purpose) return state;
  const now = overlay.filter.text === "" ? items.findIndex(({ isNow }) => isNow === true) : 0;
  return { ...state, overlay: { ...overlay, items, at: Math.max(0, now) } };
}

function itemsOf({ items, purpose }: Picker, bindings: Bindings): readonly PickerItem[] | null {
  return items ?? pickerKinds[purpose].items?.(bindings) ?? null;
}

export function pickerView(picker: Picker, { columns, height, bindings }: OverlayArea): OverlayView {
  const inner = columns - 4;
  const input = visiblePart(layOutText("> ", picker.filter, inner), 1);
  const items = matchingItems(picker, bindings);
  const preview = (items[picker.at]?.preview ?? "").split("\n").filter((line) => line !== "");
  const forPreview = Math.min(preview.length, Math.floor(height / 3));
  const { first, shown } = windowAround(items, picker.at, height - 3 - (forPreview === 0 ? 0 : forPreview + 1));
  const widest = (texts: string[]) => Math.max(0, ...texts.map((text) => Bun.stringWidth(text)));
  const room = Math.max(Math.floor(inner / 2), inner - 2 - widest(shown.map(({ detail }) => detail)));
  const labels = Math.min(room, widest(shown.map(({ label }) => label)));
  const lines = shown.map(({ label: whole, detail }, at): BoxLine => {
    const label = fit(whole, labels);
    const text = `${label}${" ".repeat(Math.max(0, labels - Bun.stringWidth(label)))}  ${detail}`;
    return first + at === picker.at ? { text: text.padEnd(inner), style: selectedStyle } : text;
  });
  const told = itemsOf(picker, bindings) === null ? ["looking…"] : lines.length === 0 ? ["nothing like that"] : lines;
  const below = forPreview === 0 ? [] : ["─".repeat(inner), ...preview.slice(0, forPreview)];
  const rows = drawBox(pickerKinds[picker.purpose].title, [...input.rows, ...told, ...below], columns);
  return { rows, cursor: { row: 1 + input.cursor.row, column: 2 + input.cursor.column } };
}
