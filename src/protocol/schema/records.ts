// The schemas of everything skein prints as JSON, for docs/JSON.md and for the tests that hold the output to them.
// Fields are only ever added.
import { z } from "zod";
import { turnStatuses } from "../api/error.ts";
import { groupPhases } from "../team/group.ts";
import { importFormats } from "../tree/import.ts";
import { denialKinds, policyNames, toolLevels } from "../api/policy.ts";

const id = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .describe("UUIDv7");
const time = z.iso.datetime({ precision: 3 }).describe("ISO 8601, UTC, milliseconds");
const count = z.number().int().nonnegative();

export const usage = z.strictObject({ input: count, output: count, cache_read: count, cache_write: count });

export const error = z.strictObject({
  kind: z.enum(turnStatuses),
  message: z.string(),
  hint: z.string().optional(),
  limit: z.enum(["money", "tokens", "steps", "children"]).optional(),
});

export const enforced = z.strictObject({
  policy: z.enum(policyNames),
  tier: z.enum(["namespaces", "landlock", "seatbelt", "none"]),
  fs: z.boolean(),
  net: z.enum(["off", "gateway", "vendor", "on"]),
  secrets: z.boolean(),
  processes: z.boolean(),
  missing: z.array(z.string()),
});

export const result = z.strictObject({
  type: z.literal("result"),
  status: z.enum(turnStatuses),
  result: z.string().describe("the final answer"),
  session_id: id,
  turn_id: id,
  node_id: id.nullable(),
  parent_session_id: id.nullable(),
  agent: z.string(),
  model: z.string().nullable(),
  usage: usage.describe("sub-sessions included"),
  cost_usd: z.number().nullable().describe("null when a price is not known"),
  steps: count,
  duration_ms: count,
  transcript_path: z.string().nullable(),
  enforced: enforced.nullable(),
  budget: z
    .strictObject({ tokens_left: count.optional(), usd_left: z.number().optional(), children_left: count.optional() })
    .optional()
    .describe("what the turn and all under it have left, of what is limited"),
  error: error.optional(),
});

const handle = z.strictObject({
  source: z.string(),
  source_version: z.string(),
  identifier: z.string(),
  metadata: z.record(z.string(), z.unknown()),
});
const image = z.strictObject({ mime: z.string(), base64: z.string() });

export const part = z.discriminatedUnion("kind", [
  z.strictObject({ kind: z.literal("text"), text: z.string() }),
  z.strictObject({ kind: z.literal("thinking"), text: z.string() }),
  z.strictObject({
    kind: z.literal("call"),
    id: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
    malformed: z.string().optional(),
  }),
  z.strictObject({
    kind: z.literal("result"),
    call: z.string(),
    name: z.string(),
    text: z.string(),
    is_error: z.boolean(),
    images: z.array(image).optional(),
    handle: handle.optional(),
    display: z.string().optional(),
  }),
  z.strictObject({ kind: z.literal("image"), mime: z.string(), base64: z.string() }),
  z.strictObject({ kind: z.literal("handle"), handle, excerpt: z.string() }),
]);

const said = z
  .strictObject({
    asked: id.describe("the node that says what was asked"),
    phase: z.enum(groupPhases),
    round: count,
    who: z.string(),
    status: z.enum([...turnStatuses, "empty"]),
    tries: count,
    session_id: id.nullable().describe("of the last try"),
    cost_usd: z.number().nullable().describe("of all tries"),
  })
  .describe("who of a group said it, and where in its work");

export const node = z.strictObject({
  id,
  parent_id: id.nullable(),
  tree_id: id,
  session_id: id,
  turn_id: id.nullable(),
  author: z.enum(["user", "agent", "tool", "note"]),
  at: time,
  parts: z.array(part),
  note: z.enum(["compaction", "interruption", "correction", "below", "group", "team", "graft"]).optional(),
  said: said.optional(),
  happened: z.looseObject({ event: z.string() }).optional().describe("what happened to a team, by the names of its log"),
  grafted_from: z.strictObject({ session_id: id, node_id: id }).optional(),
  model: z.string().optional(),
  usage: usage.optional(),
  cost_usd: z.number().nullable().optional(),
});

export const session = z.strictObject({
  id,
  name: z.string().nullable(),
  tree_id: id,
  tip: id.nullable(),
  agent: z.string(),
  model: z.string().nullable(),
  directory: z.string(),
  project: z.string(),
  task: z.string().nullable(),
  tool_level: z.enum(toolLevels),
  parent_session_id: id.nullable(),
  transcript_path: z.string().nullable(),
  created_at: time,
  updated_at: time,
  archived_at: time.nullable(),
  source: z
    .strictObject({ agent: z.string(), native_id: z.string(), path: z.string().nullable(), sha256: z.string() })
    .optional()
    .describe("where an imported session comes from"),
});

export const importReport = z.strictObject({
  session,
  format: z.enum(importFormats),
  nodes: z.strictObject({ added: count, known: count.describe("those that were stored already") }),
  turns: count.describe("turns that got nodes"),
  branches: count.describe("leaves of the tree in the file"),
  unreadable: count.describe("lines that were left out"),
  torn: z.boolean().describe("the last line was cut off"),
});

const cli = z.strictObject({
  version: z.string().nullable(),
  argv: z.array(z.string()).describe("without the prompt and the role"),
  started: z.enum(["new", "resume", "fork"]).describe("whether it went on in a session of its own"),
  exit_code: count.nullable(),
  signal: z.string().nullable(),
  bytes: count.describe("printed on stdout"),
  first_event_ms: count.nullable(),
});

export const turn = z.strictObject({
  id,
  session_id: id,
  parent: id.nullable(),
  tip: id.nullable(),
  agent: z.string(),
  model: z.string().nullable(),
  role: z.string().optional().describe("of a turn in a role"),
  usage,
  cost_usd: z.number().nullable(),
  steps: count,
  started_at: time,
  ended_at: time.nullable(),
  status: z.enum(turnStatuses).nullable(),
  enforced: enforced.nullable(),
  error: error.optional(),
  native_id: z.string().nullable().optional().describe("the session of its own that another agent's program went on in"),
  cli: cli.optional().describe("the program of another agent that took the turn"),
});

const lasting = { seq: count.describe("counts the lasting events of the session"), session_id: id, turn_id: id, at: time };
const passing = { ...lasting, n: count.describe("counts the passing events since `seq`") };

export const ask = z.strictObject({
  id,
  session_id: id,
  turn_id: id,
  call: z.string().nullable().describe("the tool call that asks"),
  question: z.string(),
  options: z.array(z.string()),
  opened_at: time,
  expires_at: time.nullable(),
  closed_at: time.nullable(),
  outcome: z.enum(["answered", "expired", "left"]).nullable(),
  answer: z.string().nullable(),
});
export const openAsk = ask.extend({ waiting: z.boolean().describe("a turn stands still until it is answered") });
const input = z.strictObject({ id, text: z.string(), queued_at: time });
const between = { ...lasting, turn_id: z.union([id, z.literal("")]).describe("empty between turns") };

export const event = z.discriminatedUnion("type", [
  z.strictObject({ type: z.literal("ask.opened"), ...lasting, ask }),
  z.strictObject({ type: z.literal("ask.closed"), ...lasting, ask }),
  z.strictObject({ type: z.literal("queue.changed"), ...between, queue: z.array(input).describe("what waits for the agent") }),
  z.strictObject({ type: z.literal("turn.started"), ...lasting, turn, session }),
  z.strictObject({ type: z.literal("node.added"), ...between, node }),
  z.strictObject({ type: z.literal("turn.ended"), ...lasting, turn, session }),
  z.strictObject({ type: z.literal("text.delta"), ...passing, text: z.string() }),
  z.strictObject({ type: z.literal("thinking.delta"), ...passing, text: z.string() }),
  z.strictObject({ type: z.literal("call.started"), ...passing, call: z.string(), name: z.string() }),
  z.strictObject({
    type: z.literal("tool.started"),
    ...passing,
    call: z.string(),
    name: z.string(),
    input: z.record(z.string(), z.unknown()),
  }),
  z.strictObject({ type: z.literal("tool.output"), ...passing, call: z.string(), text: z.string() }),
  z.strictObject({
    type: z.literal("tool.denied"),
    ...passing,
    call: z.string(),
    what: z.enum(denialKinds).describe("what the policy, a limit or the guard did not allow"),
    text: z.string().describe("what the model is told, too"),
  }),
  z.strictObject({ type: z.literal("model.retried"), ...passing, attempt: count, wait_ms: count, error }),
  z.strictObject({ type: z.literal("warning.raised"), ...passing, message: z.string() }),
  z.strictObject({ type: z.literal("turn.paused"), ...passing }),
  z.strictObject({ type: z.literal("turn.resumed"), ...passing }),
  z.strictObject({
    type: z.literal("session.spawned"),
    ...passing,
    call: z.string(),
    spawned_session_id: id,
    agent: z.string(),
    task: z.string(),
  }),
  z
    .strictObject({ type: z.literal("draft.shown"), ...passing, key: z.string(), text: z.string() })
    .describe("what is streaming so far, for a watcher that comes late"),
]);

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
    tools: z.array(z.string()),
    mcp_servers: z.array(z.never()),
    model: z.string().nullable(),
    permissionMode: z.string(),
    apiKeySource: z.string(),
    skein: z.strictObject({ version: z.string(), turn_id: id, agent: z.string(), transcript_path: z.string().nullable() }),
  }),
  z.strictObject({
    type: z.literal("assistant"),
    message: z.strictObject({
      id,
      type: z.literal("message"),
      role: z.literal("assistant"),
      model: z.string().nullable(),
      content: z.array(block),
      stop_reason: z.null(),
      usage: claudeUsage,
    }),
    parent_tool_use_id: z.string().nullable(),
    session_id: id,
  }),
  z.strictObject({
    type: z.literal("user"),
    message: z.strictObject({ role: z.literal("user"), content: z.array(block) }),
    parent_tool_use_id: z.string().nullable(),
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

export const killReport = z.strictObject({
  session: id,
  outcome: z
    .enum(["not-running", "stopped", "killed"])
    .describe("`stopped` recorded its own end; `killed` could not, and its end was recorded for it"),
  pid: count.nullable().describe("the process that ran the turn; null when it was gone already"),
  status: z.enum(turnStatuses).nullable().describe("how the session's last turn ended"),
});

export const pauseReport = z.strictObject({
  session: id,
  state: z.enum(["running", "paused", "not-running"]).describe("what it is now"),
  pid: count.nullable().describe("the process that runs the turn; null when nothing runs"),
});

export const turnInfo = z.strictObject({
  state: z
    .enum(["running", "paused", "asking", "interrupted", "ended"])
    .describe("`interrupted`: the process that ran it is gone, and its end is not recorded yet"),
  pid: count.nullable().describe("the process that runs it; null when it has ended, or can't be seen from here"),
  session,
  turn,
});

export const detachedTurn = z.strictObject({
  session_id: id,
  turn_id: id,
  hub: z.strictObject({ pid: count, version: z.string() }).describe("the process that runs the turn"),
});

export const purge = z.strictObject({
  dry_run: z.boolean(),
  sessions: z.array(z.strictObject({ id, name: z.string().nullable(), project: z.string(), archived_at: time })),
  skipped: z.array(z.strictObject({ id, name: z.string().nullable(), reason: z.string() })),
  nodes: count,
  kept_nodes: count.describe("nodes of purged sessions that stay because another session needs them"),
  turns: count,
  outputs: count,
  transcripts: count,
  bytes: count,
  problems: z.array(z.string()),
});

const fileChange = z.strictObject({
  path: z.string(),
  kind: z.enum(["added", "modified", "deleted"]),
  added: count.describe("lines; 0 for a binary file"),
  removed: count,
  binary: z.literal(true).optional(),
  big: z.literal(true).optional().describe("only its hash was recorded"),
});
const filesState = z
  .string()
  .regex(/^[0-9a-f]{40}$/)
  .describe("a recorded state of the project's files");

export const filesDiff = z.strictObject({
  project: z.string(),
  from: filesState,
  to: filesState,
  changes: z.array(fileChange),
  patch: z.string().optional().describe("unified diff, at most 16 MB; not with --stat"),
});

export const filesRestore = filesDiff.extend({
  kept: z.array(z.string()).describe("paths that could not be brought back and were left as they are"),
  undo: z.string().describe("what to restore to undo this"),
  restored: z.boolean(),
});

export const transcriptHeader = z.strictObject({
  session_id: id,
  started_at: time,
  agent: z.string(),
  provider: z.string(),
  model: z.string().nullable(),
  task: z.string().nullable(),
  parent_session_id: id.nullable(),
  is_sub_session: z.boolean(),
  tool_level: z.enum(toolLevels),
  forked_from: z.strictObject({ session_id: id, node_id: id }).optional(),
});

export const transcriptLine = z.strictObject({
  id,
  part: count,
  parent_id: id.nullable(),
  timestamp: time,
  role: z.enum(["user", "assistant", "thinking", "tool_call", "tool_result", "note"]),
  content: z.string(),
  tool_name: z.string().optional(),
  tool_id: z.string().optional(),
  is_error: z.boolean().optional(),
  token_usage: usage.optional(),
  handle: handle.optional(),
});
