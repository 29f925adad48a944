// Cuts the output of a command to rows of a terminal. Output is untrusted: no row has a control character.
import { pluralize } from "../../kit/text/cut-text.ts";
import { printable } from "../terminal/style.ts";
import { cutToWidth } from "../terminal/table.ts";

/** Only this much of a line is examined, so that a line of megabytes costs nothing. */
const maxLineChars = 2_000;

/** One row of at most `columns`. Like on a terminal, a carriage return starts the line again. */
export function outputRow(line: string, columns: number): string {
  const text = line.replace(/\r+$/, "").slice(-maxLineChars);
  const shown = text.slice(text.lastIndexOf("\r") + 1).replaceAll("\t", "    ");
  return cutToWidth(printable(shown), Math.max(1, columns));
}

/** The pointer to the stored output is for the model. */
const storedOutputLine = /\n\[whole output, \d+ bytes: [^\n]*\]$/;

/** The lines of a result, without blank lines at its end and without `[text]` of the denials, which are printed apart. */
export function resultLinesOf(text: string, denials: ReadonlySet<string> = new Set()): string[] {
  const lines = text.replace(storedOutputLine, "").trimEnd().split("\n");
  return lines.filter((line) => !denials.has(line.slice(1, -1)));
}

/** The first lines as rows, and a row that counts the others and says how to see them. */
export function firstRows(lines: readonly string[], { max, columns, hint }: { max: number; columns: number; hint: string }): string[] {
  const rows = lines.slice(0, max).map((line) => outputRow(line, columns));
  return lines.length > max ? [...rows, `(+${pluralize(lines.length - max, "line")}: ${hint})`] : rows;
}
