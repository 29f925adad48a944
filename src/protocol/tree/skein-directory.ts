// The directory `.skein` of a project. skein creates it with a .gitignore, so that its own files never show up in
// `git status`. `skein init` replaces that file by one that a team can commit.
import { join } from "node:path";
import { createSafely, makeDirectorySafely } from "../../kit/files/safe-file.ts";

/** Files that skein writes during runs. */
const ownFiles = ["plan.md", "sessions/", "teams/"];

export const gitignoreTexts = {
  /** Ignores itself, too: the user has not asked for any file. */
  private: `${[".gitignore", ...ownFiles].join("\n")}\n`,
  committed: `${ownFiles.join("\n")}\n`,
};

/** Throws if `.skein` is a link or no directory. An existing .gitignore stays. */
export function makeSkeinDirectory(project: string): void {
  const directory = join(project, ".skein");
  makeDirectorySafely(directory, 0o755);
  createSafely(join(directory, ".gitignore"), gitignoreTexts.private, 0o644);
}
