// What the rooms are given and may not import: the engine knows an Agent, an agent knows tools and a model,
// and neither knows how they are made. `house` injects the real ones.
import type { Pausable } from "../../kit/flow/pause-gate.ts";
import type { TurnError } from "./error.ts";
import type { TransientEventBody } from "../tree/event.ts";
import type { FileChange } from "../tree/file-changes.ts";
import type { Handle, HandleMetadata } from "../tree/handle.ts";
import type { ImageData, NewNode, Node } from "../tree/node.ts";
import type { Denial, EnforcedPolicy, Policy } from "./policy.ts";
import type { EngineOption, TurnOptions } from "./turn-options.ts";
import type { MemberPlan, TeamRecord } from "../team/team.ts";
import type { TeamDiff } from "../team/views.ts";
import type { NativeStart, TurnEnd } from "../tree/turn.ts";
import type { Spent } from "../tree/usage.ts";

// --- agents ---------------------------------------------------------------------------------------------

/** Everything an agent gets for a turn. The path ends with the prompt, or with the last node of an interrupted turn. */
export type TurnInput = Omit<TurnOptions, EngineOption> & {
  session: string;
  /** The topmost session of this run: sub-sessions share its executor and its temporary directory. */
  root: string;
  turn: string;
  /** The id of the session's tree. An external agent's own files belong to it. */
  tree: string;
  path: Node[];
  directory: string;
  project: string;
  /** The text of the plan to carry out; the end of the system prompt. */
  plan: string | null;
  /** The external agent's own session to continue; null starts a new one. */
  native: NativeStart | null;
  /** Path of the log files without an ending, beside the transcript; null if nothing may be stored. */
  logs: string | null;
  /** Added to the environment of its tools or of its program. */
  env?: Readonly<Record<string, string>>;
};

/** What an agent yields. A `node` is stored before the agent is asked to go on. Exactly one `end`, at the end. */
export type AgentEvent =
  | { type: "node"; node: NewNode; recorded: (node: Node) => void }
  | { type: "passing"; event: TransientEventBody }
  /** The agent's own session, as soon as it is known. */
  | { type: "native"; id: string }
  | { type: "end"; end: TurnEnd };

export type TurnContext = {
  signal: AbortSignal;
  /** Where whole outputs are kept; opened per tool call, written as it arrives. */
  keepOutput: (call: string, source: string) => OutputSink;
  /** The whole of an output that a node on this path points at. */
  readOutput: (handle: Handle) => Promise<ReadableStream<Uint8Array>>;
  /** Start a sub-session and wait for its end. */
  delegate: (request: DelegateRequest) => Promise<DelegateResult>;
  /**
   * Records the project's files as they are before the turn, once. To be called while the first answer is awaited,
   * and to be waited for before anything can change a file. Never rejects.
   */
  keepFiles: () => Promise<void>;
  /** What a sub-session did from then on, when its last turn ended well and nothing waits for it; else null. Runs nothing. */
  findFinishedTask: (session: string, since: number) => Promise<FinishedTask | null>;
  /** Something happened that is no event (bytes of an answer that nobody is shown yet): the turn is not idle. */
  keepAlive: () => void;
  /**
   * Room for one request in what the whole run may still use, or the error that says which limit is reached. Waits where
   * the requests that run may take all that is left.
   */
  reserve: (request: UsageEstimate) => Promise<TurnError | SettleReservation>;
  /** What was used and could not be reserved; the limit that it reaches comes back. */
  count: (spent: Spent) => TurnError | null;
  /** Asks a person. Settles when there is an answer, when the time for it is over, or at once when nobody can be waited for. */
  ask: (question: AskRequest) => Promise<AskOutcome>;
  /** Whether a question can be asked at all. */
  canAsk: boolean;
  /** Messages that came for the agent since, recorded now as nodes of the user's; each is given once. */
  takeInput: () => Promise<Node[]>;
  /** Something that runs for this turn and can be made to stand still; what comes back ends that. */
  registerPausable: (part: Pausable) => () => void;
  /** A message for a sub-session that runs: given to it once, however often it is told. False when nothing runs there. */
  sendMessage: (session: string, message: { id: string; text: string }) => Promise<boolean>;
  /** Set for a member of a team. */
  team?: TeamMailPort;
};

export type FinishedTask = { answer: string; spent: Spent };

/** Leaves a message or report of one member, as JSON. What comes back says whom it reached; throws what is refused. */
export type TeamMailPort = { post: (value: Record<string, unknown>) => Promise<string> };

/** What a request will probably count. The cost is null when no price is known. */
export type UsageEstimate = { tokens: number; costUsd: number | null };

/** Called when the request is over, with what it really used. */
export type SettleReservation = (spent: Spent) => void;

/** The call is null when another agent's command line asks by its own means. */
export type AskRequest = { call: string | null; question: string; options: string[] };

/** `later`: nobody is waited for; the turn is to end as `needs-input`, and the answer comes with the next one. */
export type AskOutcome = { type: "answered"; text: string } | { type: "expired" } | { type: "later"; ask: string };

export type DelegateRequest = {
  task: string;
  /** What it is called in lists, where that is not the task. */
  title?: string;
  /** The call that delegates, so that watchers know where the sub-session belongs. */
  call: string;
  agent: string | null;
  model: string | null;
  role: string | null;
  /** A person may also send it input. */
  attachable: boolean;
  /** Narrows the parent's policy; what is read-only has walls, or does not begin. */
  sandbox: { network?: boolean; extraWritePaths?: string[]; readonly?: boolean };
  /** Leaves it no tools; otherwise they are its parent's, or less. */
  toolLevel?: "none" | "readonly" | "minimal";
  tools?: string[];
  /** A place of its own, which is never a model's wish: by default it is where its parent is. */
  at?: { directory: string; allowWrite: string[]; env: Readonly<Record<string, string>> };
  /** How it leaves mail: it is a member of a team. */
  team?: TeamMailPort;
  /** What it may use of its own, besides what all have together. */
  limits?: { maxSteps?: number; timeoutMs?: number; idleMs?: number };
  /** The sub-session's id: one that is there already goes on, and is told `again` instead of the task. */
  session?: string;
  again?: string;
  /** A command instead of the task: no model is asked. */
  command?: string;
  signal: AbortSignal;
  onEvent: (event: TransientEventBody) => void;
};

export type DelegateResult = {
  session: string;
  status: TurnEnd["status"];
  answer: string;
  transcript: string | null;
  spent: Spent;
  error?: TurnEnd["error"];
  /** Of a command; null when a signal ended it. */
  exitCode?: number | null;
  /** What the budget of the whole run has left; null where it has no such limit. */
  left: RemainingBudget;
};

export type RemainingBudget = { tokens: number | null; costUsd: number | null; children: number | null };

/** What an agent can judge of a turn before there is one. The model is null when only the session knows it. */
export type TurnCheckInput = Pick<
  TurnInput,
  "model" | "toolLevel" | "tools" | "spawn" | "limits" | "answerSchema" | "agentArgs" | "group" | "team"
> & {
  images: readonly ImageData[];
  project: string;
};

/** What a preview depends on; its path may be empty. */
export type PreviewInput = Pick<
  TurnInput,
  | "session"
  | "path"
  | "model"
  | "directory"
  | "project"
  | "toolLevel"
  | "tools"
  | "spawn"
  | "system"
  | "appendSystem"
  | "contextFiles"
  | "plan"
> & { policy: Pick<Policy, "name" | "addDirs"> } & Pick<TurnContext, "canAsk">;

/** Exactly what the agent would be sent; the token counts are estimates. */
export type Preview = {
  model: string | null;
  system: string;
  tools: ToolDefinition[];
  messages: { role: string; text: string; tokens: number }[];
  tokens: { system: number; tools: number; messages: number };
  /** The body of the request, where a model can be asked. */
  body: string | null;
};

export type Agent = {
  name: string;
  /** False for one that a person can't choose. */
  takesTasks: boolean;
  /** Whether its tools can be chosen; others bring their own, and only walls hold them. */
  takesTools?: true;
  /** Set for one that keeps sessions of its own. */
  native?: { canFork: boolean };
  preview: (input: PreviewInput) => Promise<Preview>;
  /** Throws a fault for a turn that can't be taken as asked. */
  check: (turn: TurnCheckInput) => Promise<void>;
  takeTurn: (input: TurnInput, context: TurnContext) => AsyncIterable<AgentEvent>;
  /** What this machine really enforces for such a turn. Throws where that is not enough. */
  enforced: (policy: Policy, model: string | null) => Promise<EnforcedPolicy>;
};

/** Takes output as it arrives; memory is bounded however much that is. */
export type OutputSink = {
  write: (chunk: Uint8Array) => void;
  /** Ends the output. A handle comes back when it was too big for a node, else null. */
  close: (metadata: HandleMetadata, inlineBytes: number) => Promise<Handle | null>;
};

// --- tools ----------------------------------------------------------------------------------------------

export type ToolDefinition = {
  name: string;
  description: string;
  /** JSON schema of an object. */
  parameters: { type: "object"; properties: Readonly<Record<string, ToolProperty>>; required: readonly string[] };
};

export type ToolProperty = FlatProperty | ListProperty | ObjectProperty;
export type FlatProperty = { type: "string" | "integer" | "number" | "boolean"; description?: string };
export type ListProperty = { type: "array"; items: FlatProperty };
export type ObjectProperty = { type: "object"; properties: Readonly<Record<string, FlatProperty | ListProperty>> };

export type ToolCallOptions = {
  session: string;
  cwd: string;
  /** Added to the executor's own allow-listed environment. */
  env: Record<string, string>;
  signal: AbortSignal;
  /** Registers what the call runs as something that can stand still. */
  pausable?: TurnContext["registerPausable"];
  /** Raw output as it is printed (bash only). */
  onOutput: (chunk: Uint8Array) => void;
};

/** `text` is bounded by the tool only where it must not be held in memory (bash keeps head and tail). */
export type ToolOutcome = {
  text: string;
  isError: boolean;
  images?: ImageData[];
  display?: string;
  /** What was not allowed; `text` says it too. */
  denied?: Denial[];
  /** bash: exit code (null when killed by a signal), time, and bytes printed in all. */
  exitCode?: number | null;
  durationMs?: number;
  bytes?: number;
};

/** The tools behind their boundary; the same in this process and over stdio. */
export type Executor = {
  callTool: (name: string, input: Record<string, unknown>, options: ToolCallOptions) => Promise<ToolOutcome>;
  close: () => Promise<void>;
};

// --- files ----------------------------------------------------------------------------------------------

/** States of a project's files, outside of the project; each is named by an id that its content decides. */
export type Snapshots = {
  /** The files as they are now. Null when they can't be recorded, which is said once. */
  take: (project: string) => Promise<string | null>;
  /** The whole id of a state from at least 7 of its digits; null when there is none. */
  find: (project: string, id: string) => Promise<string | null>;
  changes: (project: string, from: string, to: string) => Promise<FileChange[]>;
  /** As a unified diff, at most some megabytes of it. */
  patch: (project: string, from: string, to: string) => Promise<string>;
  /** The state that can be reached from `now`, and the paths of `wanted` that can't be brought back. */
  planRestore: (project: string, now: string, wanted: string) => Promise<{ to: string; kept: string[] }>;
  /** `now` must have been taken just before. */
  restore: (project: string, now: string, to: string) => Promise<void>;
};

/**
 * Git worktrees of a project for a team, in a repository of the team's own that borrows the project's objects: the
 * project's repository, index and files stay as they are until its work is brought in.
 */
export type Worktrees = {
  /** The project's files as they are now, as a commit. Null where there is no repository. */
  base: (at: TeamRepository) => Promise<string | null>;
  /** A worktree at that commit, on a branch of its own; as it is when it is there already. */
  open: (at: TeamRepository, worktree: Worktree & { from: string }) => Promise<void>;
  /** All that differs in it from where it began, as a commit on its branch; null when nothing does. */
  commit: (at: TeamRepository, worktree: Worktree & { from: string }, by: { name: string; message: string }) => Promise<string | null>;
  /** The work of several joined onto one commit, in order; what can't be joined is left out and named. */
  join: (at: TeamRepository, onto: string, works: readonly { name: string; commit: string }[], message: string) => Promise<JoinResult>;
  changes: (at: TeamRepository, from: string, to: string) => Promise<FileChange[]>;
  patch: (at: TeamRepository, from: string, to: string) => Promise<string>;
  /** What bringing `work` into the project would change now, and what stands against it. */
  planMerge: (at: TeamRepository, base: string, work: string) => Promise<MergePlan>;
  /** Does it to the project's files alone, unless one of them has changed since. */
  merge: (at: TeamRepository, plan: MergePlan) => Promise<void>;
};

/** Both absolute. */
export type TeamRepository = { project: string; repository: string };
export type Worktree = { directory: string; branch: string };
export type MergePlan = { now: string; merged: string; conflicts: string[]; changes: FileChange[] };

export type JoinResult = { commit: string; conflicts: { name: string; paths: string[] }[] };

/** `team` is what its log tells: null when it had not begun, unknown when that can't be read. */
export type TeamDirectory = { id: string; touchedAt: number; isLed: boolean; team: TeamRecord | "unknown" | null };

/** The directories of teams, for those who look at one from outside. */
export type TeamDirectories = {
  isKept: (project: string, team: string) => boolean;
  /** `base` and `work` are the team's own commits. */
  diff: (project: string, team: TeamRecord, work: { base: string; work: string }) => Promise<Omit<TeamDiff, "session">>;
  /** Leaves a message of the person's; its id comes back. */
  post: (project: string, team: string, message: Record<string, unknown>) => string;
  /** Leaves the wish for one more member. */
  ask: (project: string, team: string, member: MemberPlan) => void;
  /** All that there are, whether or not anyone knows their sessions. */
  all: (project: string) => TeamDirectory[];
  /** The directory that is gone now. */
  remove: (project: string, team: string) => string;
  directory: (project: string, team: string) => string;
};
