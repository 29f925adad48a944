// The one file that policy `plan` may write. It is made before the walls stand, because they are put around what
// exists; and it is a plain file of the project's own, so that no link leads the way out of them.
import { closeSync, constants, lstatSync, mkdirSync, openSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { maxPlanBytes, type Plan } from "../protocol/tree/turn.ts";

export function ensurePlanFile(project: string): void {
  const file = planFileOf(project);
  const folder = dirname(file);
  try {
    if (statOf(folder) === null) mkdirSync(folder, { mode: 0o755 });
    if (statOf(folder)?.isDirectory() !== true) throw new Fault("file-unwritable", `${folder} is no directory of the project's own`);
    if (statOf(file) === null)
      closeSync(openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o644));
    const stat = statOf(file);
    if (stat?.isFile() !== true || stat.nlink > 1)
      throw new Fault("file-unwritable", `${file} is not a plain file of its own`, { hint: "move it away, and plan again" });
    closeSync(openSync(file, constants.O_WRONLY | constants.O_NOFOLLOW));
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("file-unwritable", `policy plan writes ${file}, and it can't be written: ${messageOf(error)}`, { cause: error });
  }
}

/** The plan as it is, without text where there is none. Nothing but a plain file is read: a link could lead to a secret. */
export function readPlanFile(project: string): Plan {
  const file = planFileOf(project);
  const problem = (why: string, cause?: unknown) =>
    new Fault("file-unreadable", `${file} ${why}`, { hint: "move it away, and plan again", cause });
  if (statOf(dirname(file))?.isSymbolicLink() === true) throw problem("is not in a directory of the project's own");
  const stat = statOf(file);
  if (stat === null) return { file, text: "" };
  if (!stat.isFile() || stat.nlink > 1) throw problem("is not a plain file of its own");
  if (stat.size > maxPlanBytes) throw problem(`has ${stat.size} bytes; a plan may have ${maxPlanBytes}`);
  const opened = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return { file, text: new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(opened)) };
  } catch (error) {
    throw problem(error instanceof TypeError ? "is not UTF-8 text" : `can't be read: ${messageOf(error)}`, error);
  } finally {
    closeSync(opened);
  }
}

/** Whether a file is the plan of this project, by whichever name it was reached. */
export function isPlanFile(project: string, file: string): boolean {
  try {
    return realpathSync(file) === realpathSync(planFileOf(project));
  } catch {
    return false;
  }
}

function planFileOf(project: string): string {
  return join(project, ".skein", "plan.md");
}

function statOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
