// Colours for terminals that show them. Text from files and servers must pass through `stripControls` or
// `printable` first. Otherwise it could move the cursor or repaint the terminal.
import type { TextOutput } from "../parse/command.ts";

export { stripControls, printable, printableText } from "../../kit/text/terminal-text.ts";

type Paint = (text: string) => string;
export type Style = { bold: Paint; dim: Paint; red: Paint; green: Paint; yellow: Paint; cyan: Paint };

export function styleOf(out: Pick<TextOutput, "color">): Style {
  return out.color ? colored : uncolored;
}

/** Whether the terminal's locale shows more than ASCII. */
export function showsUnicode(env: Record<string, string | undefined>): boolean {
  return /utf-?8/i.test(env["LC_ALL"] || env["LC_CTYPE"] || env["LANG"] || "");
}

const paint =
  (on: number, off: number): Paint =>
  (text) =>
    `\x1b[${on}m${text}\x1b[${off}m`;

const colored: Style = {
  bold: paint(1, 22),
  dim: paint(2, 22),
  red: paint(31, 39),
  green: paint(32, 39),
  yellow: paint(33, 39),
  cyan: paint(36, 39),
};

const asIs: Paint = (text) => text;
const uncolored: Style = { bold: asIs, dim: asIs, red: asIs, green: asIs, yellow: asIs, cyan: asIs };
