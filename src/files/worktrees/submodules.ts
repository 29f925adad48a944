// Submodules in a worktree. They are empty directories there, as in a worktree of git. Files below them are never committed:
// the merge would replace the project's submodule by these files.
import { readablePath, runGit, splitAtNul, tryGit, type ShadowRepository } from "../git.ts";

/** The paths of submodules in a commit, as latin1 strings. */
export async function submodulesOf(repository: ShadowRepository, commit: string): Promise<string[]> {
  if ((await tryGit(repository, ["cat-file", "-e", `${commit}:.gitmodules`])).code !== 0) return [];
  const entries = splitAtNul(await runGit(repository, ["ls-tree", "-r", "-z", "--full-tree", commit]));
  return entries.filter((entry) => entry.startsWith("160000 ")).map((entry) => entry.slice(entry.indexOf("\t") + 1));
}

/** Covers the submodules and everything below them, and reports the files that it left out. */
export function createSubmoduleFilter(submodules: readonly string[]): { covers: (path: string) => boolean; problem: () => string | null } {
  const changed = new Set<string>();
  return {
    covers(path) {
      const submodule = submodules.find((candidate) => path === candidate || path.startsWith(`${candidate}/`));
      if (submodule !== undefined && path !== submodule && path !== `${submodule}/`) changed.add(submodule);
      return submodule !== undefined;
    },
    problem: () =>
      changed.size === 0 ? null : `files in a submodule are not part of the work: ${[...changed].map(readablePath).join(", ")}`,
  };
}
