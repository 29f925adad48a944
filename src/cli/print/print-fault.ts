// Prints a fault as one line and its hint, without control characters.
import { exitCodeOf, Fault, messageOf } from "../../protocol/api/error.ts";
import type { CommandContext } from "../parse/command.ts";
import { stripControls, printable, printableText } from "../terminal/style.ts";

/** Returns the exit code for the error. */
export function printFault(error: unknown, output: { env: CommandContext["env"]; write: (text: string) => void }): number {
  output.write(faultText(error, output.env["SKEIN_DEBUG"] !== undefined));
  return exitCodeOf(error);
}

/** One line. Removes control characters, because the message may quote files and servers. */
export function warningText(message: string): string {
  return `skein: ${stripControls(message)}\n`;
}

function faultText(error: unknown, withStack: boolean): string {
  const hint = error instanceof Fault && error.hint !== undefined ? error.hint.split("\n") : [];
  const hintLines = hint.map((line) => `       ${printable(line)}\n`).join("");
  const stack = withStack && error instanceof Error ? `${printableText(error.stack ?? "")}\n` : "";
  return `${warningText(messageOf(error))}${hintLines}${stack}`;
}
