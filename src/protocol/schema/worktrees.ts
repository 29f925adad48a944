// Schemas of the worktrees of sessions: the request for one, its stored record, lists, and the results of a merge.
import { z } from "zod";
import { count, falseByDefault, fields, nullableText, texts, time } from "./fields.ts";
import { fileChange } from "./team.ts";

/** A name is a directory and a branch. */
export const worktreeName = z
  .string()
  .max(64)
  .regex(/^[A-Za-z0-9](?!.*\.\.)[A-Za-z0-9._-]*(?<!\.)(?<!\.lock)$/, "must have letters, digits, `-`, `_` and `.` only");

export const worktreeRequest = fields({
  name: worktreeName.nullable().default(null).describe("null: the end of the session's id. A worktree of that name is used again"),
  withChanges: falseByDefault.describe("starts with the project's uncommitted changes"),
  withIgnored: falseByDefault.describe("links ignored directories such as `node_modules`, and copies ignored files such as `.env`"),
}).meta({ id: "Worktree request" });
export type WorktreeRequest = z.output<typeof worktreeRequest>;

const commit = z.string().describe("a commit in skein's own repository of the worktree");

const placeFields = {
  name: z.string(),
  project: z.string().describe("the project that the work is for; absolute"),
  directory: z.string().describe("the worktree's files; absolute"),
  branch: z.string(),
};

/** The worktree of a session, as it was when the session was created. */
export const sessionWorktree = fields({ ...placeFields, base: commit.describe("the commit at which it started") }).meta({
  id: "Session worktree",
});

/** A merge that was started. Its end is recorded when all files are written. */
const startedMerge = fields({ now: commit, merged: commit, work: commit });

export const worktreeRecord = fields({
  ...placeFields,
  base: commit.describe("the start of the work that is not merged; a merge moves it"),
  files: commit.nullable().describe("the files that it began with, if they were not those of `base`"),
  port: count.describe("`SKEIN_PORT` of its tools"),
  linked: texts.describe("linked directories of the project, relative"),
  copied: texts.describe("copied ignored files of the project, relative"),
  setup: z.enum(["none", "pending", "done"]).describe("the state of the command `worktree_setup`"),
  createdAt: time,
  mergedAt: time.nullable(),
  merging: startedMerge.nullable(),
}).meta({ id: "Worktree record" });
export type WorktreeRecord = z.output<typeof worktreeRecord>;

export const worktreeInfo = fields({
  ...placeFields,
  base: commit,
  port: count,
  linked: texts.describe("linked directories of the project"),
  copied: texts.describe("ignored files that were copied"),
  sessions: z.array(fields({ id: z.string(), name: nullableText, running: z.boolean() })).describe("the latest first"),
  createdAt: time,
  mergedAt: time.nullable(),
  state: z
    .enum(["clean", "unmerged", "merged", "missing", "incomplete", "unknown"])
    .describe("`clean`: nothing was changed in it; `merged`: everything in it is in the project; `unknown`: git can't read its work"),
  changedFiles: count.nullable().describe("files with work that is not merged; null if it is not known"),
  bytes: count.nullable(),
  problem: nullableText,
}).meta({ id: "Worktree" });
export type WorktreeInfo = z.output<typeof worktreeInfo>;

const diffFields = {
  worktree: z.string(),
  project: z.string(),
  directory: z.string(),
  base: commit,
  work: commit,
  conflicts: texts.describe("files that the project and the worktree changed in the same place; nothing is merged then"),
  changes: z.array(fileChange).describe("what a merge would change in the project now; on a conflict, the work itself"),
  guarded: texts.describe("changed files that the user's git runs or obeys; only a person who saw them merges them"),
  problem: nullableText.describe("what is not part of the work, such as files in a submodule"),
};

const shownFields = { ...diffFields, now: commit.describe("the project's files now"), patch: z.string() };
export const worktreeDiff = fields(shownFields).meta({ id: "Worktree diff" });
export const printedMerge = fields({ ...shownFields, merged: z.boolean() });
export type WorktreeDiff = z.output<typeof worktreeDiff>;

export const worktreeMerge = fields({ ...diffFields, mergedAt: time }).meta({ id: "Worktree merge" });
export type WorktreeMerge = z.output<typeof worktreeMerge>;

export const worktreeCleanResult = fields({
  dryRun: z.boolean(),
  removed: z.array(fields({ name: z.string(), project: z.string(), directory: z.string(), bytes: count.nullable() })),
  skipped: z.array(fields({ name: z.string(), project: z.string(), reason: z.string() })),
  problems: texts,
}).meta({ id: "Worktrees cleaned" });
export type WorktreeCleanResult = z.output<typeof worktreeCleanResult>;
