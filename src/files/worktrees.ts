// Git worktrees for a team. They belong to a repository of the team's own, which borrows the project's objects: what is
// committed there touches nothing of the person's, and nothing that a repository or a worktree names is ever run.
import { copyFileSync, existsSync, lstatSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { basename, join, resolve } from "node:path";
import { Fault } from "../protocol/api/error.ts";
import type { JoinResult, MergePlan, TeamRepository, Worktrees, Worktree } from "../protocol/api/ports.ts";
import { diffTrees, patchBetween } from "./snapshots/snapshot-diff.ts";
import { tryGit, readablePath, runGit, splitAtNul, type GitOptions, type ShadowRepository } from "./git.ts";
import { readProjectGit } from "./project/project-git.ts";
import { prepareShadow } from "./snapshots/shadow.ts";

/** `path` is where programs are looked for. */
export function createWorktrees(path: string): Worktrees {
  const on = (at: TeamRepository): ShadowRepository => repositoryOf(path, at);
  // git reads all worktrees when it makes one, and fails on one that is just being made.
  let made: Promise<unknown> = Promise.resolve();
  return {
    base: async (at) => {
      const common = await objectsOf(path, at.project);
      if (common === null) return null;
      prepare(on(at), common);
      const head = await readProjectGit({ project: at.project, path }, ["rev-parse", "--verify", "--quiet", "HEAD"], quick);
      return commitFiles(on(at), { parent: head?.bytes.toString().trim() || null, index: join(common, "index"), inner: "left" });
    },
    open: (at, worktree) => {
      const opened = made.then(() => openWorktree(on(at), worktree));
      made = opened.catch(() => {});
      return opened;
    },
    commit: (at, worktree, by) => commitWorktree(on(at), worktree, by),
    join: (at, onto, works, message) => joinCommits(on(at), onto, works, message),
    changes: (at, from, to) => diffTrees(on(at), from, to),
    patch: (at, from, to) => patchBetween(on(at), from, to),
    planMerge: (at, base, work) => planMerge(on(at), base, work),
    merge: (at, plan) => merge(on(at), plan),
  };
}

const quick = { mostBytes: 4_096, limitMs: 10_000 };

function repositoryOf(path: string, { project, repository }: TeamRepository): ShadowRepository {
  const git = Bun.which("git", { PATH: path });
  if (git === null || !git.startsWith("/")) throw new Fault("not-installed", "git is not installed", { hint: "a team works in worktrees" });
  return { git, path, dir: repository, project };
}

/** The directory of the project's repository that has its objects; a worktree's is elsewhere. */
async function objectsOf(path: string, project: string): Promise<string | null> {
  const found = await readProjectGit({ project, path }, ["rev-parse", "--git-common-dir"], quick);
  return found === null ? null : resolve(project, found.bytes.toString().trim());
}

function prepare(repository: ShadowRepository, common: string): void {
  prepareShadow(repository);
  mkdirSync(join(repository.dir, "objects", "info"), { recursive: true });
  writeFileSync(join(repository.dir, "objects", "info", "alternates"), `${join(common, "objects")}\n`);
}

type From = {
  parent: string | null;
  /** An index to begin with: what it knows of files need not be read again. */
  index: string;
  inner: Inner;
};

/** Repositories inside: in the person's project they are projects of their own; what a member makes of one is its work. */
type Inner = "left" | "kept";

/** The files of the working tree as a commit, with an index of its own. */
async function commitFiles(
  repository: ShadowRepository,
  { parent, index, inner }: From,
  by = skein("the files as they are"),
): Promise<string> {
  const own = join(repository.dir, `files-${process.pid}-${crypto.randomUUID()}.index`);
  try {
    if (existsSync(index)) copyFileSync(index, own);
    const tree = await treeOfFiles(repository, own, inner);
    return (await commitTree(repository, tree, parent === null ? [] : [parent], by)).trim();
  } finally {
    rmSync(own, { force: true });
  }
}

async function treeOfFiles(repository: ShadowRepository, index: string, inner: Inner): Promise<string> {
  const listed = join(repository.project, ".git", "info", "exclude");
  const excludes = ["-c", `core.excludesFile=${existsSync(listed) ? listed : "/dev/null"}`];
  const list = [...excludes, "ls-files", "-z", "--cached", "--others", "--exclude-standard"];
  // What is known comes after what is not; it goes first, because a file may have become a directory.
  const paths = [...new Set(splitAtNul(await runGit(repository, list, { index })).toReversed())];
  const files = paths.filter((path) => !path.endsWith("/"));
  const stdin = Buffer.from(files.map((path) => `${path}\0`).join(""), "latin1");
  await runGit(repository, ["update-index", "-z", "--add", "--remove", "--replace", "--stdin"], { index, stdin });
  if (inner === "kept")
    for (const path of paths.filter((one) => one.endsWith("/")).map(readablePath)) {
      const own = `${index}.inner`;
      const tree = await treeOfFiles({ ...repository, project: join(repository.project, path) }, own, inner);
      rmSync(own, { force: true });
      await run(repository, ["read-tree", `--prefix=${path}`, tree], { index });
    }
  return run(repository, ["write-tree"], { index });
}

async function openWorktree(repository: ShadowRepository, { directory, branch, from }: Worktree & { from: string }): Promise<void> {
  const own = join(repository.dir, "worktrees", basename(directory));
  const index = join(own, "index");
  if (existsSync(index) && existsSync(directory)) return linkTo(own, directory);
  rmSync(directory, { recursive: true, force: true });
  rmSync(own, { recursive: true, force: true });
  await run(repository, ["worktree", "add", "--quiet", "--no-checkout", "-B", branch, directory, from]);
  await run({ ...repository, project: directory }, ["read-tree", "--reset", "-u", from], { index: `${index}.first` });
  renameSync(`${index}.first`, index);
}

/** Who works there may have removed it; what it did is not lost for that. */
function linkTo(own: string, directory: string): void {
  const link = join(directory, ".git");
  if (lstatSync(link, { throwIfNoEntry: false }) === undefined) writeFileSync(link, `gitdir: ${own}\n`, { flag: "wx" });
}

/** Commits that were made in it are kept where they follow from where it began. */
async function commitWorktree(
  repository: ShadowRepository,
  { directory, branch, from }: Worktree & { from: string },
  by: { name: string; message: string },
): Promise<string | null> {
  const at = { ...repository, project: directory };
  const tip = await run(repository, ["rev-parse", "--verify", "--quiet", `refs/heads/${branch}^{commit}`]).catch(() => from);
  const parent = (await isAncestor(repository, from, tip)) ? tip : from;
  const own = join(repository.dir, "worktrees", basename(directory), "index");
  const commit = await commitFiles(at, { parent, index: own, inner: "kept" }, by);
  const [before, after] = await Promise.all([treeOf(repository, from), treeOf(repository, commit)]);
  if (before === after) return null;
  const isNothingNew = (await treeOf(repository, parent)) === after;
  const kept = isNothingNew ? parent : commit;
  await run(repository, ["update-ref", `refs/heads/${branch}`, kept]);
  // Whoever goes on there sees its own work as committed.
  await run(at, ["read-tree", kept], { index: own });
  return kept;
}

async function joinCommits(
  repository: ShadowRepository,
  onto: string,
  works: readonly { name: string; commit: string }[],
  message: string,
): Promise<JoinResult> {
  const joined: JoinResult = { commit: onto, conflicts: [] };
  for (const { name, commit } of works) {
    const { tree, conflicts } = await mergeTrees(repository, joined.commit, commit);
    if (conflicts.length > 0) joined.conflicts.push({ name, paths: conflicts });
    else joined.commit = (await commitTree(repository, tree, [joined.commit, commit], skein(`${message}\n\n${name}`))).trim();
  }
  if (joined.commit !== onto) await run(repository, ["update-ref", "refs/heads/joined", joined.commit]);
  return joined;
}

/** Three ways, from where both parted. Touches no file. */
async function mergeTrees(repository: ShadowRepository, ours: string, theirs: string): Promise<{ tree: string; conflicts: string[] }> {
  const child = await tryGit(repository, ["merge-tree", "--write-tree", "--name-only", "--no-messages", "-z", ours, theirs]);
  if (child.code !== 0 && child.code !== 1)
    throw new Fault("internal", `git merge-tree failed: ${child.err}`, { hint: "joining work needs git 2.38 or later" });
  const [tree = "", ...paths] = splitAtNul(child.out);
  return { tree, conflicts: child.code === 0 ? [] : [...new Set(paths.filter((path) => path !== "").map(readablePath))] };
}

/** From the state of the project that the work began with: what was changed in it since is kept. */
async function planMerge(repository: ShadowRepository, base: string, work: string): Promise<MergePlan> {
  const common = join(repository.project, ".git", "index");
  const now = await commitFiles(repository, { parent: base, index: common, inner: "left" });
  const { tree, conflicts } = await mergeTrees(repository, now, work);
  const merged = conflicts.length > 0 ? now : (await commitTree(repository, tree, [now, work], skein("brought into the project"))).trim();
  return { now, merged, conflicts, changes: await diffTrees(repository, now, merged) };
}

/** git itself refuses where a file is not as the plan knows it. */
async function merge(repository: ShadowRepository, { now, merged, conflicts }: MergePlan): Promise<void> {
  if (conflicts.length > 0) throw new Fault("usage", `the work conflicts with the project in ${conflicts.join(", ")}`);
  const index = join(repository.dir, `merge-${process.pid}-${crypto.randomUUID()}.index`);
  try {
    await run(repository, ["read-tree", now], { index });
    // Only what it has looked at itself may be replaced.
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

type By = { name: string; message: string };

function skein(message: string): By {
  return { name: "skein", message };
}

function commitTree(repository: ShadowRepository, tree: string, parents: readonly string[], { name, message }: By): Promise<string> {
  const who = ["-c", `user.name=${name}`, "-c", "user.email=skein@localhost", "-c", "commit.gpgSign=false"];
  return run(repository, [...who, "commit-tree", tree, ...parents.flatMap((parent) => ["-p", parent]), "-m", message]);
}

async function run(repository: ShadowRepository, args: readonly string[], options: GitOptions = {}): Promise<string> {
  return (await runGit(repository, args, options)).toString().trim();
}
