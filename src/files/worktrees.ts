// The work of a team: each member has a clone. skein copies its commits and files into a separate repository that borrows
// the project's objects. Only skein writes that repository, and commits never touch the user's repository.
import { existsSync, lstatSync, mkdirSync, realpathSync, renameSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import { ownersFor, readSafely } from "../kit/files/safe-file.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { CommitResult, CombineResult, MergePlan, TeamRepository, Worktrees, Worktree } from "../protocol/api/ports.ts";
import { diffTrees, patchBetween } from "./snapshots/snapshot-diff.ts";
import { createClone, hasClone, showAsCommitted, takeCommits } from "./member-clone.ts";
import { excludeFile, tryGit, readablePath, runGit, splitAtNul, type GitOptions, type GitRunner, type ShadowRepository } from "./git.ts";
import { readProjectGit } from "./project/project-git.ts";
import { prepareShadow, rawAttributes } from "./snapshots/shadow.ts";
import { copyIndex } from "./snapshots/take-snapshot.ts";

export function createWorktrees(git: GitRunner): Worktrees {
  const shadowOf = ({ project, gitDir }: TeamRepository): ShadowRepository => ({ git, dir: gitDir, project });
  return {
    base: async (team) => {
      const directories = await projectGitDirs(git, team.project);
      if (directories === null) return null;
      prepareRepository(shadowOf(team), directories.common);
      const head = await readProjectGit({ project: team.project, git }, ["rev-parse", "--verify", "--quiet", "HEAD"], quickRead);
      return commitProject(shadowOf(team), head?.bytes.toString().trim() || null);
    },
    open: (team, worktree) => openWorkspace(shadowOf(team), worktree),
    commit: (team, worktree, author) => commitWorkspace(shadowOf(team), worktree, author),
    combine: (team, onto, works, message) => combineCommits(shadowOf(team), onto, works, message),
    changes: (team, from, to) => diffTrees(shadowOf(team), from, to),
    patch: (team, from, to) => patchBetween(shadowOf(team), from, to),
    planMerge: (team, base, work) => planMerge(shadowOf(team), base, work),
    merge: (team, plan) => merge(shadowOf(team), plan),
  };
}

const quickRead = { maxBytes: 4_096, limitMs: 10_000 };

type GitDirs = { own: string; common: string };

/** The git directories of the project. In a worktree only `common` has the objects, and only `own` the index. */
async function projectGitDirs(git: GitRunner, project: string): Promise<GitDirs | null> {
  const output = await readProjectGit({ project, git }, ["rev-parse", "--git-dir", "--git-common-dir"], quickRead);
  const [own, common] = output?.bytes.toString().split("\n") ?? [];
  return own === undefined || common === undefined ? null : { own: resolve(project, own), common: resolve(project, common) };
}

function prepareRepository(repository: ShadowRepository, common: string): void {
  prepareShadow(repository);
  mkdirSync(join(repository.dir, "objects", "info"), { recursive: true });
  writeFileSync(join(repository.dir, "objects", "info", "alternates"), `${join(common, "objects")}\n`);
}

/** Commits the user's files. Files that the project's own index has as unchanged are not read again. */
async function commitProject(repository: ShadowRepository, parent: string | null): Promise<string> {
  const directories = await projectGitDirs(repository.git, repository.project);
  return withTemporaryIndex(repository, async (index) => {
    if (directories !== null) copyProjectIndex(join(directories.own, "index"), index);
    const tree = await writeFilesTree(repository, index, "skip");
    return commitTree(repository, tree, parent === null ? [] : [parent], skeinCommit("the files as they are"));
  });
}

/** Copies nothing if a tool has put a link or a pipe there. git then reads all files that are not ignored. */
function copyProjectIndex(from: string, to: string): void {
  try {
    const path = realpathSync(from);
    const stat = lstatSync(path);
    const bytes = readSafely(path, { maxBytes: maxIndexBytes, owners: ownersFor(stat) });
    if (bytes === null) return;
    writeFileSync(to, bytes, { flag: "wx", mode: 0o600 });
    const seconds = Math.floor(stat.mtimeMs / 1000); // see copyIndex
    utimesSync(to, seconds, seconds);
  } catch {
    rmSync(to, { force: true });
  }
}

const maxIndexBytes = 512 << 20;

async function withTemporaryIndex<Result>(repository: ShadowRepository, work: (index: string) => Promise<Result>): Promise<Result> {
  const index = join(repository.dir, `files-${process.pid}-${crypto.randomUUID()}.index`);
  try {
    return await work(index);
  } finally {
    for (const file of [index, `${index}.lock`]) rmSync(file, { force: true });
  }
}

/** Repositories inside of the working tree. Those in the user's project are skipped; those of a member are its work. */
type InnerRepositories = "skip" | "include";

async function writeFilesTree(repository: ShadowRepository, index: string, innerRepositories: InnerRepositories): Promise<string> {
  const excludes = ["-c", `core.excludesFile=${(innerRepositories === "skip" ? excludeFile(repository.project) : null) ?? "/dev/null"}`];
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

/** skein's own index of a member's files. The member can't change it. It is written last, so it means a complete workspace. */
function memberIndex(repository: ShadowRepository, directory: string): string {
  return join(repository.dir, "members", `${basename(directory)}.index`);
}

async function openWorkspace(repository: ShadowRepository, worktree: Worktree & { from: string }): Promise<void> {
  const { directory, branch, from } = worktree;
  const index = memberIndex(repository, directory);
  mkdirSync(dirname(index), { recursive: true, mode: 0o700 });
  await adoptOldWorktree(repository, worktree);
  if (existsSync(index) && existsSync(directory)) {
    if (hasClone(directory)) return;
    // The member removed its repository, or replaced it. Its files are its work and stay.
    rmSync(join(directory, ".git"), { force: true });
    return createClone(repository, worktree);
  }
  rmSync(directory, { recursive: true, force: true });
  mkdirSync(directory, { recursive: true, mode: 0o700 });
  await run(repository, ["update-ref", `refs/heads/${branch}`, from]);
  await withTemporaryIndex(repository, async (first) => {
    await run({ ...repository, project: directory }, ["read-tree", "--reset", "-u", from], { index: first, access: "write" });
    await createClone(repository, worktree);
    renameSync(first, index);
  });
}

/** skein 0.1.0 gave members worktrees of the team's repository. Their files stay; their link to it is replaced. */
async function adoptOldWorktree(repository: ShadowRepository, { directory, from }: Worktree & { from: string }): Promise<void> {
  const old = join(repository.dir, "worktrees", basename(directory));
  if (!existsSync(join(old, "index")) || !existsSync(directory)) return;
  await withTemporaryIndex(repository, async (index) => {
    await run(repository, ["read-tree", from], { index });
    renameSync(index, memberIndex(repository, directory));
  });
  rmSync(old, { recursive: true, force: true });
}

/** Keeps commits that the member made, if they descend from the start of its work. */
async function commitWorkspace(
  repository: ShadowRepository,
  worktree: Worktree & { from: string },
  author: CommitLabel,
): Promise<CommitResult> {
  const { directory, branch, from } = worktree;
  const taken = await takeCommits(repository, worktree).then(
    (tip) => ({ tip, problem: null }),
    (error: unknown) => ({ tip: from, problem: `its own commits are not kept, only its files: ${messageOf(error)}` }),
  );
  const { problem } = taken;
  const parent = (await isAncestor(repository, from, taken.tip)) ? taken.tip : from;
  const index = memberIndex(repository, directory);
  return withTemporaryIndex(repository, async (work) => {
    if (existsSync(index)) copyIndex(index, work);
    const tree = await writeFilesTree({ ...repository, project: directory }, work, "include");
    if (tree === (await treeOf(repository, from))) return { commit: null, problem };
    const isCommitted = tree === (await treeOf(repository, parent));
    const commit = isCommitted ? parent : await commitTree(repository, tree, [parent], author);
    await run(repository, ["update-ref", `refs/heads/${branch}`, commit]);
    renameSync(work, index);
    // A member that continues there sees its work as committed. It may have broken its clone, which only hurts itself.
    await showAsCommitted(repository, worktree, commit).catch(() => null);
    return { commit, problem };
  });
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
    else combined.commit = await commitTree(repository, tree, [combined.commit, commit], skeinCommit(`${message}\n\n${name}`));
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
  // A tool in the project may have added attributes that hide changes.
  writeFileSync(join(repository.dir, "info", "attributes"), rawAttributes);
  const now = await commitProject(repository, base);
  const { tree, conflicts } = await mergeTrees(repository, now, work);
  const merged = conflicts.length > 0 ? now : await commitTree(repository, tree, [now, work], skeinCommit("brought into the project"));
  return { now, merged, conflicts, changes: await diffTrees(repository, now, merged) };
}

/** git refuses if a file differs from the plan. */
async function merge(repository: ShadowRepository, { now, merged, conflicts }: MergePlan): Promise<void> {
  if (conflicts.length > 0) throw new Fault("usage", `the work conflicts with the project in ${conflicts.join(", ")}`);
  await withTemporaryIndex(repository, async (index) => {
    await run(repository, ["read-tree", now], { index });
    // git replaces only files that it has checked itself.
    await run(repository, ["update-index", "-q", "--refresh"], { index }).catch(() => "");
    await run(repository, ["read-tree", "-m", "-u", now, merged], { index, access: "write" });
  });
}

async function isAncestor(repository: ShadowRepository, older: string, newer: string): Promise<boolean> {
  return (await tryGit(repository, ["merge-base", "--is-ancestor", older, newer])).code === 0;
}

function treeOf(repository: ShadowRepository, commit: string): Promise<string> {
  return run(repository, ["rev-parse", `${commit}^{tree}`]);
}

/** The author and the message of a commit. */
type CommitLabel = { name: string; message: string };

function skeinCommit(message: string): CommitLabel {
  return { name: "skein", message };
}

function commitTree(
  repository: ShadowRepository,
  tree: string,
  parents: readonly string[],
  { name, message }: CommitLabel,
): Promise<string> {
  const identity = ["-c", `user.name=${name}`, "-c", "user.email=skein@localhost", "-c", "commit.gpgSign=false"];
  return run(repository, [...identity, "commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-m", message]);
}

async function run(repository: ShadowRepository, args: readonly string[], options: GitOptions = {}): Promise<string> {
  return (await runGit(repository, args, options)).toString().trim();
}
