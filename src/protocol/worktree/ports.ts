// Ports for worktrees: directories beside the project in which a team's member or a session works. Their repositories use the
// project's git objects. The project's own repository, index and files do not change before a merge.
import type { FileChange } from "../tree/file-changes.ts";
import type { WorktreeRecord } from "../schema/worktrees.ts";

export type { WorktreeInfo, WorktreeRecord, WorktreeRequest } from "../schema/worktrees.ts";

/** Git worktrees of a project, each group in a repository of its own. */
export type Worktrees = {
  /** The project's last commit, or its files now as a commit. Without a commit to start at, both are the files now. */
  base: (at: WorktreeRepository, start: "commit" | "files") => Promise<string>;
  /** Whether the project has a git repository that git can read. */
  hasRepository: (project: string) => Promise<boolean>;
  /** Opens a workspace at that commit: a clone on its own branch. An existing one is left as it is. */
  open: (at: WorktreeRepository, worktree: OpenedWorktree) => Promise<void>;
  /** Commits all changes since its start to its branch. */
  commit: (at: WorktreeRepository, worktree: OpenedWorktree, by: { name: string; message: string }) => Promise<CommitResult>;
  /** Merges the commits of several members onto `onto`, one after the other. A commit that conflicts is left out and listed. */
  combine: (
    at: WorktreeRepository,
    onto: string,
    works: readonly { name: string; commit: string }[],
    message: string,
  ) => Promise<CombineResult>;
  changes: (at: WorktreeRepository, from: string, to: string) => Promise<FileChange[]>;
  patch: (at: WorktreeRepository, from: string, to: string) => Promise<string>;
  /** Returns the changes and conflicts that a merge of `work` into the project would bring now. */
  planMerge: (at: WorktreeRepository, base: string, work: string) => Promise<MergePlan>;
  /** Merges into the project's files only, unless one of them has changed since. Refuses `guarded` files. */
  merge: (at: WorktreeRepository, plan: MergePlan) => Promise<void>;
  /** Completes files that a killed merge left half-written. Files that changed otherwise stay. */
  repairMerge: (at: WorktreeRepository, plan: Pick<MergePlan, "now" | "merged">) => Promise<void>;
  /** Brings the project's files of now into a worktree, with conflict markers where both changed. `now` is its new start. */
  update: (at: WorktreeRepository, worktree: OpenedWorktree, work: string) => Promise<MergePlan>;
};

/** Absolute paths of the project and of the bare repository of its worktrees. */
export type WorktreeRepository = { project: string; gitDir: string };
export type Worktree = { directory: string; branch: string };
export type OpenedWorktree = Worktree & {
  /** The commit at which the work starts. */
  from: string;
  /** A commit with other files to begin with. They count as uncommitted work. */
  files?: string;
  /** Paths that are never committed, such as links to directories of the project. */
  leaveOut?: readonly string[];
  /** Called when all files of the commit are there, before the worktree counts as complete. */
  onFiles?: () => Promise<void>;
};

/** `tree` has both sides of a conflict, with markers. */
export type MergePlan = {
  now: string;
  merged: string;
  tree: string;
  conflicts: string[];
  changes: FileChange[];
  /** Changed files that the user's git runs or obeys. Tools can't write them in the project, so only a person may merge them. */
  guarded: string[];
};

export type CommitResult = {
  /** Null if nothing changed. */
  commit: string | null;
  /** The commit lacks something, such as commits that the member made itself; null if it is complete. */
  problem: string | null;
};

export type CombineResult = { commit: string; conflicts: { name: string; paths: string[] }[] };

/** A recorded state of a project's files that a worktree begins with. */
export type StartFiles = { project: string; tree: string };

/** The start of a worktree: the last commit, the files now, or a recorded state of the project's files. */
export type WorktreeStart =
  | { from: "commit" }
  | { from: "files" }
  | { from: "recorded"; files: StartFiles }
  /** The start of another worktree of the project, with a recorded state of its files. */
  | { from: "worktree"; name: string; base: string; files: StartFiles };

/** Relative paths of ignored files that are copied, and of directories that are linked; notes for the user. */
export type IgnoredFiles = Pick<WorktreeRecord, "copied" | "linked"> & { notes: string[] };

export type WorktreeSettings = {
  /** The command that prepares a new worktree; null if there is none. That of a project counts only if the project is trusted. */
  setup: string | null;
  withIgnored: boolean;
};

export type StartedWorktree = Pick<WorktreeRecord, "base" | "files"> & { notes: string[] };

/** The worktrees of sessions, in `.skein/worktrees` of their project. Every method is async, so that it can be loaded late. */
export type SessionWorktrees = {
  /**
   * Creates the repository of a new worktree and returns the commit of its start, with notes for the user. Throws if the
   * project can have no worktree, or if the store does not know the directory of that name.
   */
  start: (project: string, name: string, start: WorktreeStart) => Promise<StartedWorktree>;
  /** The configuration of a project for its worktrees. */
  settings: (project: string) => Promise<WorktreeSettings>;
  /** Chooses the ignored files for a new worktree: those of `.worktreeinclude`, and with `withIgnored` others. */
  planIgnored: (project: string, options: { withIgnored: boolean }) => Promise<IgnoredFiles>;
  /** A port that is free now and not in `taken`. It is the same for the same worktree if possible. */
  choosePort: (directory: string, taken: readonly number[]) => Promise<number>;
  /** Creates the directory with its files, unless it is complete. One process does it at a time. True if it was created. */
  open: (record: WorktreeRecord) => Promise<boolean>;
  /** Copies a recorded state of its own files into the repository. Returns a commit for `WorktreeRecord.files`. */
  keepFiles: (record: WorktreeRecord, files: StartFiles) => Promise<string>;
  /** `incomplete`: its creation was killed. */
  condition: (record: WorktreeRecord) => Promise<"complete" | "incomplete" | "missing">;
  /** Commits the work so far in skein's own repository. The commit is the base if nothing changed. */
  commit: (record: WorktreeRecord) => Promise<{ commit: string; problem: string | null }>;
  changes: (record: WorktreeRecord, from: string, to: string) => Promise<FileChange[]>;
  patch: (record: WorktreeRecord, from: string, to: string) => Promise<string>;
  planMerge: (record: WorktreeRecord, work: string) => Promise<MergePlan>;
  merge: (record: WorktreeRecord, plan: MergePlan) => Promise<void>;
  /** Completes the files of the killed merge in `record.merging`. */
  repairMerge: (record: WorktreeRecord) => Promise<void>;
  update: (record: WorktreeRecord, work: string) => Promise<MergePlan>;
  /** The bytes of its files, without linked directories. */
  sizeOf: (record: WorktreeRecord) => Promise<number>;
  remove: (record: WorktreeRecord) => Promise<void>;
};
