// Methods on the worktrees of sessions. `session.open` and `session.fork` with `worktree` create one.
import { z } from "zod";
import * as is from "../fields.ts";
import { worktreeCleanResult, worktreeDiff, worktreeInfo, worktreeMerge } from "../worktrees.ts";
import type { Method } from "./method.ts";

/** A session in a worktree, or the name of a worktree of the directory's project. */
const ofWorktree = { session: is.name, directory: is.pathOrNull };

export const worktreeMethods = {
  "worktree.list": {
    params: { project: is.pathOrNull },
    result: z.array(worktreeInfo),
    summary: "Lists the worktrees of a project, the latest first; null means all projects. Work that is not merged is counted.",
  },
  "worktree.diff": {
    params: ofWorktree,
    result: worktreeDiff,
    summary: "Returns the changes and the conflicts that a merge of a session's worktree would bring now. Changes no file.",
  },
  "worktree.merge": {
    params: {
      ...ofWorktree,
      /** `now` and `work` of the shown difference. The merge is refused if the files are others by now. */
      expected: is.fields({ now: is.name, work: is.name }).nullable().default(null),
      /** Whether files that the user's git runs or obeys may change. A person must have seen them. */
      guarded: is.falseByDefault,
    },
    result: worktreeMerge,
    summary:
      "Merges the work of a session's worktree into the project's files, also beside uncommitted changes. Changes nothing on a conflict, and without `guarded` nothing if the user's git runs or obeys a changed file. The worktree stays.",
  },
  "worktree.update": {
    params: ofWorktree,
    result: worktreeDiff,
    summary:
      "Brings the project's files of now into the worktree. A file that both changed gets both sides, with conflict markers, in the worktree.",
  },
  "worktree.clean": {
    params: { project: is.pathOrNull, name: is.nameOrNull, dryRun: is.trueByDefault, force: is.falseByDefault },
    result: worktreeCleanResult,
    summary:
      "Removes worktrees without unmerged work if `dry_run` is false: all of a project, or the one of that name. `force` also removes unmerged work, but only of a named one.",
  },
} satisfies Record<string, Method>;
