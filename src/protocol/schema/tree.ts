// Schemas of the tree: nodes, sessions, turns and questions. Their types are inferred from here.
import { z } from "zod";
import { turnStatuses } from "../api/error.ts";
import { policyNames, toolLevels } from "../api/policy.ts";
import { foldNote, metadataFromJson, renamedFields } from "../json/field-names.ts";
import { groupPhases } from "../team/group.ts";
import { count, fields, hubOnly, nullableText, policy, sometimesPrinted, texts, time } from "./fields.ts";
import { raceEvent } from "./race/race.ts";
import { teamEvent } from "./team.ts";
import { sessionWorktree } from "./worktrees.ts";

export const id = z
  .string()
  .regex(/^[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/)
  .describe("UUIDv7");
export const cost = z.number().nullable().describe("US dollars, rounded to micro-dollars; null if no price is known");
export const costIsPartial = z
  .literal(true)
  .optional()
  .describe("set if the price of a part is unknown: `cost_usd` is the sum of the known prices");
/** The fields of a cost that may be a sum. */
export const costFields = { costUsd: cost, costIsPartial };
export const status = z.enum(turnStatuses);

/** `input` excludes cached tokens: the four counts add up to all processed tokens. */
export const usage = fields({ input: count, output: count, cacheRead: count, cacheWrite: count }).meta({ id: "Usage" });
export type Usage = z.output<typeof usage>;

const spentFields = { usage, ...costFields };
export const spent = fields(spentFields).meta({ id: "Spent" });
export type Spent = z.output<typeof spent>;
export type Cost = Pick<Spent, "costUsd" | "costIsPartial">;

export const turnError = fields({
  kind: status,
  message: z.string(),
  hint: z.string().optional(),
  limit: z.enum(["money", "tokens", "steps", "children"]).optional().describe("the budget that is used up"),
  resetAt: time.optional().describe("when the vendor's limit ends, if the vendor or the CLI said so"),
}).meta({ id: "Error" });
export type TurnError = z.output<typeof turnError>;

export const enforcedPolicy = fields({
  policy: z.enum(policyNames),
  tier: z.enum(["namespaces", "landlock", "seatbelt", "none"]),
  fs: z.boolean(),
  net: z
    .enum(["off", "gateway", "vendor", "hosts", "on"])
    .describe("`hosts`: only the hosts that the policy names, and those of the agent's vendor"),
  secrets: z.boolean(),
  processes: z.boolean(),
  missing: texts.describe("rules of the policy that the kernel does not enforce here"),
}).meta({ id: "Enforced policy" });
export type EnforcedPolicy = z.output<typeof enforcedPolicy>;

export type HandleMetadata = {
  command?: string;
  exitCode?: number | null;
  durationMs?: number;
  /** Size of the full data, and of the stored part if the data was over the limit. */
  bytes?: number;
  keptBytes?: number;
  sha256?: string;
  [name: string]: unknown;
};

const metadata = z
  .looseObject({
    command: z.string().optional(),
    exit_code: z.number().nullable().optional(),
    duration_ms: z.number().optional(),
    bytes: z.number().optional().describe("size of the full data"),
    kept_bytes: z.number().optional().describe("size of the stored part"),
    sha256: z.string().optional(),
  })
  .transform((fields) => metadataFromJson(fields) as HandleMetadata);

export const handle = fields({
  source: z.string().describe("`bash`, `file`, `http`, `postgres`, `session` or another"),
  sourceVersion: z.string(),
  identifier: z.string().describe("`<session>/<n>` for bash; a path, URL, query or session id for the others"),
  metadata,
}).meta({ id: "Handle" });
export type Handle = z.output<typeof handle>;

/** Vendor data that is sent back unchanged, and only to the wire and model that made it. */
const opaque = hubOnly(z.strictObject({ wire: z.string(), model: z.string(), data: z.unknown() }).optional());
export type Opaque = { wire: string; model: string; data: unknown };

const imageFields = { mime: z.string(), base64: z.string() };
const imageData = fields(imageFields);
export type ImageData = z.output<typeof imageData>;

const textPart = fields({ kind: z.literal("text"), text: z.string(), opaque });
const thinkingPart = fields({ kind: z.literal("thinking"), text: z.string(), opaque });
const callPart = fields({
  kind: z.literal("call"),
  id: z.string(),
  name: z.string(),
  input: z.record(z.string(), z.unknown()),
  malformed: z.string().optional().describe("the model's text if it is not a JSON object; `input` is then empty"),
  opaque,
});
const resultPart = fields({
  kind: z.literal("result"),
  call: z.string(),
  name: z.string(),
  text: z.string(),
  isError: z.boolean(),
  images: z.array(imageData).optional(),
  handle: handle.optional().describe("the full output, if `text` is an excerpt"),
  display: z.string().optional().describe("shown to the user and not sent to the model: a unified diff, for example"),
});
const imagePart = fields({ kind: z.literal("image"), ...imageFields });
const handlePart = fields({ kind: z.literal("handle"), handle, excerpt: z.string() });
export const part = z
  .discriminatedUnion("kind", [textPart, thinkingPart, callPart, resultPart, imagePart, handlePart])
  .meta({ id: "Part" });
export type TextPart = z.output<typeof textPart>;
export type ThinkingPart = z.output<typeof thinkingPart>;
export type CallPart = z.output<typeof callPart>;
export type ResultPart = z.output<typeof resultPart>;
export type ImagePart = z.output<typeof imagePart>;
export type HandlePart = z.output<typeof handlePart>;
export type Part = z.output<typeof part>;

/** A statement of a group's participant, or its failure. The node's text is the statement. */
export const statementInfo = fields({
  asked: id.describe("the node with the prompt"),
  phase: z.enum(groupPhases),
  round: count,
  who: z.string(),
  status: z.enum([...turnStatuses, "empty"]).describe("`empty`: the turn ended well without a text"),
  tries: count,
  sessionId: id.nullable().describe("of the last try; null if none could start"),
  costUsd: cost.describe("of all tries"),
  costIsPartial,
}).meta({ id: "Group statement" });
export type StatementInfo = z.output<typeof statementInfo>;
export type StatementJson = z.input<typeof statementInfo>;

/** The outcome of a check: a command that decides whether the work is done. */
export const checkOutcome = fields({
  command: z.string(),
  passed: z.boolean(),
  exitCode: z.number().int().nullable().describe("null after a signal or a time limit"),
  durationMs: count,
  digest: hubOnly(z.string()).describe("equal for two outputs that differ only in times, durations and the order of lines"),
}).meta({ id: "Check" });
export type CheckOutcome = z.output<typeof checkOutcome>;

/** The check of a turn, as it was asked for. */
const turnCheck = fields({
  command: z.string(),
  timeoutMs: count,
  repairs: count.describe("how often the output of a failing check still goes back to the agent"),
});
export type TurnCheck = z.output<typeof turnCheck>;

/** The loop that a turn is a pass of. Every turn has all settings, so that a loop can be continued after a kill. */
const turnLoop = fields({
  id,
  pass: count.describe("0 is the check before the first pass"),
  maxRuns: count,
  until: z.string().describe("the command that ends the loop when it succeeds"),
  fresh: z.boolean(),
  agents: texts.describe("the agents to use, in this order"),
  stage: count.describe("the index of the agent that takes this pass"),
  task: z.string(),
  maxTokens: count.nullable(),
  maxBudgetUsd: z.number().nullable(),
  maxSteps: count.nullable(),
  timeoutMs: count.nullable(),
}).meta({ id: "Loop of a turn" });
export type TurnLoop = z.output<typeof turnLoop>;

const position = fields({ session: id, node: id }, renamedFields.position);

export const noteTopic = z.enum([
  "compaction",
  "interruption",
  "correction",
  "hand-over",
  "below",
  "group",
  "team",
  "race",
  "graft",
  "warning",
  "check",
]);

/** Details of a note. User, agent and tool nodes have none. */
export type Note =
  | { about: "compaction"; keptFrom: string | null }
  | { about: "interruption" }
  | { about: "correction" }
  /** Another agent continues the turn, because the one before reached a limit. */
  | { about: "hand-over" }
  /** A finding of skein about the turn, such as a repository that it moved aside. */
  | { about: "warning" }
  /** Output of a sub-agent of an external CLI, under the call that started it. Shown, never sent to a model. */
  | { about: "below"; call: string }
  /** A participant's statement in a group. Shown, never sent; only the group's answer is sent. */
  | { about: "group"; said: StatementInfo }
  /** An event of a team. Shown, never sent. */
  | { about: "team"; happened: z.output<typeof teamEvent> }
  /** An event of a race. Shown, never sent. */
  | { about: "race"; happened: z.output<typeof raceEvent> }
  /** The outcome of a check; the node's handle is its output. Shown, never sent: the next prompt has the output. */
  | { about: "check"; check: CheckOutcome }
  | { about: "graft"; from: { session: string; node: string } };

const flatNode = fields(
  {
    id,
    parent: id.nullable(),
    tree: id,
    session: id,
    turn: id.nullable(),
    author: z.enum(["user", "agent", "tool", "note"]),
    at: time,
    parts: z.array(part),
    note: noteTopic.optional(),
    keptFrom: hubOnly(id.nullable().optional()),
    belowCall: hubOnly(z.string().optional()),
    said: statementInfo.optional().describe("the statement of a group's participant"),
    happened: z.union([teamEvent, raceEvent]).optional().describe("an event of a team or of a race; `event` is its name"),
    check: checkOutcome.optional().describe("the outcome of a check; the handle is its output"),
    graftedFrom: position.optional(),
    model: z.string().optional().describe("`vendor/id` of an agent node"),
    usage: usage.optional(),
    costUsd: z.number().nullable().optional(),
    costIsPartial,
  },
  renamedFields.node,
);

/** A node is immutable. In JSON the details of its note are fields of the node. */
export const node = flatNode.transform((flat) => foldNote(flat) as FoldedNode).meta({ id: "Node" });
type NoteField = "note" | "keptFrom" | "belowCall" | "said" | "happened" | "check" | "graftedFrom";
type FoldedNode = Omit<z.output<typeof flatNode>, NoteField> & { note?: Note };
export type Node = z.output<typeof node>;
export type Author = Node["author"];

/** A node as an agent makes it. The engine adds id, parent, tree, session, turn and time. */
export type NewNode = Omit<Node, "id" | "parent" | "tree" | "session" | "turn" | "at">;

/** Origin of imported data; such a session of another program is never resumed. */
const source = fields({
  agent: z.string().describe("the program that wrote the transcript"),
  nativeId: z.string(),
  path: nullableText.describe("null if it was piped in"),
  sha256: z.string(),
  tip: hubOnly(id.nullable()).describe("the session's tip after the latest import"),
});
export type Source = z.output<typeof source>;

/** One turn that the session took back. `files` are the states before and after; null if no file changed. */
const undoneTurn = fields({
  turn: id,
  tip: id,
  back: id.nullable(),
  files: fields({ project: z.string(), from: z.string(), to: z.string() }).nullable(),
});
export type UndoneTurn = z.output<typeof undoneTurn>;

export const sessionFields = {
  id,
  name: nullableText,
  tree: id,
  tip: id.nullable().describe("the session's current node; null before the first message"),
  agent: z.string(),
  model: nullableText,
  directory: z.string().describe("where its tools work; absolute"),
  project: z.string().describe("the project of the directory; absolute"),
  task: nullableText.describe("the first message of its conversation"),
  latestPrompt: z.string().optional().describe("the message of its latest turn; only in lists"),
  toolLevel: z.enum(toolLevels),
  parentSession: id.nullable(),
  forkedFrom: hubOnly(position.nullable()),
  transcript: nullableText,
  plan: hubOnly(z.string().optional()).describe("the plan that it executes: the end of its system prompt"),
  createdAt: time,
  updatedAt: time,
  archivedAt: time.nullable(),
  source: source.optional().describe("the origin of an imported session"),
  worktree: sessionWorktree.optional().describe("the worktree that it works in; `directory` and `project` are then in it"),
  undone: hubOnly(z.array(undoneTurn).optional()).describe("turns that `session.redo` can put back, the latest undo last"),
};
export const session = fields(sessionFields, renamedFields.session).meta({ id: "Session" });
export type Session = z.output<typeof session>;

/** The program of an external agent that took a turn. */
const cli = fields({
  version: nullableText,
  argv: texts.describe("without prompt, role and credentials"),
  started: z.enum(["new", "resume", "fork"]).describe("whether it continued one of its own sessions"),
  exitCode: count.nullable(),
  signal: nullableText,
  bytes: count.describe("bytes printed on stdout"),
  firstEventMs: count.nullable(),
});
export type CliRecord = z.output<typeof cli>;

export const turnFields = {
  id,
  session: id,
  parent: id.nullable().describe("the session's tip before the prompt"),
  tip: id.nullable().describe("the last node of the turn so far"),
  agent: z.string(),
  model: nullableText,
  nativeId: sometimesPrinted(nullableText.describe("the external agent's own session; printed only with `cli`")),
  policy: hubOnly(policy),
  enforced: enforcedPolicy.nullable(),
  ...spentFields,
  below: spent.optional().describe("used by sub-sessions while the turn ran; only if there were any"),
  steps: count,
  startedAt: time,
  endedAt: time.nullable(),
  status: status.nullable(),
  error: sometimesPrinted(turnError.nullable()),
  source: hubOnly(source.optional()).describe("the origin of an imported turn"),
  role: z.string().optional(),
  cli: cli.optional(),
  check: hubOnly(turnCheck.optional()),
  loop: turnLoop.optional(),
  checked: checkOutcome.optional().describe("the outcome of the turn's check"),
};
export const turn = fields(turnFields, renamedFields.turn).meta({ id: "Turn" });
export type Turn = z.output<typeof turn>;

export const askFields = {
  id,
  session: id,
  turn: id,
  call: nullableText.describe("the tool call that asks; null if an external CLI ended with a question"),
  question: z.string(),
  options: texts.describe("suggested answers; any other text is accepted too"),
  openedAt: time,
  expiresAt: time.nullable().describe("when the turn stops waiting; null: it waits without limit, or has ended"),
  closedAt: time.nullable(),
  outcome: z.enum(["answered", "expired", "left"]).nullable().describe("`left`: the conversation continued without an answer"),
  answer: nullableText,
};
export const ask = fields(askFields, renamedFields.ask).meta({ id: "Ask" });
export type Ask = z.output<typeof ask>;

/** A message to a running turn that its agent has not received yet. */
export const queuedInput = fields({ id, text: z.string(), queuedAt: time }).meta({ id: "Queued input" });
export type QueuedInput = z.output<typeof queuedInput>;

export const pendingFields = {
  id: id.describe("also the id of the turn that it becomes"),
  session: id,
  kind: z
    .enum(["queued", "waiting", "continued"])
    .describe("`queued`: runs after other turns; `waiting`: continues when a limit is reset; `continued`: its process was killed"),
  prompt: nullableText.describe("null: it continues the conversation as it is"),
  place: count.describe("1 is the next pending turn of the session"),
  queuedAt: time,
  wakeAt: time.nullable().describe("the time before which it does not start"),
  problem: nullableText.describe("the reason why the last attempt to start it failed; the hub tries again"),
};
/** A text is the digest of the project's files that were trusted for the turn. */
const callerTrust = z.union([z.boolean(), z.string()]).nullable();
export type CallerTrust = z.output<typeof callerTrust>;
/** A turn that the hub starts later, exactly once. */
export const pendingTurn = fields(
  {
    ...pendingFields,
    isSessionBusy: hubOnly(z.boolean()).describe("a turn of the session runs, or another process works on it"),
    credential: hubOnly(nullableText).describe("turns with the same credential are not started in the same moment"),
    caller: hubOnly(fields({ directory: z.string(), trust: callerTrust })).describe("settings of the process that requested it"),
  },
  renamedFields.pending,
).meta({ id: "Pending turn" });
export type PendingTurn = z.output<typeof pendingTurn>;

export const turnState = z
  .enum(["running", "paused", "asking", "waiting", "queued", "interrupted", "ended"])
  .describe(
    "`waiting`: for a limit, until `pending.wake_at`; `queued`: it has not started; `interrupted`: its process has exited and its end is not recorded yet",
  );
export type TurnState = z.output<typeof turnState>;
