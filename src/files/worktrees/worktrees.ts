// Worktrees: each member of a team, or session, works in a clone. skein copies its commits and files into a separate repository
// that borrows the project's objects. Only skein writes that repository, and commits never touch the user's repository.
import { closeSync, constants, existsSync, futimesSync, lstatSync, realpathSync, rmSync } from "node:fs";
import { basename, dirname, join, resolve } from "node:path";
import {
  makeDirectorySafely,
  openSafely,
  ownersFor,
  readSafely,
  removeSafely,
  renameSafely,
  replaceTextSafely,
  UnsafePathError,
  writeAll,
} from "../../kit/files/safe-file.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { guardedText } from "../../protocol/worktree/guarded-text.ts";
import type {
  CombineResult,
  CommitResult,
  MergePlan,
  OpenedWorktree,
  WorktreeRepository,
  Worktrees,
} from "../../protocol/worktree/ports.ts";
import { diffTrees, patchBetween, rawChanges } from "../snapshots/snapshot-diff.ts";
import { createClone, hasClone, showAsCommitted, takeCommits } from "./member-clone.ts";
import { excludeFile, tryGit, readablePath, runGit, splitAtNul, type GitRunner, type ShadowRepository } from "../git.ts";
import { readProjectGit } from "../project/project-git.ts";
import { commitTree, isAncestor, run, skeinCommit, treeOf, type CommitLabel } from "./commits.ts";
import { submoduleProblem, submodulesOf } from "./submodules.ts";
import { prepareShadow, projectFiles, rawAttributes } from "../snapshots/shadow.ts";

type WorktreesOptions = {
  /** The paths, relative to the project, that its git runs or obeys. Default: none. */
  guardedAmong?: (project: string, paths: readonly string[]) => string[];
  /** Whether an absolute path is a secret, which git can't read in its sandbox. Default: none is. */
  isSecret?: (path: string) => boolean;
};

export function createWorktrees(git: GitRunner, { guardedAmong = () => [], isSecret = () => false }: WorktreesOptions = {}): Worktrees {
  const shadowOf = ({ project, gitDir }: WorktreeRepository): ProjectRepository => ({ git, dir: gitDir, project, isSecret });
  return {
    hasRepository: async (project) => (await projectGitDirs(git, project)) !== null,
    base: async (team, start) => {
      const directories = await projectGitDirs(git, team.project);
      prepareRepository(shadowOf(team), directories?.common ?? null);
      const output = await readProjectGit({ project: team.project, git }, ["rev-parse", "--verify", "--quiet", "HEAD^{commit}"], quickRead);
      const head = output?.bytes.toString().trim() || null;
      return start === "commit" && head !== null ? head : commitProject(shadowOf(team), head);
    },
    open: (team, worktree) => openWorkspace(shadowOf(team), worktree),
    commit: (team, worktree, author) => commitWorkspace(shadowOf(team), worktree, author),
    combine: (team, onto, works, message) => combineCommits(shadowOf(team), onto, works, message),
    changes: (team, from, to) => diffTrees(shadowOf(team), from, to),
    patch: (team, from, to) => patchBetween(shadowOf(team), from, to),
    planMerge: async (team, base, work) => {
      const plan = await planMerge(shadowOf(team), base, work);
      const paths = plan.changes.map(({ path }) => path);
      return { ...plan, guarded: guardedAmong(team.project, paths) };
    },
    merge: (team, plan) => merge(shadowOf(team), plan),
    repairMerge: (team, plan) => repairMerge(shadowOf(team), plan),
    update: async (team, worktree, work) => ({ ...(await updateWorkspace(shadowOf(team), worktree, work)), guarded: [] }),
  };
}

type ProjectRepository = ShadowRepository & Required<Pick<WorktreesOptions, "isSecret">>;

const quickRead = { maxBytes: 4_096, limitMs: 10_000 };

type GitDirs = { own: string; common: string };

/** The git directories of the project. In a worktree only `common` has the objects, and only `own` the index. */
async function projectGitDirs(git: GitRunner, project: string): Promise<GitDirs | null> {
  const output = await readProjectGit({ project, git }, ["rev-parse", "--git-dir", "--git-common-dir"], quickRead);
  const [own, common] = output?.bytes.toString().split("\n") ?? [];
  return own === undefined || common === undefined ? null : { own: resolve(project, own), common: resolve(project, common) };
}

/** `common` is null without a repository of the project. */
function prepareRepository(repository: ShadowRepository, common: string | null): void {
  prepareShadow(repository, projectFiles);
  if (common === null) return;
  makeDirectorySafely(join(repository.dir, "objects", "info"));
  replaceTextSafely(join(repository.dir, "objects", "info", "alternates"), `${join(common, "objects")}\n`);
}

/** Commits the user's files. Files that the project's own index has as unchanged are not read again. */
async function commitProject(repository: ProjectRepository, parent: string | null): Promise<string> {
  const directories = await projectGitDirs(repository.git, repository.project);
  return withTemporaryIndex(repository, async (index) => {
    if (directories !== null) copyProjectIndex(join(directories.own, "index"), index);
    const excludes = excludeFile(repository.project);
    const isLeftOut = (path: string): boolean => repository.isSecret(join(repository.project, readablePath(path)));
    const tree = await writeFilesTree(repository, index, { innerRepositories: "skip", excludes, isLeftOut });
    return commitTree(repository, tree, parent === null ? [] : [parent], skeinCommit("the files as they are"));
  });
}

/** Copies nothing if a tool has put a link, a pipe or another file there. git then reads all files that are not ignored. */
function copyProjectIndex(from: string, to: string): void {
  try {
    // The repository may be a link of the user. The index itself never is one: tools may read the copy.
    copyIndex(join(realpathSync(dirname(from)), basename(from)), to);
  } catch {
    rmSync(to, { force: true });
  }
}

/** Copies skein's own index. A tool of an outer project can replace it. */
function copyMemberIndex(from: string, to: string): void {
  withoutLinks(from, () => copyIndex(from, to));
}

/** Names the path in the error for a link or a pipe. */
function withoutLinks(path: string, act: () => void): void {
  try {
    act();
  } catch (error) {
    if (!(error instanceof UnsafePathError)) throw error;
    throw new Fault("file-unreadable", `${path} is not skein's own file any more: ${error.message}`, {
      hint: "a tool has replaced it; the files of the worktree are still in its directory",
    });
  }
}

/** Copies the modification time too, for the reason that take-snapshot.ts gives. */
function copyIndex(from: string, to: string): void {
  const stat = lstatSync(from);
  const bytes = readSafely(from, { maxBytes: maxIndexBytes, owners: ownersFor(stat) });
  if (bytes === null) return;
  if (bytes.toString("latin1", 0, 4) !== "DIRC") throw new UnsafePathError("it is no index of git");
  const file = openSafely(to, constants.O_WRONLY | constants.O_CREAT | constants.O_EXCL);
  try {
    writeAll(file, bytes);
    const seconds = Math.floor(stat.mtimeMs / 1000);
    futimesSync(file, seconds, seconds);
  } finally {
    closeSync(file);
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

type FilesOptions = {
  /** Repositories inside of the working tree. Those in the user's project are skipped; those in a worktree are its work. */
  innerRepositories: "skip" | "include";
  /** A file of patterns that ignore files, besides .gitignore. */
  excludes: string | null;
  /** Paths that stay as they are in the index. */
  isLeftOut: (path: string) => boolean;
  /** Repositories inside so far. Each takes several commands of git, and a tool can create any number, at any depth. */
  count?: { repositories: number };
};

const maxInnerRepositories = 50;

async function writeFilesTree(repository: ShadowRepository, index: string, options: FilesOptions): Promise<string> {
  const { innerRepositories, excludes, isLeftOut, count = { repositories: 0 } } = options;
  const list = ["-c", `core.excludesFile=${excludes ?? "/dev/null"}`, "ls-files", "-z", "-t", "--cached", "--others", "--exclude-standard"];
  // git lists tracked files last. They are updated first, because a file may have become a directory.
  const listed = splitAtNul(await runGit(repository, list, { index })).toReversed();
  const added = new Set(listed.filter((line) => line.startsWith("? ")).map((line) => line.slice(2)));
  const paths = [...new Set(listed.map((line) => line.slice(2)))].filter((path) => !isLeftOut(path));
  // A directory may have become a link or a file. `--replace` then removes the files that were in it.
  const files = paths.filter((path) => !path.endsWith("/") && !isBelowFile(path, added));
  const stdin = Buffer.from(files.map((path) => `${path}\0`).join(""), "latin1");
  await runGit(repository, ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], { index, stdin });
  if (innerRepositories === "include")
    for (const path of paths.filter((candidate) => candidate.endsWith("/")).map(readablePath)) {
      if ((count.repositories += 1) > maxInnerRepositories)
        throw new Fault("usage", `the work has more than ${maxInnerRepositories} repositories inside of it`);
      const innerIndex = `${index}.inner`;
      const inner = { ...repository, project: join(repository.project, path) };
      const tree = await writeFilesTree(inner, innerIndex, { ...options, isLeftOut: () => false, count });
      rmSync(innerIndex, { force: true });
      await run(repository, ["read-tree", `--prefix=${path}`, tree], { index });
    }
  return run(repository, ["write-tree"], { index });
}

/** Whether a directory of the path is now one of the added files. git would refuse such a path. */
function isBelowFile(path: string, added: ReadonlySet<string>): boolean {
  for (let end = path.lastIndexOf("/"); end > 0; end = path.lastIndexOf("/", end - 1)) if (added.has(path.slice(0, end))) return true;
  return false;
}

/** skein's own index of a member's files. The member can't change it. It is written last, so it means a complete workspace. */
function memberIndex(repository: ShadowRepository, directory: string): string {
  return join(repository.dir, "members", `${basename(directory)}.index`);
}

async function openWorkspace(repository: ShadowRepository, worktree: OpenedWorktree): Promise<void> {
  const { directory, branch, from, files = from } = worktree;
  if (!existsSync(join(repository.dir, "HEAD")))
    throw new Fault("usage", `the repository of the worktree ${directory} was removed: ${repository.dir}`, {
      hint: "its recorded files are kept: `skein worktrees clean`, then `skein fork <session> -w`",
    });
  const index = memberIndex(repository, directory);
  withoutLinks(dirname(index), () => makeDirectorySafely(dirname(index)));
  await adoptOldWorktree(repository, worktree);
  if (existsSync(index) && existsSync(directory)) {
    if (hasClone(directory)) return;
    // The member removed its repository, or replaced it. Its files are its work and stay.
    removeSafely(join(directory, ".git"));
    return createClone(repository, worktree);
  }
  withoutLinks(directory, () => {
    removeSafely(directory);
    makeDirectorySafely(directory);
  });
  await run(repository, ["update-ref", `refs/heads/${branch}`, from]);
  await withTemporaryIndex(repository, async (first) => {
    await run({ ...repository, project: directory }, ["read-tree", "--reset", "-u", files], { index: first, access: "write" });
    await createClone(repository, worktree);
    await worktree.onFiles?.();
    renameSafely(first, index);
  });
}

/** skein 0.1.0 gave members worktrees of the team's repository. Their files stay; their link to it is replaced. */
async function adoptOldWorktree(repository: ShadowRepository, { directory, from }: OpenedWorktree): Promise<void> {
  const old = join(repository.dir, "worktrees", basename(directory));
  if (!existsSync(join(old, "index")) || !existsSync(directory)) return;
  await withTemporaryIndex(repository, async (index) => {
    await run(repository, ["read-tree", from], { index });
    renameSafely(index, memberIndex(repository, directory));
  });
  removeSafely(old);
}

/** Keeps commits that the member made, if they descend from the start of its work. */
async function commitWorkspace(repository: ShadowRepository, worktree: OpenedWorktree, author: CommitLabel): Promise<CommitResult> {
  const { directory, branch, from, leaveOut = [] } = worktree;
  const taken = await takeCommits(repository, worktree).then(
    (tip) => ({ tip, problem: null }),
    (error: unknown) => ({ tip: from, problem: `its own commits are not kept, only its files: ${messageOf(error)}` }),
  );
  const parent = (await isAncestor(repository, from, taken.tip)) ? taken.tip : from;
  const index = memberIndex(repository, directory);
  return withTemporaryIndex(repository, async (work) => {
    if (lstatSync(index, { throwIfNoEntry: false }) !== undefined) copyMemberIndex(index, work);
    const submodules = await submodulesOf(repository, from);
    const links = new Set(leaveOut.map((path) => Buffer.from(path).toString("latin1")));
    const isLeftOut = (path: string): boolean => links.has(path) || submodules.includes(path);
    const excludes = excludeFile(repository.project);
    const tree = await writeFilesTree({ ...repository, project: directory }, work, { innerRepositories: "include", excludes, isLeftOut });
    const problem = [taken.problem, submoduleProblem(directory, submodules)].filter((text) => text !== null).join("; ") || null;
    if (tree === (await treeOf(repository, from))) return { commit: null, problem };
    const isCommitted = tree === (await treeOf(repository, parent));
    const commit = isCommitted ? parent : await commitTree(repository, tree, [parent], author);
    await run(repository, ["update-ref", `refs/heads/${branch}`, commit]);
    renameSafely(work, index);
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

type UncheckedPlan = Omit<MergePlan, "guarded">;

/** Merges with the state of the project at the start of the work, so that later changes of the user stay. */
async function planMerge(repository: ProjectRepository, base: string, work: string): Promise<UncheckedPlan> {
  // A tool in the project may have added attributes that hide changes.
  const attributes = join(repository.dir, "info", "attributes");
  withoutLinks(attributes, () => replaceTextSafely(attributes, rawAttributes));
  const now = await commitProject(repository, base);
  const { tree, conflicts } = await mergeTrees(repository, now, work);
  const merged = conflicts.length > 0 ? now : await commitTree(repository, tree, [now, work], skeinCommit("brought into the project"));
  return { now, merged, tree, conflicts, changes: await diffTrees(repository, now, merged) };
}

/** git refuses if a file differs from the plan. */
async function merge(
  repository: ShadowRepository,
  { now, merged, conflicts, guarded }: Omit<MergePlan, "tree" | "changes">,
): Promise<void> {
  if (guarded.length > 0) throw new Fault("usage", guardedText(guarded), { hint: "`skein merge` shows them and asks" });
  if (conflicts.length > 0) throw new Fault("usage", `the work conflicts with the project in ${conflicts.join(", ")}`);
  await withTemporaryIndex(repository, async (index) => {
    await run(repository, ["read-tree", now], { index });
    // git replaces only files that it has checked itself.
    await run(repository, ["update-index", "-q", "--refresh"], { index }).catch(() => "");
    await run(repository, ["read-tree", "-m", "-u", now, merged], { index, access: "write" });
  });
}

/**
 * Completes the files that a killed merge left half-written: git removes a file before it writes the new version. A file that
 * the user has changed since stays as it is.
 */
async function repairMerge(repository: ProjectRepository, { now, merged }: Pick<MergePlan, "now" | "merged">): Promise<void> {
  const current = await commitProject(repository, now);
  const pathsBetween = async (from: string, to: string) =>
    new Set((await rawChanges(repository, from, to, false)).raw.map(({ path }) => path));
  const isOld = await pathsBetween(now, current);
  const open = (await rawChanges(repository, current, merged, false)).raw;
  const changed = await pathsBetween(now, merged);
  const broken: string[] = [];
  for (const { path, before, after } of open.filter((change) => changed.has(change.path) && isOld.has(change.path))) {
    if (after.mode === missingMode) continue;
    if (before.mode === missingMode || (await isPrefix(repository, before.id, after.id))) broken.push(path);
  }
  if (broken.length === 0) return;
  await withTemporaryIndex(repository, async (index) => {
    await run(repository, ["read-tree", merged], { index });
    const stdin = Buffer.from(broken.map((path) => `${path}\0`).join(""), "latin1");
    await run(repository, ["checkout-index", "--force", "-z", "--stdin"], { index, stdin, access: "write" });
  });
}

const missingMode = "000000";

async function isPrefix(repository: ShadowRepository, start: string, whole: string): Promise<boolean> {
  const [part, all] = await Promise.all([start, whole].map((id) => runGit(repository, ["cat-file", "blob", id])));
  return part !== undefined && all?.subarray(0, part.length).equals(part) === true;
}

/**
 * Brings the project's files of now into the worktree. A file that both changed gets both sides with markers. `work` is the
 * worktree's latest commit. Returns the plan; its `now` is the new start of the work.
 */
async function updateWorkspace(repository: ProjectRepository, worktree: OpenedWorktree, work: string): Promise<UncheckedPlan> {
  const { directory, from } = worktree;
  const now = await commitProject(repository, from);
  // git writes the names of the two sides into the markers.
  await run(repository, ["update-ref", "refs/heads/project", now]);
  await run(repository, ["update-ref", "refs/heads/worktree", work]);
  const { tree, conflicts } = await mergeTrees(repository, "project", "worktree");
  const index = memberIndex(repository, directory);
  const merged = await commitTree(repository, tree, [now, work], skeinCommit("the project's files of now"));
  await withTemporaryIndex(repository, async (updated) => {
    copyMemberIndex(index, updated);
    await run({ ...repository, project: directory }, ["read-tree", "-m", "-u", work, merged], { index: updated, access: "write" });
    renameSafely(updated, index);
  });
  // The member may have broken its clone, which only hurts itself.
  await showAsCommitted(repository, worktree, now).catch(() => null);
  return { now, merged, tree, conflicts, changes: await diffTrees(repository, now, merged) };
}
