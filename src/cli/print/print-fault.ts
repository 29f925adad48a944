// How a fault is told to a person, in a line or two that nothing in it can use to steer the terminal.
import { exitCodeOf, Fault, messageOf } from "../../protocol/api/error.ts";
import type { CommandContext } from "../parse/command.ts";
import { stripControls, printable } from "../terminal/style.ts";

/** Tells a person what went wrong; the exit code tells a program. */
export function printFault(error: unknown, to: { env: CommandContext["env"]; write: (text: string) => void }): number {
  to.write(faultText(error, to.env["SKEIN_DEBUG"] !== undefined));
  return exitCodeOf(error);
}

/** One line about what went wrong or is odd; files and servers may have had a say in it. */
export function warningText(message: string): string {
  return `skein: ${stripControls(message)}\n`;
}

function faultText(error: unknown, debug: boolean): string {
  const hint = error instanceof Fault && error.hint !== undefined ? error.hint.split("\n") : [];
  const below = hint.map((line) => `       ${printable(line)}\n`).join("");
  const stack = debug && error instanceof Error ? `${error.stack}\n` : "";
  return `${warningText(messageOf(error))}${below}${stack}`;
}
