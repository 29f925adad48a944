// The one file that policy `plan` may write. It is created before the sandbox starts, because sandbox rules need an
// existing file. It must be a plain file in the project, so that no link leads out of the sandbox.
import { closeSync, constants, lstatSync, mkdirSync, openSync, readFileSync, realpathSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { maxPlanBytes, type Plan } from "../protocol/tree/turn.ts";

export function ensurePlanFile(project: string): void {
  const file = planFileOf(project);
  const directory = dirname(file);
  try {
    if (statOf(directory) === null) mkdirSync(directory, { mode: 0o755 });
    if (statOf(directory)?.isDirectory() !== true)
      throw new Fault("file-unwritable", `${directory} is not a directory inside of the project`);
    if (statOf(file) === null)
      closeSync(openSync(file, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL | constants.O_NOFOLLOW, 0o644));
    const stat = statOf(file);
    // A second hard link could be a file outside of the project.
    if (stat?.isFile() !== true || stat.nlink > 1)
      throw new Fault("file-unwritable", `${file} is not a plain file`, { hint: "move it away and plan again" });
    // Throws if an existing file can't be written.
    closeSync(openSync(file, constants.O_WRONLY | constants.O_NOFOLLOW));
  } catch (error) {
    if (error instanceof Fault) throw error;
    throw new Fault("file-unwritable", `the plan file ${file} can't be written: ${messageOf(error)}`, { cause: error });
  }
}

/** The current plan; its text is empty if there is no file. Reads only a plain file: a link could lead to a secret. */
export function readPlanFile(project: string): Plan {
  const file = planFileOf(project);
  const createFault = (why: string, cause?: unknown) =>
    new Fault("file-unreadable", `${file} ${why}`, { hint: "move it away and plan again", cause });
  if (statOf(dirname(file))?.isSymbolicLink() === true) throw createFault("is in a directory that is a link");
  const stat = statOf(file);
  if (stat === null) return { file, text: "" };
  if (!stat.isFile() || stat.nlink > 1) throw createFault("is not a plain file");
  if (stat.size > maxPlanBytes) throw createFault(`has ${stat.size} bytes; a plan may have ${maxPlanBytes}`);
  const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW);
  try {
    return { file, text: new TextDecoder("utf-8", { fatal: true }).decode(readFileSync(fd)) };
  } catch (error) {
    throw createFault(error instanceof TypeError ? "is not UTF-8 text" : `can't be read: ${messageOf(error)}`, error);
  } finally {
    closeSync(fd);
  }
}

/** Whether the path leads to the plan file of this project, also through a link. */
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
