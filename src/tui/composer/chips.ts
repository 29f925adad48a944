// A label in a message that stands for more than fits there: a long paste, or an image. It is plain text of the draft,
// so that it can be moved around and deleted; what it stands for is put in its place when the message is sent.
import type { EditLine } from "../../kit/text/line-edit.ts";

export type Chip = { label: string; text: string } | { label: string; image: string };

const shortText = { characters: 2000, lines: 10 };

/** Null for what can stand in the draft as it is. */
export function pasteChip(text: string, chips: readonly Chip[]): Chip | null {
  const lines = text.trimEnd().split("\n").length;
  if (text.length <= shortText.characters && lines <= shortText.lines) return null;
  const size = lines > 1 ? `${lines} lines` : `${text.length} characters`;
  return { label: unused(`pasted ${size}`, chips), text };
}

export function imageChip(path: string, chips: readonly Chip[]): Chip {
  return { label: unused(`image ${path.split("/").at(-1) ?? path}`, chips), image: path };
}

function unused(name: string, chips: readonly Chip[]): string {
  const taken = new Set(chips.map(({ label }) => label));
  for (let count = 1; ; count += 1) {
    const label = count === 1 ? `[${name}]` : `[${name}, ${count}]`;
    if (!taken.has(label)) return label;
  }
}

/** The message as it is sent. An image's label stays: the text may speak of it. */
export function expandChips(text: string, chips: readonly Chip[]): string {
  const long = chips.flatMap((chip) => ("text" in chip ? [[chip.label, chip.text] as const] : []));
  if (long.length === 0) return text;
  const known = new Map(long);
  const labels = new RegExp(long.map(([label]) => RegExp.escape(label)).join("|"), "g");
  return text.replace(labels, (label) => known.get(label) ?? label);
}

export function imagesIn(text: string, chips: readonly Chip[]): string[] {
  return chips.flatMap((chip) => ("image" in chip && text.includes(chip.label) ? [chip.image] : []));
}

/** A label goes as a whole; null where none ends (begins) at the cursor. */
export function withoutChip({ text, cursor }: EditLine, chips: readonly Chip[], side: "before" | "after"): EditLine | null {
  for (const { label } of chips) {
    const start = side === "before" ? cursor - label.length : cursor;
    if (start >= 0 && text.startsWith(label, start))
      return { text: text.slice(0, start) + text.slice(start + label.length), cursor: start };
  }
  return null;
}

/** The path of an image, where a paste is nothing else: as it is, quoted, escaped for a shell, or as an address. */
export function imagePathIn(pasted: string): string | null {
  const text = pasted.trim();
  if (text.includes("\n") || !/\.(png|jpe?g|gif|webp)['"]?$/i.test(text)) return null;
  const quoted = /^(['"])(.*)\1$/.exec(text);
  if (quoted !== null) return quoted[2] ?? null;
  if (text.startsWith("file://")) return decoded(text.slice("file://".length));
  return /(?<!\\)\s/.test(text) ? null : text.replace(/\\(.)/g, "$1");
}

function decoded(address: string): string | null {
  try {
    return decodeURIComponent(address);
  } catch {
    return null;
  }
}
