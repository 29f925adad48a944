// A chip is a label in the unsent message for a long paste or an image. The label is plain text, so that it can be edited.
// The content of the chip replaces the label when the message is sent.
import type { EditLine } from "../../kit/text/line-edit.ts";

export type Chip = { label: string; text: string } | { label: string; image: string };

const maxInline = { characters: 2000, lines: 10 };

/** Null if the text is short enough for the unsent message. */
export function pasteChip(text: string, chips: readonly Chip[]): Chip | null {
  const lines = text.trimEnd().split("\n").length;
  if (text.length <= maxInline.characters && lines <= maxInline.lines) return null;
  const size = lines > 1 ? `${lines} lines` : `${text.length} characters`;
  return { label: unusedLabel(`pasted ${size}`, chips), text };
}

export function imageChip(path: string, chips: readonly Chip[]): Chip {
  return { label: unusedLabel(`image ${path.split("/").at(-1) ?? path}`, chips), image: path };
}

function unusedLabel(name: string, chips: readonly Chip[]): string {
  const labels = new Set(chips.map(({ label }) => label));
  for (let count = 1; ; count += 1) {
    const label = count === 1 ? `[${name}]` : `[${name}, ${count}]`;
    if (!labels.has(label)) return label;
  }
}

/** The message to send. Labels of images stay, because the text may refer to them. */
export function expandChips(text: string, chips: readonly Chip[]): string {
  const pastes = chips.flatMap((chip) => ("text" in chip ? [[chip.label, chip.text] as const] : []));
  if (pastes.length === 0) return text;
  const textByLabel = new Map(pastes);
  const labels = new RegExp(pastes.map(([label]) => RegExp.escape(label)).join("|"), "g");
  return text.replace(labels, (label) => textByLabel.get(label) ?? label);
}

export function imagesIn(text: string, chips: readonly Chip[]): string[] {
  return chips.flatMap((chip) => ("image" in chip && text.includes(chip.label) ? [chip.image] : []));
}

/** Deletes the whole label before or after the cursor. Null if there is none. */
export function withoutChip({ text, cursor }: EditLine, chips: readonly Chip[], side: "before" | "after"): EditLine | null {
  for (const { label } of chips) {
    const start = side === "before" ? cursor - label.length : cursor;
    if (start >= 0 && text.startsWith(label, start))
      return { text: text.slice(0, start) + text.slice(start + label.length), cursor: start };
  }
  return null;
}

/** The path of an image, if the paste has no other text: plain, quoted, escaped for a shell, or a file URL. Else null. */
export function imagePathIn(pasted: string): string | null {
  const text = pasted.trim();
  if (text.includes("\n") || !/\.(png|jpe?g|gif|webp)['"]?$/i.test(text)) return null;
  const quoted = /^(['"])(.*)\1$/.exec(text);
  if (quoted !== null) return quoted[2] ?? null;
  if (text.startsWith("file://")) return decodeUrlPath(text.slice("file://".length));
  return /(?<!\\)\s/.test(text) ? null : text.replace(/\\(.)/g, "$1");
}

function decodeUrlPath(path: string): string | null {
  try {
    return decodeURIComponent(path);
  } catch {
    return null;
  }
}
