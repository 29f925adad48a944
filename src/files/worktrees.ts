// Git worktrees for a team. They belong to a separate repository that borrows the project's objects, so that commits
// never touch the user's repository. No program that a repository or worktree configures is ever run.
import { copyFileSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { Fault } from "../protocol/api/error.ts";
import type { CombineResult, MergePlan, TeamRepository, Worktrees, Worktree } from "../protocol/api/ports.ts";
import { diffTrees, patchBetween } from "./snapshots/snapshot-diff.ts";
import { tryGit, readablePath, runGit, splitAtNul, type GitOptions, type GitRunner, type ShadowRepository } from "./git.ts";
import { readProjectGit } from "./project/project-git.ts";
import { prepareShadow } from "./snapshots/shadow.ts";

export function createWorktrees(git: GitRunner): Worktrees {
  const shadowOf = ({ project, gitDir }: TeamRepository): ShadowRepository => ({ git, dir: gitDir, project });
  // git reads all worktrees when it creates one, and fails if another is just being created. So one at a time.
  let lastOpen: Promise<unknown> = Promise.resolve();
  return {
    base: async (team) => {
      const common = await commonGitDir(git, team.project);
      if (common === null) return null;
      prepareRepository(shadowOf(team), common);
      const head = await readProjectGit({ project: team.project, git }, ["rev-parse", "--verify", "--quiet", "HEAD"], quickRead);
      return commitFiles(shadowOf(team), {
        parent: head?.bytes.toString().trim() || null,
        index: join(common, "index"),
        innerRepositories: "skip",
      });
    },
    open: (team, worktree) => {
      const opened = lastOpen.then(() => openWorktree(shadowOf(team), worktree));
      lastOpen = opened.catch(() => {});
      return opened;
    },
    commit: (team, worktree, author) => commitWorktree(shadowOf(team), worktree, author),
    combine: (team, onto, works, message) => combineCommits(shadowOf(team), onto, works, message),
    changes: (team, from, to) => diffTrees(shadowOf(team), from, to),
    patch: (team, from, to) => patchBetween(shadowOf(team), from, to),
    planMerge: (team, base, work) => planMerge(shadowOf(team), base, work),
    merge: (team, plan) => merge(shadowOf(team), plan),
  };
}

const quickRead = { maxBytes: 4_096, limitMs: 10_000 };

/** The git directory that has the project's objects. For a worktree it is that of the main repository. */
async function commonGitDir(git: GitRunner, project: string): Promise<string | null> {
  const output = await readProjectGit({ project, git }, ["rev-parse", "--git-common-dir"], quickRead);
  return output === null ? null : resolve(project, output.bytes.toString().trim());
}

function prepareRepository(repository: ShadowRepository, common: string): void {
  prepareShadow(repository);
  mkdirSync(join(repository.dir, "objects", "info"), { recursive: true });
  writeFileSync(join(repository.dir, "objects", "info", "alternates"), `${join(common, "objects")}\n`);
}

type CommitOptions = {
  parent: string | null;
  /** The index to start from: files that it has as unchanged are not read again. */
  index: string;
  innerRepositories: InnerRepositories;
};

/** Repositories inside of the working tree. Those in the user's project are skipped; those of a member are its work. */
type InnerRepositories = "skip" | "include";

/** Commits the files of the working tree, with a temporary index. */
async function commitFiles(
  repository: ShadowRepository,
  { parent, index, innerRepositories }: CommitOptions,
  author = skeinAuthor("the files as they are"),
): Promise<string> {
  const workIndex = join(repository.dir, `files-${process.pid}-${crypto.randomUUID()}.index`);
  try {
    if (existsSync(index)) copyFileSync(index, workIndex);
    const tree = await writeFilesTree(repository, workIndex, innerRepositories);
    return (await commitTree(repository, tree, parent === null ? [] : [parent], author)).trim();
  } finally {
    rmSync(workIndex, { force: true });
  }
}

async function writeFilesTree(repository: ShadowRepository, index: string, innerRepositories: InnerRepositories): Promise<string> {
  const excludeFile = join(repository.project, ".git", "info", "exclude");
  const excludes = ["-c", `core.excludesFile=${existsSync(excludeFile) ? excludeFile : "/dev/null"}`];
  const list = [...excludes, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  // git lists tracked files last. They are updated first, because a file may have become a directory.
  const paths = [...new Set(splitAtNul(await runGit(repository, list, { index })).toReversed())];
  const files = paths.filter((path) => !path.endsWith("/"));
  const stdin = Buffer.from(files.map((path) => `${path}\0`).join(""), "latin1");
  await runGit(repository, ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], { index, stdin });
  if (innerRepositories === "include")
    for (const path of paths.filter((listed) => listed.endsWith("/")).map(readablePath)) {
      const innerIndex = `${index}.inner`;
      const inner = { ...repository, project: join(repository.project, path) };
      const tree = await writeFilesTree(inner, innerIndex, innerRepositories);
      rmSync(innerIndex, { force: true });
      await run(repository, ["read-tree", `--prefix=${path}`, tree], { index });
    }
  return run(repository, ["write-tree"], { index });
}

async function openWorktree(repository: ShadowRepository, { directory, branch, from }: Worktree & { from: string }): Promise<void> {
  const gitDir = join(repository.dir, "worktrees", basename(directory));
  const index = join(gitDir, "index");
  if (existsSync(index) && existsSync(directory)) return restoreLink(gitDir, directory);
  rmSync(directory, { recursive: true, force: true });
  rmSync(gitDir, { recursive: true, force: true });
  await run(repository, ["worktree", "add", "--quiet", "--no-checkout", "-B", branch, directory, from]);
  await run({ ...repository, project: directory }, ["read-tree", "--reset", "-u", from], { index: `${index}.first` });
  renameSync(`${index}.first`, index);
}

/** Writes the `.git` link again if a member removed it, so that its work is not lost. */
function restoreLink(gitDir: string, directory: string): void {
  const link = join(directory, ".git");
  if (lstatSync(link, { throwIfNoEntry: false }) === undefined) writeFileSync(link, `gitdir: ${gitDir}\n`, { flag: "wx" });
}

/** Keeps commits that the member made, if they descend from the start of the worktree. Null if nothing changed. */
async function commitWorktree(
  repository: ShadowRepository,
  { directory, branch, from }: Worktree & { from: string },
  author: Author,
): Promise<string | null> {
  const worktree = { ...repository, project: directory };
  const tip = await run(repository, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}^{commit}`]).catch(() => from);
  const parent = (await isAncestor(repository, from, tip)) ? tip : from;
  const index = join(repository.dir, "worktrees", basename(directory), "index");
  const commit = await commitFiles(worktree, { parent, index, innerRepositories: "include" }, author);
  const [before, after] = await Promise.all([treeOf(repository, from), treeOf(repository, commit)]);
  if (before === after) return null;
  const isUnchanged = (await treeOf(repository, parent)) === after;
  const newTip = isUnchanged ? parent : commit;
  await run(repository, ["update-ref", `refs/heads/${branch}`, newTip]);
  // A member that continues there sees its work as committed.
  await run(worktree, ["read-tree", newTip], { index });
  return newTip;
}

async function combineCommits(
  repository: ShadowRepository,
  onto: string,
  works: readonly { name: string; commit: string }[],
  message: string,
): Promise<CombineResult> {
  const combined: CombineResult = { commit: onto, conflicts: [] };
  for (const { name, commit } of works) {
    const { tree, conflicts } = await mergeTrees(repository, combined.commit, commit);
    if (conflicts.length > 0) combined.conflicts.push({ name, paths: conflicts });
    else combined.commit = (await commitTree(repository, tree, [combined.commit, commit], skeinAuthor(`${message}\n\n${name}`))).trim();
  }
  if (combined.commit !== onto) await run(repository, ["update-ref", "refs/heads/joined", combined.commit]);
  return combined;
}

/** A three-way merge from the common ancestor. Changes no file. */
async function mergeTrees(repository: ShadowRepository, ours: string, theirs: string): Promise<{ tree: string; conflicts: string[] }> {
  const child = await tryGit(repository, ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs]);
  if (child.code !== 0 && child.code !== 1)
    throw new Fault("internal", `git merge-tree failed: ${child.err}`, { hint: "combining work needs git 2.38 or later" });
  const [tree = "", ...paths] = splitAtNul(child.out);
  return { tree, conflicts: child.code === 0 ? [] : [...new Set(paths.filter((path) => path !== "").map(readablePath))] };
}

/** Merges with the state of the project at the start of the work, so that later changes of the user stay. */
async function planMerge(repository: ShadowRepository, base: string, work: string): Promise<MergePlan> {
  const projectIndex = join(repository.project, ".git", "index");
  const now = await commitFiles(repository, { parent: base, index: projectIndex, innerRepositories: "skip" });
  const { tree, conflicts } = await mergeTrees(repository, now, work);
  const merged =
    conflicts.length > 0 ? now : (await commitTree(repository, tree, [now, work], skeinAuthor("brought into the project"))).trim();
  return { now, merged, conflicts, changes: await diffTrees(repository, now, merged) };
}

/** git refuses if a file differs from the plan. */
async function merge(repository: ShadowRepository, { now, merged, conflicts }: MergePlan): Promise<void> {
  if (conflicts.length > 0) throw new Fault("usage", `the work conflicts with the project in ${conflicts.join(", ")}`);
  const index = join(repository.dir, `merge-${process.pid}-${crypto.randomUUID()}.index`);
  try {
    await run(repository, ["read-tree", now], { index });
    // git replaces only files that it has checked itself.
    await run(repository, ["update-index", "-q", "--refresh"], { index }).catch(() => "");
    await run(repository, ["read-tree", "-m", "-u", now, merged], { index });
  } finally {
    rmSync(index, { force: true });
  }
}

async function isAncestor(repository: ShadowRepository, older: string, newer: string): Promise<boolean> {
  return (await tryGit(repository, ["merge-base", "--is-ancestor", older, newer])).code === 0;
}

function treeOf(repository: ShadowRepository, commit: string): Promise<string> {
  return run(repository, ["rev-parse", `${commit}^{tree}`]);
}

type Author = { name: string; message: string };

function skeinAuthor(message: string): Author {
  return { name: "skein", message };
}

function commitTree(repository: ShadowRepository, tree: string, parents: readonly string[], { name, message }: Author): Promise<string> {
  const identity = ["-c", `user.name=${name}`, "-c", "user.email=skein@localhost", "-c", "commit.gpgSign=false"];
  return run(repository, [...identity, "commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-m", message]);
}

async function run(repository: ShadowRepository, args: readonly string[], options: GitOptions = {}): Promise<string> {
  return (await runGit(repository, args, options)).toString().trim();
}
