// The worktrees of sessions: their places, their creation by one process at a time, and their removal.
import { existsSync, lstatSync, rmSync } from "node:fs";
import { dirname, join } from "node:path";
import { loadConfig } from "../../config/load.ts";
import { trustState } from "../../config/trust.ts";
import type { GitRunner, ShadowRepository } from "../../files/git.ts";
import { shadowRepository } from "../../files/snapshots/shadow.ts";
import { commitTree, skeinCommit } from "../../files/worktrees/commits.ts";
import { copyCommit, copyTree } from "../../files/worktrees/copy-tree.ts";
import { directorySize } from "../../kit/files/directory-size.ts";
import type { FileReader } from "../../kit/files/file-reader.ts";
import { makeIgnoredDirectory } from "../../kit/files/ignored-directory.ts";
import { isTooBroad } from "../../kit/files/path-status.ts";
import { makeDirectorySafely, removeSafely, replaceTextSafely } from "../../kit/files/safe-file.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { gitignoreTexts, worktreeLocation } from "../../protocol/tree/skein-directory.ts";
import type {
  OpenedWorktree,
  SessionWorktrees,
  StartedWorktree,
  StartFiles,
  WorktreeRecord,
  WorktreeRepository,
  WorktreeSettings,
  Worktrees,
  WorktreeStart,
} from "../../protocol/worktree/ports.ts";
import { createSecretCheck } from "../../sandbox/project-secrets.ts";
import type { AppContext } from "../app-context.ts";
import { choosePort } from "./choose-port.ts";
import { withCreationLock } from "./creation-lock.ts";
import { addIgnored, planIgnored } from "./ignored-files.ts";

type WorktreeDeps = { worktrees: Worktrees; git: GitRunner };

export function createSessionWorktrees(ctx: AppContext, { worktrees, git }: WorktreeDeps): SessionWorktrees {
  /** The recorded files of a project. git runs in the user's project, because a worktree's directory may be deleted. */
  const snapshotsOf = (recorded: string, project: string): ShadowRepository => ({
    ...shadowRepository({ root: join(ctx.paths.data, "files"), git }, recorded),
    project,
  });
  const shadowOf = ({ project, gitDir }: WorktreeRepository): ShadowRepository => ({ git, dir: gitDir, project });
  const isSecret = () => createSecretCheck({ home: ctx.paths.home, isRoot: process.getuid?.() === 0, env: ctx.env });

  /** A commit with a recorded state of files, on top of `base`. */
  const commitFiles = async (at: WorktreeRepository, files: StartFiles, base: string) => {
    const repository = shadowOf(at);
    const index = join(at.gitDir, `start-${process.pid}-${crypto.randomUUID()}.index`);
    try {
      const { tree, leftOut } = await copyTree(snapshotsOf(files.project, at.project), repository, { tree: files.tree, base, index });
      const commit = await commitTree(repository, tree, [base], skeinCommit("the files of the conversation"));
      return { commit, notes: leftOut.map((path) => `${path} is too big to be recorded, so the worktree has no version of that time`) };
    } finally {
      for (const file of [index, `${index}.lock`]) rmSync(file, { force: true });
    }
  };
  const startAt = async (at: WorktreeRepository, start: WorktreeStart): Promise<StartedWorktree> => {
    if (start.from === "commit" || start.from === "files") return { base: await worktrees.base(at, start.from), files: null, notes: [] };
    const head = await worktrees.base(at, "commit");
    if (start.from === "recorded") {
      const { commit, notes } = await commitFiles(at, start.files, head);
      return { base: commit, files: null, notes };
    }
    const { gitDir } = worktreeLocation(at.project, start.name);
    await copyCommit(shadowOf({ project: at.project, gitDir }), shadowOf(at), start.base, head);
    const { commit, notes } = await commitFiles(at, start.files, start.base);
    return { base: start.base, files: commit, notes };
  };
  return {
    async start(project, name, start) {
      await refuseProject(ctx, worktrees, project);
      const place = worktreeLocation(project, name);
      if (lstatSync(place.directory, { throwIfNoEntry: false }) !== undefined)
        throw new Fault("usage", `${place.directory} exists, and skein has no record of such a worktree`, {
          hint: "choose another name, or move the directory away",
        });
      makeDirectories(place);
      // Without a record it is what a killed process left, or what the project brought along.
      removeSafely(place.gitDir);
      return startAt({ project, gitDir: place.gitDir }, start);
    },
    settings: async (project) => worktreeSettings(ctx, project),
    planIgnored: (project, options) => planIgnored(git, project, { ...options, isSecret: isSecret() }),
    choosePort: async (directory, taken) => choosePort(directory, taken),
    async open(record) {
      const at = repositoryOf(record);
      return withCreationLock(record.directory, { state: ctx.paths.state, onWait: ctx.warn }, async () => {
        if (conditionOf(record) === "complete") return false;
        await worktrees.open(at, { ...toOpened(record), onFiles: () => addIgnored(record, { isSecret: isSecret() }) });
        return true;
      });
    },
    keepFiles: async (record, files) => (await commitFiles(repositoryOf(record), files, record.base)).commit,
    condition: async (record) => conditionOf(record),
    async commit(record) {
      const by = { name: "skein", message: `work in ${record.name}` };
      const { commit, problem } = await worktrees.commit(repositoryOf(record), toOpened(record), by);
      return { commit: commit ?? record.base, problem };
    },
    changes: (record, from, to) => worktrees.changes(repositoryOf(record), from, to),
    patch: (record, from, to) => worktrees.patch(repositoryOf(record), from, to),
    planMerge: (record, work) => worktrees.planMerge(repositoryOf(record), record.base, work),
    merge: (record, plan) => worktrees.merge(repositoryOf(record), plan),
    async repairMerge(record) {
      if (record.merging !== null) await worktrees.repairMerge(repositoryOf(record), record.merging);
    },
    update: (record, work) => worktrees.update(repositoryOf(record), toOpened(record), work),
    sizeOf: async ({ directory }) => directorySize(directory).bytes,
    async remove(record) {
      const { directory, gitDir } = worktreeLocation(record.project, record.name);
      for (const path of [directory, gitDir]) removeSafely(path);
    },
  };
}

function repositoryOf({ project, name }: WorktreeRecord): WorktreeRepository {
  return { project, gitDir: worktreeLocation(project, name).gitDir };
}

function toOpened({ directory, branch, base, files, linked }: WorktreeRecord): OpenedWorktree {
  return { directory, branch, from: base, leaveOut: linked, ...(files === null ? {} : { files }) };
}

/** The index is written last, so it means that all files are there. */
function conditionOf(record: WorktreeRecord): "complete" | "incomplete" | "missing" {
  const { gitDir } = worktreeLocation(record.project, record.name);
  const isCreated = existsSync(join(gitDir, "members", `${record.name}.index`));
  if (!isCreated) return "incomplete";
  return lstatSync(record.directory, { throwIfNoEntry: false })?.isDirectory() === true ? "complete" : "missing";
}

async function refuseProject({ paths }: AppContext, worktrees: Worktrees, project: string): Promise<void> {
  if (isTooBroad(project, paths.home))
    throw new Fault("usage", `${project} is no project, so it can have no worktree`, { hint: "change to a project: -C <directory>" });
  // git lists the repositories that another one borrows from by lines.
  if (/[\n\r]/.test(project))
    throw new Fault("usage", "the path of the project has a line break, so it can have no worktree", {
      hint: "rename it, or run without -w",
    });
  if (existsSync(join(project, ".git")) && !(await worktrees.hasRepository(project)))
    throw new Fault("usage", `git can't read the repository of ${project}, so it can have no worktree`, {
      hint: "`git status` there shows why; or run without -w",
    });
}

/** The app's own project has its configuration loaded. Others may have sessions in the hub. */
function worktreeSettings({ config, env, paths, project: ownProject }: AppContext, project: string): WorktreeSettings {
  const trusted = (files: FileReader): boolean => trustState(paths, project, files).trusted;
  const { values } = project === ownProject ? config : loadConfig({ project, env, paths, trusted });
  return { setup: values.worktreeSetup, withIgnored: values.worktreeIgnored };
}

function makeDirectories({ root, gitDir }: { root: string; gitDir: string }): void {
  try {
    // A cloned repository may contain a link that leads elsewhere.
    makeIgnoredDirectory(dirname(root), gitignoreTexts.private);
    for (const directory of [root, dirname(gitDir)]) makeDirectorySafely(directory);
    // A link of that name is replaced, not followed.
    removeSafely(join(root, ".gitignore"));
    replaceTextSafely(join(root, ".gitignore"), "*\n", 0o644);
  } catch (error) {
    throw new Fault("file-unwritable", `${root} can't be created: ${messageOf(error)}`, { cause: error });
  }
}
