// Methods on sessions and their trees.
import { z } from "zod";
import * as is from "../fields.ts";
import { branchComparison, branchFiles, description, plan, purgeReport, sessionView, treeView, undoReport } from "../results.ts";
import { node, session } from "../tree.ts";
import { catchUpReport } from "../views/catch-up-views.ts";
import { worktreeRequest } from "../worktrees.ts";
import { inDirectory, inSession, nothing, optionalFlag, optionalLimit, type Method } from "./method.ts";

const find = z
  .discriminatedUnion("by", [
    is.fields({ by: z.literal("name"), wanted: is.name, orCreate: is.trueByDefault }),
    is.fields({ by: z.literal("latest") }),
    is.fields({ by: z.literal("interrupted") }),
    is.fields({ by: z.literal("new") }),
  ])
  .prefault({ by: "new" });

export const sessionMethods = {
  "session.open": {
    params: {
      /** The session belongs to the project of this directory. */
      ...inDirectory,
      find,
      name: is.name.optional(),
      agent: is.name.default("auto"),
      model: is.nameOrNull,
      task: is.textOrNull,
      toolLevel: is.toolLevel.default("orchestrator"),
      parentSession: is.nameOrNull,
      transcriptDir: is.pathOrNull,
      id: z.uuid({ error: "must be a UUID in lower case" }).lowercase("must be a UUID in lower case").optional(),
      /** The plan that a new session executes. */
      plan: is.fields({ file: is.path, text: is.text }).optional(),
      /** A new session works in a worktree of the project. */
      worktree: worktreeRequest.nullable().optional(),
    },
    result: session,
    summary: "Creates a session, or finds one: by name, the project's latest, or the one of its latest interrupted turn.",
  },
  "session.list": {
    params: {
      project: is.pathOrNull,
      archived: optionalFlag,
      subSessions: optionalFlag,
      limit: z.number().int().min(1).optional(),
    },
    result: z.array(session),
    summary: "Lists sessions, the latest first; `project` null means all projects.",
  },
  "session.tree": {
    params: { ...inSession, archived: optionalFlag, brief: optionalFlag },
    result: treeView,
    summary:
      "Returns the tree of a session: all nodes, sessions and turns. Archived sessions only with `archived`. With `brief`, long texts of nodes are cut.",
  },
  "session.show": {
    params: { ...inSession, maxChars: optionalLimit },
    result: sessionView,
    summary:
      "Returns the state of a session at one moment: its path and turns, its sub-sessions (`spawned`) and their usage (`below`), open questions, queued messages, and the open turn with its drafts (`open`, also if its process has exited). `turn.watch` continues after its `seq`. `max_chars` limits the JSON of its nodes: the first ones are left out, and longer texts are cut.",
  },
  "session.leaves": { params: inSession, result: z.array(node), summary: "Returns the last node of every branch of its tree." },
  "session.find": {
    params: { wanted: is.name, ...inDirectory },
    result: session,
    summary: "Finds a session by id, end of an id, or name. A name in the directory's project takes precedence.",
  },
  "session.fork": {
    params: { ...inSession, at: is.nameOrNull, name: is.nameOrNull, worktree: worktreeRequest.nullable().optional() },
    result: session,
    summary:
      "Creates a session at an earlier node, or at the tip. The old session keeps its tip. With `worktree` it works in a worktree that begins with the files of that node.",
  },
  "session.move": {
    params: { ...inSession, node: is.name.nullable() },
    result: session,
    summary:
      "Moves the session to another node of its tree; null is before the first. Its task becomes that of the new path. Files do not change.",
  },
  "session.undo": {
    params: { ...inSession, dryRun: is.falseByDefault },
    result: undoReport,
    summary:
      "Takes back the last turn of the session: moves the session before the prompt and restores the files that the turn changed. A file that others changed since stays as it is. `session.redo` undoes it.",
  },
  "session.redo": {
    params: { ...inSession, dryRun: is.falseByDefault },
    result: undoReport,
    summary: "Puts the turn of the last undo back, with its files. Fails if the session has moved since.",
  },
  "session.rename": { params: { ...inSession, name: is.name }, result: session, summary: "Renames a session." },
  "session.archive": { params: inSession, result: session, summary: "Hides a session from lists. Nothing is deleted." },
  "session.restore": { params: inSession, result: session, summary: "Adds an archived session to the lists again." },
  "session.purge": {
    params: { session: is.nameOrNull, olderThanMs: is.count.default(30 * 86_400_000), dryRun: is.trueByDefault },
    result: purgeReport,
    summary: "Deletes archived sessions if `dry_run` is false: one, or all that were archived that long ago.",
  },
  "session.current": {
    params: inDirectory,
    result: session.nullable(),
    summary: "Returns the session that `--continue` means in this project.",
  },
  "session.use": { params: { ...inSession, ...inDirectory }, result: nothing, summary: "Makes a session the current one." },
  "session.catchUp": {
    params: { ...inSession, ...inDirectory },
    result: catchUpReport,
    summary: "Returns what was asked, done, changed, tested and left open in a session, as facts of its record. No model is asked.",
  },
  "session.describe": {
    params: {
      ...inSession,
      ...inDirectory,
      /** The model that writes the prose; null is the default model. */
      model: is.nameOrNull,
      /** A further question; the answer is `custom`. */
      instructions: is.textOrNull,
      /** Ignores a saved description. */
      anew: is.falseByDefault,
      /** Longest wait for the prose. */
      limitMs: is.milliseconds.default(120_000),
    },
    result: description,
    summary:
      "Describes a session and its outcome. Files, errors, tools and figures are read from the store. A model writes only the prose, in an archived sub-session. The description is saved until the session changes.",
  },
  "branch.compare": {
    params: { a: is.name, b: is.name, ...inDirectory },
    result: branchComparison,
    summary: "Compares two sessions or nodes: where they fork, and the work of each after that.",
  },
  "branch.files": {
    params: inSession,
    result: branchFiles,
    summary: "Returns the file changes that a session's branch made, and those that others made meanwhile.",
  },
  "plan.read": {
    params: inDirectory,
    result: plan,
    summary: "Returns the project's plan, `.skein/plan.md`; its text is empty if there is none.",
  },
  "plan.make": { params: inDirectory, result: plan, summary: "Creates the file of the plan if it is missing, and returns the plan." },
} satisfies Record<string, Method>;
