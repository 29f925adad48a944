// The one file that policy `plan` may write. It is made before the walls stand, because they are put around what
// exists; and it is a plain file of the project's own, so that no link leads the way out of them.
import { closeSync, constants, lstatSync, mkdirSync, openSync, realpathSync, type Stats } from "node:fs";
import { dirname, join } from "node:path";
import { Fault, messageOf } from "../protocol/error.ts";

export function ensurePlanFile(project: string): void {
  const file = join(project, ".skein", "plan.md");
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

/** Whether a file is the plan of this project, by whichever name it was reached. */
export function isPlanFile(project: string, file: string): boolean {
  try {
    return realpathSync(file) === realpathSync(join(project, ".skein", "plan.md"));
  } catch {
    return false;
  }
}

function statOf(path: string): Stats | null {
  return lstatSync(path, { throwIfNoEntry: false }) ?? null;
}
