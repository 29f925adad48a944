// Submodules in a worktree. They are empty directories there, as in a worktree of git. git does not list files below them, so
// they are never committed: a merge would replace the project's submodule by these files.
import { readdirSync } from "node:fs";
import { join } from "node:path";
import { readablePath, runGit, splitAtNul, tryGit, type ShadowRepository } from "../git.ts";

/** The paths of submodules in a commit, as latin1 strings. */
export async function submodulesOf(repository: ShadowRepository, commit: string): Promise<string[]> {
  if ((await tryGit(repository, ["cat-file", "-e", `${commit}:.gitmodules`])).code !== 0) return [];
  const entries = splitAtNul(await runGit(repository, ["ls-tree", "-r", "-z", "--full-tree", commit]));
  return entries.filter((entry) => entry.startsWith("160000 ")).map((entry) => entry.slice(entry.indexOf("\t") + 1));
}

/** A problem if a tool wrote files into an empty submodule; null if not. A submodule that was checked out is a repository. */
export function submoduleProblem(directory: string, submodules: readonly string[]): string | null {
  const written = submodules.map(readablePath).filter((path) => {
    const names = namesIn(join(directory, path));
    return names.length > 0 && !names.includes(".git");
  });
  return written.length === 0 ? null : `files in a submodule are not part of the work: ${written.join(", ")}`;
}

function namesIn(directory: string): string[] {
  try {
    return readdirSync(directory);
  } catch {
    return [];
  }
}
