// The directory `.skein` of a project. The first run creates its .gitignore, so that skein's own files never show up in
// `git status`. `skein init` replaces that file by one that a team can commit.

/** Files that skein writes during runs. */
const ownFiles = ["plan.md", "sessions/", "teams/"];

export const gitignoreTexts = {
  /** Ignores itself, too: the user has not asked for any file. */
  private: `${[".gitignore", ...ownFiles].join("\n")}\n`,
  committed: `${ownFiles.join("\n")}\n`,
};

export function planFilePath(project: string): string {
  return `${project}/.skein/plan.md`;
}
