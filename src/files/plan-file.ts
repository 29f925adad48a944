// The one file that policy `plan` may write. It is created before the sandbox starts, because sandbox rules need an
// existing file. It must be a plain file in the project, so that no link leads out of the sandbox.
import { closeSync, constants, realpathSync } from "node:fs";
import { dirname } from "node:path";
import { makeIgnoredDirectory } from "../kit/files/ignored-directory.ts";
import { createSafely, openSafely, readSafely } from "../kit/files/safe-file.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { gitignoreTexts, planFilePath } from "../protocol/tree/skein-directory.ts";
import { maxPlanBytes, type Plan } from "../protocol/tree/turn.ts";

const hint = "move it away and plan again";

export function ensurePlanFile(project: string): void {
  const file = planFilePath(project);
  try {
    makeIgnoredDirectory(dirname(file), gitignoreTexts.private);
    createSafely(file, "", 0o644);
    // Throws if an existing file can't be written.
    closeSync(openSafely(file, constants.O_WRONLY));
  } catch (error) {
    throw new Fault("file-unwritable", `the plan file ${file} can't be written: ${messageOf(error)}`, { cause: error, hint });
  }
}

/** The current plan; its text is empty if there is no file. Reads only a plain file: a link could lead to a secret. */
export function readPlanFile(project: string): Plan {
  const file = planFilePath(project);
  try {
    const bytes = readSafely(file, { maxBytes: maxPlanBytes });
    return { file, text: bytes === null ? "" : new TextDecoder("utf-8", { fatal: true }).decode(bytes) };
  } catch (error) {
    const why = error instanceof TypeError ? "is not UTF-8 text" : `can't be read: ${messageOf(error)}`;
    throw new Fault("file-unreadable", `${file} ${why}`, { hint, cause: error });
  }
}

/** Whether the path leads to the plan file of this project, also through a link. */
export function isPlanFile(project: string, file: string): boolean {
  try {
    return realpathSync(file) === realpathSync(planFilePath(project));
  } catch {
    return false;
  }
}
