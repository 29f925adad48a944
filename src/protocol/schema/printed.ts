// Schemas of documents that only the command line prints: results of runs, transcripts, exports, the hub's state.
// Fields are only ever added.
import { z } from "zod";
import { toolLevels } from "../api/policy.ts";
import { renamedFields } from "../json/field-names.ts";
import { count, fields, nullableText, texts, time } from "./fields.ts";
import type { event } from "./events.ts";
import { branchFilesFields, diffFields, restoreFields, turnInfo, undoFields } from "./results.ts";
import type { printedRole } from "./setup.ts";
import {
  pendingTurn,
  askFields,
  checkOutcome,
  cost,
  costIsPartial,
  enforcedPolicy,
  handle,
  id,
  noteTopic,
  sessionFields,
  statementInfo,
  status,
  turnError,
  turnFields,
  usage,
} from "./tree.ts";
import type { ask, node, Note, session, turn } from "./tree.ts";

export const result = fields({
  type: z.literal("result"),
  status,
  result: z.string().describe("the final answer"),
  sessionId: id,
  turnId: id,
  nodeId: id.nullable(),
  parentSessionId: id.nullable(),
  agent: z.string(),
  model: nullableText,
  usage: usage.describe("with its sub-sessions"),
  costUsd: cost.describe("with its sub-sessions; null if no price is known"),
  costIsPartial,
  steps: count,
  durationMs: count,
  transcriptPath: nullableText,
  enforced: enforcedPolicy.nullable(),
  budget: fields({ tokensLeft: count.optional(), usdLeft: z.number().optional(), childrenLeft: count.optional() })
    .optional()
    .describe("the budget left for the turn and its sub-sessions, of limited values only"),
  checked: checkOutcome.optional().describe("the outcome of the check, if the turn has one"),
  error: turnError.optional(),
}).meta({ id: "Result" });
export type TurnResult = z.output<typeof result>;
/** The result as it is printed. */
export type ResultRecord = z.input<typeof result>;

/** Objects as they are printed. Fields that only the hub sends are missing there. */
export type NodeJson = z.input<typeof node>;
export type SessionJson = z.input<typeof session>;
export type TurnJson = Omit<z.input<typeof turn>, "error" | "native_id" | "policy"> & {
  error?: z.input<typeof turnError>;
  native_id?: string | null;
};
export type CostJson = Pick<ResultRecord, "cost_usd" | "cost_is_partial">;
export type AskJson = z.input<typeof ask>;
export type EventJson = z.input<typeof event>;
export type TurnInfoJson = z.input<typeof turnInfo>;
export type RoleJson = z.input<typeof printedRole>;

const claudeUsage = z.strictObject({
  input_tokens: count,
  output_tokens: count,
  cache_read_input_tokens: count,
  cache_creation_input_tokens: count,
});
const block = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("text"), text: z.string() }),
  z.strictObject({ type: z.literal("thinking"), thinking: z.string() }),
  z.strictObject({ type: z.literal("tool_use"), id: z.string(), name: z.string(), input: z.record(z.string(), z.unknown()) }),
  z.strictObject({ type: z.literal("tool_result"), tool_use_id: z.string(), content: z.string(), is_error: z.boolean() }),
]);

export const streamLine = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("system"),
    subtype: z.literal("init"),
    cwd: z.string(),
    session_id: id,
    tools: texts,
    mcp_servers: z.array(z.never()),
    model: nullableText,
    permissionMode: z.string(),
    apiKeySource: z.string(),
    skein: z.strictObject({ version: z.string(), turn_id: id, agent: z.string(), transcript_path: nullableText }),
  }),
  z.strictObject({
    type: z.literal("assistant"),
    message: z.strictObject({
      id,
      type: z.literal("message"),
      role: z.literal("assistant"),
      model: nullableText,
      content: z.array(block),
      stop_reason: z.null(),
      usage: claudeUsage,
    }),
    parent_tool_use_id: nullableText,
    session_id: id,
  }),
  z.strictObject({
    type: z.literal("user"),
    message: z.strictObject({ role: z.literal("user"), content: z.array(block) }),
    parent_tool_use_id: nullableText,
    session_id: id,
  }),
  z.strictObject({
    type: z.literal("result"),
    subtype: z.enum(["success", "error_max_turns", "error_max_budget_usd", "error_during_execution"]),
    is_error: z.boolean(),
    result: z.string(),
    num_turns: count,
    duration_ms: count,
    total_cost_usd: z.number(),
    usage: claudeUsage,
    session_id: id,
    skein: result,
  }),
]);

export const openAsk = fields({ ...askFields, waiting: z.boolean().describe("a turn is paused until it is answered") }, renamedFields.ask);

export const detachedTurn = fields({
  sessionId: id,
  turnId: id,
  hub: fields({ pid: count, version: z.string() }).describe("the process that runs the turn"),
});

export const queuedTurn = fields({
  sessionId: id,
  turnId: id.describe("`skein kill <turn_id>` withdraws it"),
  place: count.describe("1: it runs next"),
  hub: fields({ pid: count, version: z.string() }).describe("the process that runs the turn"),
});

const patch = diffFields.patch.optional().describe("unified diff, at most 16 MB; not with --stat");
export const printedDiff = fields({ ...diffFields, patch });
export const printedUndo = fields({ ...undoFields, dryRun: z.boolean() });
export const printedRestore = fields({ ...restoreFields, patch, restored: z.boolean() });

const forkedFrom = fields({ sessionId: id, nodeId: id });

const headerFields = {
  sessionId: id,
  startedAt: time,
  agent: z.string(),
  provider: z.string(),
  model: nullableText,
  task: nullableText,
  parentSessionId: id.nullable(),
  isSubSession: z.boolean(),
  toolLevel: z.enum(toolLevels),
  forkedFrom: forkedFrom.optional(),
};
export const transcriptHeader = fields(headerFields);
export type TranscriptHeader = z.input<typeof transcriptHeader>;

const lineFields = {
  id,
  part: count,
  parentId: id.nullable(),
  timestamp: time,
  role: z.enum(["user", "assistant", "thinking", "tool_call", "tool_result", "note"]),
  content: z.string(),
  toolName: z.string().optional(),
  toolId: z.string().optional(),
  isError: z.boolean().optional(),
  tokenUsage: usage.optional(),
  handle: handle.optional(),
  note: fields({
    about: noteTopic,
    keptFrom: id.nullable().optional(),
    said: statementInfo.optional(),
    happened: z.unknown().optional(),
    check: z.unknown().optional(),
  })
    .optional()
    .describe("on the first line of a note"),
};
export const transcriptLine = fields(lineFields);
export type TranscriptLine = z.input<typeof transcriptLine>;

export const exportHeader = fields({
  ...headerFields,
  tree: fields({
    id,
    sessions: z.array(
      fields(
        { ...sessionFields, forkedFrom: forkedFrom.nullable(), plan: z.string().optional().describe("the plan that the session executes") },
        renamedFields.session,
      ),
    ),
    turns: z.array(fields({ ...turnFields, policy: z.record(z.string(), z.unknown()) }, renamedFields.turn)),
  }).describe("every session and turn of the tree"),
});

/** The file changes of the exported session's branch. */
export const exportedFiles = fields({
  ...branchFilesFields,
  problem: nullableText.describe("the reason why the changes can't be read"),
  moreFiles: count.describe("changes that are not in `files`; --whole includes them"),
  moreOtherFiles: count.describe("changes that are not in `other_files`; --whole includes them"),
  patchCutBytes: count.describe("bytes of the diff that are not in `patch`; --whole includes them"),
});
export type ExportedFiles = z.output<typeof exportedFiles>;

export type TreeHeader = z.input<typeof exportHeader>;

export const exportLine = fields({
  ...lineFields,
  node: fields({
    author: z.enum(["user", "agent", "tool", "note"]),
    sessionId: id,
    turnId: id.nullable(),
    note: (z.record(z.string(), z.unknown()) as unknown as z.ZodType<Note, Note>).optional(),
    model: z.string().optional(),
    costUsd: z.number().nullable().optional(),
    costIsPartial,
  })
    .optional()
    .describe("on the first line of a node"),
  data: z
    .record(z.string(), z.unknown())
    .nullable()
    .optional()
    .describe("the stored part, if the other fields can't hold all of it; its `text` is `content` if it is missing"),
  output: fields({ bytes: count, cutBytes: count, text: z.string().optional(), base64: z.string().optional() })
    .optional()
    .describe("the full output of the handle"),
});
export type TreeLine = z.input<typeof exportLine>;

const hubState = {
  url: z.string().describe("of the WebSocket"),
  socket: z.string().describe("path of the unix socket"),
  pid: count,
  version: z.string(),
  protocol: count,
  startedAt: time,
  tokenFile: z.string().describe("holds the token for the WebSocket"),
};

export const hubStarted = fields({
  outcome: z.enum(["started", "running"]).describe("`running`: it ran before"),
  ...hubState,
});

/** The state of a hub, as its file and the command line have it. */
export type HubStateJson = Omit<z.input<typeof hubStarted>, "outcome">;

export const hubStatus = z.discriminatedUnion("status", [
  fields({ status: z.literal("running"), ...hubState, uptimeMs: count, turns: z.array(turnInfo).describe("turns that run in it") }),
  fields({ status: z.literal("not-running") }),
]);

export const hubStopped = fields({
  outcome: z.enum(["not-running", "stopped", "killed"]).describe("`killed`: it did not stop; the next hub records its turns"),
  pid: count.nullable(),
  pending: z.array(pendingTurn).describe("turns that the next hub starts or continues"),
});

export const webOpened = fields({
  url: z.string().describe("the address of the page"),
  loginUrl: z.string().describe("the link that logs one browser in"),
  loginEndsAt: time.describe("when the link ends; it also ends with its first use"),
  host: z.string().describe("the interface that the hub listens on"),
  port: count,
  basePath: z.string(),
  pid: count.describe("the hub"),
});
/** The page of `skein web`, as the command line prints it. */
export type WebOpenedJson = z.input<typeof webOpened>;

export const webStopped = fields({ outcome: z.enum(["closed", "not-open"]) });
