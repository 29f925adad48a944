// The repository of a team member: a clone in its workspace that borrows the objects of the team's repository. The member
// can change all of it. So skein never uses its index, and no git that reads its config can write the team's repository.
import { lstatSync } from "node:fs";
import { join } from "node:path";
import { makeDirectorySafely, replaceTextSafely } from "../../kit/files/safe-file.ts";
import { lastLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Worktree } from "../../protocol/worktree/ports.ts";
import { gitSettings, runGit, tryGit, type ShadowRepository } from "../git.ts";
import { tryProjectGit } from "../project/project-git.ts";
import { rawAttributes } from "../snapshots/shadow.ts";

/** Creates the clone with the member's branch. Files that are there stay, and those of the branch count as unchanged. */
export async function createClone(repository: ShadowRepository, { directory, branch }: Worktree): Promise<void> {
  // The template has the attributes that skein itself uses, so that git shows the same changes to the member.
  const template = join(repository.dir, "template");
  makeDirectorySafely(join(template, "info"));
  replaceTextSafely(join(template, "info", "attributes"), rawAttributes);
  const gitDir = join(directory, ".git");
  const clone = ["clone", "--quiet", "--bare", "--shared", "--single-branch", `--template=${template}`, "--branch", branch];
  await runInClone(repository, directory, [...clone, repository.dir, gitDir]);
  await runInClone(repository, directory, ["config", "core.bare", "false"]);
  await runInClone(repository, directory, ["config", "--remove-section", "remote.origin"]);
  await showAsCommitted(repository, { directory, branch }, `refs/heads/${branch}`);
}

/** Whether a directory `.git` is there. Another kind of file can't be a clone. */
export function hasClone(directory: string): boolean {
  return lstatSync(join(directory, ".git"), { throwIfNoEntry: false })?.isDirectory() === true;
}

/** Moves the member's branch and index to a commit of the team's repository. Changes no other file. */
export async function showAsCommitted(repository: ShadowRepository, { directory, branch }: Worktree, commit: string): Promise<void> {
  await runInClone(repository, directory, ["update-ref", `refs/heads/${branch}`, commit]);
  await runInClone(repository, directory, ["read-tree", commit]);
  // Fails if a file has changed, which is no error.
  await runInClone(repository, directory, ["update-index", "-q", "--refresh"]).catch(() => null);
}

/**
 * Copies the commits of the member's branch into the team's repository, after git has checked each object. Returns its
 * tip, or `from` if the branch is missing. Throws if git can't read or refuses the commits.
 */
export async function takeCommits(repository: ShadowRepository, { directory, branch, from }: Worktree & { from: string }): Promise<string> {
  const tip = await tipOf(repository, directory, branch);
  if (tip === null) return from;
  const isKnown = (await tryGit(repository, ["cat-file", "-e", `${tip}^{commit}`])).code === 0;
  const signal = AbortSignal.timeout(maxTakeMs);
  // The same checks as `git fetch` with fetch.fsckObjects: each object is valid, and all that it names is there.
  if (!isKnown) {
    const stdin = await packCommits(repository, directory, `${tip}\n^${from}\n`);
    await runGit(repository, ["index-pack", "--strict", "--fix-thin", "--stdin"], { stdin, signal });
  }
  await runGit(repository, ["rev-list", "--objects", "--quiet", tip, "--not", from], { signal });
  return tip;
}

/** Runs in a sandbox without write access, because git obeys the config of the clone here. */
async function packCommits({ git }: ShadowRepository, directory: string, revisions: string): Promise<Buffer> {
  const args = ["pack-objects", "--quiet", "--revs", "--thin", "--stdout"];
  const limits = { stdin: Buffer.from(revisions), maxBytes: maxPackBytes, limitMs: maxTakeMs };
  const { code, out, err } = await tryProjectGit({ git, project: directory }, args, limits);
  if (code === null) throw new Fault("internal", tooSlow);
  if (out.length >= maxPackBytes) throw new Fault("internal", `they have more than ${maxPackBytes >> 20} MB`);
  if (code !== 0) throw new Fault("internal", lastLine(err));
  return out;
}

const tooSlow = "git needs too long to read them";
const maxPackBytes = 512 << 20;
const maxTakeMs = 120_000;

async function tipOf({ git }: ShadowRepository, directory: string, branch: string): Promise<string | null> {
  const args = ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}^{commit}`];
  const { code, out, err } = await tryProjectGit({ git, project: directory }, args, { maxBytes: 4_096, limitMs: 10_000 });
  const tip = out.toString().trim();
  if (code === 0 && /^[0-9a-f]{40,64}$/.test(tip)) return tip;
  if (code === 1 && err === "") return null;
  throw new Fault("internal", code === null ? tooSlow : lastLine(err));
}

/** git that can write the member's directory and nothing else. */
async function runInClone({ git }: ShadowRepository, directory: string, args: readonly string[]): Promise<void> {
  const { code, err } = await git({
    args: [...gitSettings, ...args],
    env: cloneEnvironment(directory, args[0] === "clone"),
    project: directory,
    access: "write",
    repository: null,
    signal: AbortSignal.timeout(maxTakeMs),
  });
  if (code !== 0) throw new Fault("internal", `git ${args[0]} failed: ${code === null ? "it took too long" : lastLine(err)}`);
}

function cloneEnvironment(directory: string, isNew: boolean): Record<string, string> {
  return {
    LC_ALL: "C",
    ...(isNew ? {} : { GIT_DIR: join(directory, ".git"), GIT_WORK_TREE: directory }),
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
    GIT_ALLOW_PROTOCOL: "file",
  };
}
