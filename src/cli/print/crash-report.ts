// Saves the stack of an unexpected error to a file, for developers. The user only gets a short message.
import { appendFileSync, mkdirSync } from "node:fs";
import { join } from "node:path";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { CommandContext } from "../parse/command.ts";

export function saveCrashReport(error: unknown, { state, version }: Pick<CommandContext, "state" | "version">): Fault {
  const file = join(state, "crashes.log");
  const stack = error instanceof Error ? (error.stack ?? error.message) : String(error);
  const message = `the screen crashed: ${messageOf(error)}`;
  try {
    mkdirSync(state, { recursive: true, mode: 0o700 });
    appendFileSync(file, `${new Date().toISOString()} skein ${version}\n${stack}\n\n`, { mode: 0o600 });
  } catch (writeError) {
    return new Fault("internal", message, { hint: `its report could not be saved: ${messageOf(writeError)}`, cause: error });
  }
  return new Fault("internal", message, { hint: `the full report is at the end of ${file}`, cause: error });
}
