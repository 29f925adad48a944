// Finds the directory of a project's repository that its worktrees share, for the commands that write there. A hostile `.git` can
// name the repository of another project, so one outside of the project must name the project in return.
import { realpathSync } from "node:fs";
import { dirname, join, resolve, sep } from "node:path";
import { readRegularFile } from "../../kit/files/safe-file.ts";
import { realPath } from "../../kit/files/path-status.ts";
import { Fault } from "../../protocol/api/error.ts";
import { type ProjectGit, readProjectGit } from "./project-git.ts";

const limits = { maxBytes: 64 << 10, limitMs: 20_000 };

/** The real path; null without a repository. Throws for one that belongs to another project. */
export async function findGitDir(git: ProjectGit): Promise<string | null> {
  const output = await readProjectGit(git, ["rev-parse", "--git-dir", "--git-common-dir"], limits);
  const [own = "", common = ""] = (output?.bytes.toString() ?? "").split("\n");
  if (own === "" || common === "") return null;
  const project = realpathSync(git.project);
  const [ownDir, shared] = [realPath(resolve(git.project, own)), realPath(resolve(git.project, common))];
  if (ownDir === null || shared === null) return null;
  if (shared.startsWith(project + sep)) return shared;
  const isWorktree = dirname(ownDir) === join(shared, "worktrees") && worktreeOf(ownDir) === join(project, ".git");
  if (isWorktree || (await submoduleOf(git, shared)) === project) return shared;
  throw new Fault("usage", `the repository of ${git.project} is in ${shared}, which does not name this project`, {
    hint: "skein writes to the repository of a project only in the project itself, or in the repository of a worktree or a submodule",
  });
}

/** The `.git` of the worktree, as the repository has it. */
function worktreeOf(ownDir: string): string | null {
  const text = readRegularFile(join(ownDir, "gitdir"), { maxBytes: limits.maxBytes })?.toString().replace(/\n$/, "") ?? "";
  return text === "" ? null : realPath(resolve(ownDir, text));
}

/** The directory of the submodule, as its repository has it. */
async function submoduleOf(git: ProjectGit, shared: string): Promise<string | null> {
  const args = ["config", "--no-includes", "--file", join(shared, "config"), "--get", "core.worktree"];
  const text = (await readProjectGit(git, args, limits))?.bytes.toString().replace(/\n$/, "") ?? "";
  return text === "" ? null : realPath(resolve(shared, text));
}
