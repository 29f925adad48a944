// Colours for terminals that show them. Text from files and servers must pass through `stripControls` or
// `printable` first. Otherwise it could move the cursor or repaint the terminal.
import type { TextOutput } from "../parse/command.ts";

type Paint = (text: string) => string;
export type Style = { bold: Paint; dim: Paint; red: Paint; green: Paint; yellow: Paint; cyan: Paint };

export function styleOf(screen: Pick<TextOutput, "color">): Style {
  return screen.color ? colored : uncolored;
}

/** Removes control characters and escape sequences; a line break becomes a blank. */
export function stripControls(text: string): string {
  return printable(Bun.stripANSI(text).replace(/\s+/g, " "));
}

/** Like `stripControls`, for one line; keeps its blanks. */
export function printable(line: string): string {
  return Bun.stripANSI(line).replace(/[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, "");
}

/** Like `printable`, for several lines; keeps their tabs. */
export function printableText(text: string): string {
  return Bun.stripANSI(text).replace(/(?![\n\t])[\p{Cc}\u202A-\u202E\u2066-\u2069]/gu, "");
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
