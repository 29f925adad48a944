// The directory `.skein` of a project. The first run creates its .gitignore, so that skein's own files never show up in
// `git status`. `skein init` replaces that file by one that a team can commit.

/** Files that skein writes during runs. */
const ownFiles = ["plan.md", "sessions/", "teams/", "worktrees/"];

export const gitignoreTexts = {
  /** Ignores itself, too: the user has not asked for any file. */
  private: `${[".gitignore", ...ownFiles].join("\n")}\n`,
  committed: `${ownFiles.join("\n")}\n`,
};

export function planFilePath(project: string): string {
  return `${project}/.skein/plan.md`;
}

/** The worktrees of sessions. A name never starts with a dot, so the repositories are no worktree. */
export function worktreeLocation(project: string, name: string): { root: string; directory: string; gitDir: string; branch: string } {
  const root = `${project}/.skein/worktrees`;
  return { root, directory: `${root}/${name}`, gitDir: `${root}/.repositories/${name}.git`, branch: `skein/${name}` };
}
