// Commits in a repository of worktrees.
import { runGit, tryGit, type GitOptions, type ShadowRepository } from "../git.ts";

export async function isAncestor(repository: ShadowRepository, older: string, newer: string): Promise<boolean> {
  return (await tryGit(repository, ["merge-base", "--is-ancestor", older, newer])).code === 0;
}

export function treeOf(repository: ShadowRepository, commit: string): Promise<string> {
  return run(repository, ["rev-parse", `${commit}^{tree}`]);
}

/** The author and the message of a commit. */
export type CommitLabel = { name: string; message: string };

export function skeinCommit(message: string): CommitLabel {
  return { name: "skein", message };
}

export function commitTree(
  repository: ShadowRepository,
  tree: string,
  parents: readonly string[],
  { name, message }: CommitLabel,
): Promise<string> {
  const identity = ["-c", `user.name=${name}`, "-c", "user.email=skein@localhost", "-c", "commit.gpgSign=false"];
  return run(repository, [...identity, "commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-m", message]);
}

/** The output as one line of text. */
export async function run(repository: ShadowRepository, args: readonly string[], options: GitOptions = {}): Promise<string> {
  return (await runGit(repository, args, options)).toString().trim();
}
