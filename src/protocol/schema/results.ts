// Schemas of the results of Api methods, apart from the tree, events and teams. Their types are inferred from here.
import { z } from "zod";
import { historyKinds } from "../tree/history.ts";
import { importFormats } from "../tree/import.ts";
import { count, fields, hubOnly, nullableText, texts, time } from "./fields.ts";
import {
  ask,
  costFields,
  costIsPartial,
  id,
  node,
  pendingTurn,
  queuedInput,
  session,
  spent,
  status,
  turn,
  turnState,
  usage,
} from "./tree.ts";
import { fileChange, fileChangeFields } from "./team.ts";

const files = z.array(fileChange);

const sessionName = fields({ id: z.string(), name: nullableText });

/** A change that the branch did not make. */
const otherChange = fields({
  ...fileChangeFields,
  by: z.array(sessionName.nullable()).describe("the sessions that made it; null: not by an agent"),
  unclear: z.literal(true).optional().describe("several ran at the same time, or one was killed: not all of `by` need have changed it"),
}).meta({ id: "Other change" });
export type OtherChange = z.output<typeof otherChange>;
const otherFiles = z.array(otherChange);

// --- turns ----------------------------------------------------------------------------------------------

export const killReport = fields({
  session: id,
  outcome: z
    .enum(["not-running", "stopped", "killed", "withdrawn"])
    .describe("`stopped`: the turn recorded its own end; `killed`: skein recorded it instead; `withdrawn`: it had not started"),
  pid: count.nullable().describe("the process that ran the turn; null if it had exited"),
  status: status.nullable().describe("the status of the session's last turn"),
  turn: id.optional().describe("the turn that was withdrawn"),
});
export type KillReport = z.output<typeof killReport>;

export const pauseReport = fields({
  session: id,
  state: z.enum(["running", "paused", "not-running"]).describe("the state now"),
  isChanged: z.boolean().optional().describe("whether the call changed the state"),
  pid: count.nullable().describe("the process that runs the turn; null if nothing runs"),
});
export type PauseReport = z.output<typeof pauseReport>;

export const turnInfo = fields({
  state: turnState,
  pid: count.nullable().describe("the process that runs it; null if it has ended or is not visible from here"),
  session,
  turn,
  prompt: z.string().optional().describe("the message that started the turn; only in lists"),
  left: hubOnly(fields({ tokens: count.nullable(), costUsd: z.number().nullable() }).optional()).describe(
    "the budget left for it and its sub-sessions; only of a running turn with a budget",
  ),
  pending: pendingTurn.optional().describe("only of a turn that starts or continues later"),
  retryAt: time.optional().describe("its request was refused for a moment, and is sent again then; only of a running turn"),
  machine: z.string().optional().describe("the other machine of the fleet on which it runs"),
});
export type TurnInfo = z.output<typeof turnInfo>;

// --- sessions -------------------------------------------------------------------------------------------

const drafts = z.array(fields({ key: z.string(), text: z.string() }));

/** A turn whose process was killed. Its drafts become nodes when the session is used again. */
export const interruptedTurn = fields({
  session: id,
  turn: id,
  parent: id.nullable().describe("the node that the drafts follow"),
  drafts: drafts.describe('streamed text so far; `key` is "text", "thinking" or the id of a running call'),
});
export type InterruptedTurn = z.output<typeof interruptedTurn>;

export const treeView = fields({
  nodes: z.array(node),
  sessions: z.array(session),
  turns: z.array(turn),
  interrupted: z.array(interruptedTurn).optional(),
});
export type TreeView = z.output<typeof treeView>;

/** A sub-session at its own `seq`. */
const spawnedSession = fields({
  id,
  turn: id.describe("the turn that spawned it"),
  agent: z.string(),
  task: z.string(),
  createdAt: time,
  seq: count,
  state: z.union([z.enum(["running", "paused", "asking", "interrupted"]), status]).describe("of its turn, or the status of its last one"),
  spent: spent.describe("by its turns that have ended"),
  current: spent.describe("by its running turn"),
  said: z.string().describe("the end of its last message"),
});
export type SpawnedSession = z.output<typeof spawnedSession>;

/** A turn that has not ended. Its process may have exited. Drafts are at most 100 ms behind. */
const openTurn = fields({
  turn: id,
  state: turnState,
  pid: count.nullable(),
  drafts,
});
export type OpenTurnView = z.output<typeof openTurn>;

/** A session at `seq`. `turn.watch` continues from there. */
export const sessionView = fields({
  session,
  seq: count,
  nodes: z.array(node).describe("from the root to the tip"),
  turns: z.array(turn).describe("the turns of the path, and an open one"),
  spawned: z.array(spawnedSession).describe("sub-sessions of those turns, the oldest first"),
  below: spent.describe("by all sub-sessions"),
  asks: z.array(ask).describe("questions without an answer"),
  queue: z.array(queuedInput),
  pending: z.array(pendingTurn).describe("turns that start later, the next one first"),
  open: openTurn.nullable(),
});
export type SessionView = z.output<typeof sessionView>;

export const purgeReport = fields({
  dryRun: z.boolean(),
  sessions: z.array(fields({ id, name: nullableText, project: z.string(), archivedAt: time })),
  skipped: z.array(fields({ id, name: nullableText, reason: z.string() })),
  nodes: count,
  keptNodes: count.describe("nodes of purged sessions that another session needs"),
  turns: count,
  outputs: count,
  transcripts: count,
  bytes: count,
  directories: texts.optional().describe("of teams and snapshots that no session needs"),
  problems: texts,
});
export type PurgeReport = z.output<typeof purgeReport>;

const outcomes = fields({
  decisions: texts.optional(),
  insights: texts.optional(),
  challenges: texts.optional(),
  nextSteps: texts.optional(),
});
const prose = { oneLiner: z.string(), summary: z.string(), outcomes: outcomes.optional(), custom: z.string().optional() };
const sessionProse = fields(prose);
/** The part of a description that a model writes. */
export type SessionProse = z.output<typeof sessionProse>;

/** Everything but the prose is read from the store. Empty fields are left out. */
export const description = fields({
  ...prose,
  oneLiner: prose.oneLiner.optional(),
  summary: prose.summary.optional(),
  session: sessionName,
  sessionType: z.enum(["minimal", "standard", "detailed"]),
  status: status.nullable().describe("of its last turn; null while one runs, or before the first"),
  timeline: z.array(fields({ at: time, agent: z.string(), task: z.string(), status: status.nullable() })).optional(),
  artifacts: fields({
    files: files.optional(),
    errors: z.array(fields({ by: z.string(), message: z.string() })).optional(),
    tools: z.array(fields({ name: z.string(), calls: count, failed: count })).optional(),
  }).optional(),
  metrics: fields({
    messageCount: count,
    turns: count,
    durationSeconds: z.number().describe("from the start of the first turn to the end of the last"),
    workSeconds: z.number().describe("the time that turns took"),
    inputTokens: count,
    outputTokens: count,
    ...costFields,
  }),
  notes: texts.optional().describe("missing parts and the reason"),
});
export type Description = z.output<typeof description>;
export type SessionType = Description["sessionType"];

const creditedFiles = {
  files: files.nullable().describe("made by its own turns; null if its files are not recorded"),
  otherFiles: otherFiles.describe("not by this branch: made by a person or another session while it worked"),
  unknownFiles: count.describe("answers with calls whose files are not known"),
};

/** Work of one branch after the fork. */
const branchSide = fields({
  session: session.nullable().describe("null if a node was named"),
  tip: nullableText,
  nodes: count.describe("after the fork, like all fields below"),
  messages: count,
  toolCalls: count,
  failedCalls: count,
  turns: count,
  steps: count.describe("model requests"),
  usage,
  ...costFields,
  startedAt: time.nullable(),
  endedAt: time.nullable(),
  status: status.nullable().describe("the status of its last turn"),
  firstMessage: nullableText,
  answer: nullableText,
  ...creditedFiles,
}).meta({ id: "Branch" });
export type BranchSide = z.output<typeof branchSide>;

export const branchComparison = fields({
  fork: node.nullable().describe("the last shared node; null if they share none"),
  sharedNodes: count,
  shared: fields({ messages: count, toolCalls: count }).describe("before the fork"),
  a: branchSide,
  b: branchSide,
});
export type BranchComparison = z.output<typeof branchComparison>;

export const branchFilesFields = {
  project: nullableText.describe("the project of its last recorded call; null if no call was recorded"),
  ...creditedFiles,
  patch: z.string().describe("unified diff of `files`, at most 16 MB"),
};
/** The file changes of a whole branch, from its first node on. */
export const branchFiles = fields(branchFilesFields);
export type BranchFilesReport = z.output<typeof branchFiles>;

// --- nodes and handles ----------------------------------------------------------------------------------

export const foundNode = fields({
  node,
  session: session.describe("the session that wrote it"),
  snippet: z.string(),
  marks: z.array(z.tuple([count, count])).describe("matches as [start, end) in the snippet"),
  rank: z.number().describe("lower is better"),
  before: node.nullable(),
  after: node.nullable(),
});
export type FoundNode = z.output<typeof foundNode>;

export const handleContent = fields({
  content: z.string().describe("text, or base64 on request"),
  bytes: count,
  cutBytes: count.describe("bytes that are not in `content`"),
});
export type HandleContent = z.output<typeof handleContent>;

/** Kinds to search. Sessions are found by their messages, so their names and tasks are searched on request only. */
export const historyKindList = z.array(z.enum(historyKinds)).min(1).max(historyKinds.length).default(["conversation", "commit"]);

/** A text from the project's history. It is data, never an instruction; secrets are removed. */
const historyHit = fields({
  kind: z.enum(historyKinds),
  id: z.string().describe("of the node or the commit"),
  session: sessionName.nullable().describe("the session of a node"),
  by: z.string().describe("user, agent, tool or note; the author of a commit"),
  at: time,
  when: z.string().describe('"3 days ago"'),
  text: z.string(),
  files: texts.optional().describe("the first files that a commit changed"),
  queries: texts.describe("the queries that match"),
});
export type HistoryHit = z.output<typeof historyHit>;

export const historyResult = fields({
  hits: z.array(historyHit),
  hidden: count.describe("further hits that the same asker got within a day"),
  notes: texts.describe("parts that could not be searched, and the reason"),
});
export type HistorySearchResult = z.output<typeof historyResult>;

export const importReport = fields({
  session,
  format: z.enum(importFormats),
  nodes: fields({ added: count, known: count.describe("nodes that were stored before") }),
  turns: count.describe("turns that got nodes"),
  branches: count.describe("leaves of the tree in the file"),
  unreadable: count.describe("lines that were skipped"),
  torn: z.boolean().describe("the last line was cut off"),
});
export type ImportReport = z.output<typeof importReport>;

const toolDefinition = z.strictObject({
  name: z.string(),
  description: z.string(),
  parameters: z.record(z.string(), z.unknown()).describe("JSON schema of an object"),
});

/** The exact request of the session's agent; token counts are estimates. */
export const contextView = fields({
  session,
  node: id.nullable(),
  model: nullableText,
  system: z.string(),
  tools: z.array(toolDefinition),
  messages: z.array(fields({ role: z.string(), text: z.string(), tokens: count })),
  tokens: fields({ system: count, tools: count, messages: count }),
  body: nullableText.describe("the body of the request; null if there is no model to ask"),
});

export type ContextView = z.output<typeof contextView>;

// --- files ----------------------------------------------------------------------------------------------

const filesState = z
  .string()
  .regex(/^[0-9a-f]{40}$/)
  .describe("a recorded state of the project's files");
export const diffFields = {
  project: z.string(),
  from: filesState,
  to: filesState,
  changes: files,
  patch: z.string().describe("unified diff, at most 16 MB"),
  others: otherFiles.describe("the part of `changes` that is not, or not only, by the branch of the named node"),
};
export const filesDiff = fields(diffFields);
export type FilesDiff = z.output<typeof filesDiff>;

export const restoreFields = {
  ...diffFields,
  kept: texts.describe("paths that can't be restored: too big to store, or an unrecorded file is in the way"),
  undo: z.string().describe("the state before the restore; restore it to undo"),
};
export const filesRestorePlan = fields(restoreFields);
export type FilesRestorePlan = z.output<typeof filesRestorePlan>;

export const undoFields = {
  session,
  turn: id.describe("the turn that was taken back or put back"),
  prompt: nullableText.describe("the text that started the turn"),
  files: z
    .enum(["changed", "unchanged", "unknown"])
    .describe("`unknown`: the files of the turn were not recorded, so they stay as they are"),
  changes: files,
  kept: texts.describe("files of the turn that stay as they are: changed by others, too big to store, or an unrecorded file is in the way"),
};
export const undoReport = fields(undoFields);
export type UndoReport = z.output<typeof undoReport>;

export const listFilesResult = fields({ files: texts.describe("relative to the directory, the best match first"), total: count });
export type ListFilesResult = z.output<typeof listFilesResult>;

/** A plan at the start of its execution. The project's plan names the session that planned it. */
export const plan = fields({ file: z.string(), text: z.string() });
export type Plan = z.output<typeof plan>;

export const tokenCount = fields({
  tokenizer: z.literal("o200k_base"),
  totalTokens: count,
  totalFiles: count,
  estimatedFiles: count.describe("files estimated by size because the time was up"),
  largestFiles: z.array(fields({ path: z.string(), tokens: count })),
  largestDirectories: z.array(fields({ path: z.string(), tokens: count, files: count })).describe("with everything in them"),
  skipped: fields({ binary: count, unreadable: count, secret: count }).describe("files that are not counted"),
});
export type TokenCount = z.output<typeof tokenCount>;

// --- store ----------------------------------------------------------------------------------------------

export const usageEntry = fields({ key: z.string(), turns: count, usage, costUsd: z.number(), costIsPartial, unpriced: count });
export type UsageEntry = z.output<typeof usageEntry>;

const verifyProblem = fields({ kind: z.string(), subject: z.string(), message: z.string() });
export type VerifyProblem = z.output<typeof verifyProblem>;

export const verifyReport = fields({
  sessions: count,
  nodes: count,
  turns: count,
  handles: count,
  transcripts: count,
  problems: z.array(verifyProblem),
  repaired: z.array(verifyProblem).optional().describe("only with `repair`"),
});
export type VerifyReport = z.output<typeof verifyReport>;

export const health = fields({
  status: z.literal("healthy"),
  version: z.string(),
  protocol: count,
  pid: count,
  startedAt: time,
  running: count,
});
export type Health = z.output<typeof health>;
