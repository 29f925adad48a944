// A list to choose from by typing: the palette, models, sessions, agents. What a choice does stands in one table by its
// purpose, so that the list itself is data.
import { inView, layOut } from "../../kit/lay-out.ts";
import { edited } from "../edit-keys.ts";
import type { Line } from "../../kit/line-edit.ts";
import type { Bindings } from "../bindings.ts";
import { step, type Key, type State, type Step } from "../state.ts";
import { boxed, chosen, windowAround, type BoxLine, type OverlayView, type Room } from "./box.ts";
import { purposes } from "./purposes.ts";

export type Item = {
  id: string;
  label: string;
  /** Beside the label, fainter. */
  detail: string;
  /** Shown below the list while it is chosen. */
  preview?: string;
};

export type Picker = {
  kind: "picker";
  purpose: Purpose;
  /** Null while they are looked up, or where the purpose itself knows them. */
  items: readonly Item[] | null;
  filter: Line;
  at: number;
};

export type Purpose = "palette" | "history";

const moves: Record<string, number> = { down: 1, "ctrl+n": 1, up: -1, "ctrl+p": -1, pagedown: 10, pageup: -10 };

export function pressInPicker(state: State, picker: Picker, key: Key): Step {
  if (key.name === "escape") return step({ ...state, overlay: null });
  const items = matching(picker, state.bindings);
  if (key.name === "enter") {
    const item = items[picker.at];
    return item === undefined ? step(state) : purposes[picker.purpose].choose({ ...state, overlay: null }, item);
  }
  const by = moves[key.name];
  if (by !== undefined) return step({ ...state, overlay: { ...picker, at: Math.max(0, Math.min(items.length - 1, picker.at + by)) } });
  return step({ ...state, overlay: { ...picker, filter: edited(picker.filter, key), at: 0 } });
}

/** Every word typed must occur; those that begin with it come first. */
export function matching(picker: Picker, bindings: Bindings): readonly Item[] {
  const { filter } = picker;
  const items = itemsOf(picker, bindings);
  const words = filter.text
    .toLowerCase()
    .split(/\s+/)
    .filter((word) => word !== "");
  const [first] = words;
  if (items === null || first === undefined) return items ?? [];
  const found = items.filter(({ label, detail }) => words.every((word) => `${label} ${detail}`.toLowerCase().includes(word)));
  const begins = (item: Item) => item.label.toLowerCase().startsWith(first);
  return [...found.filter(begins), ...found.filter((item) => !begins(item))];
}

function itemsOf({ items, purpose }: Picker, bindings: Bindings): readonly Item[] | null {
  return items ?? purposes[purpose].items?.(bindings) ?? null;
}

export function pickerView(picker: Picker, { columns, height, bindings }: Room): OverlayView {
  const inner = columns - 4;
  const input = inView(layOut("> ", picker.filter, inner), 1);
  const items = matching(picker, bindings);
  const preview = (items[picker.at]?.preview ?? "").split("\n").filter((line) => line !== "");
  const forPreview = Math.min(preview.length, Math.floor(height / 3));
  const { first, shown } = windowAround(items, picker.at, height - 3 - (forPreview === 0 ? 0 : forPreview + 1));
  const labels = Math.min(Math.floor(inner / 2), Math.max(0, ...shown.map(({ label }) => Bun.stringWidth(label))));
  const lines = shown.map(({ label, detail }, at): BoxLine => {
    const text = `${label}${" ".repeat(Math.max(0, labels - Bun.stringWidth(label)))}  ${detail}`;
    return first + at === picker.at ? { text: text.padEnd(inner), look: chosen } : text;
  });
  const told = itemsOf(picker, bindings) === null ? ["looking…"] : lines.length === 0 ? ["nothing like that"] : lines;
  const below = forPreview === 0 ? [] : ["─".repeat(inner), ...preview.slice(0, forPreview)];
  const rows = boxed(purposes[picker.purpose].title, [...input.rows, ...told, ...below], columns);
  return { rows, cursor: { row: 1 + input.cursor.row, column: 2 + input.cursor.column } };
}
