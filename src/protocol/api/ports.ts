// Ports: interfaces that modules get from `app` and may not import. The engine uses an Agent, an agent uses tools and a
// model, and neither creates them.
import type { PausableWork } from "../../kit/flow/pause-gate.ts";
import type { OutputStream } from "../../kit/process/output-reader.ts";
import type { ContextView } from "../schema/results.ts";
import type { TurnError } from "./error.ts";
import type { TransientEventBody } from "../tree/event.ts";
import type { EntryChange, FileChange, FileVersion, FileState } from "../tree/file-changes.ts";
import type { Handle, HandleMetadata } from "../tree/handle.ts";
import type { ImageData, NewNode, Node } from "../tree/node.ts";
import type { Denial, EnforcedPolicy, Policy } from "./policy.ts";
import type { EngineOption, PromptOptions, TurnOptions } from "./turn-options.ts";
import type { RaceRecord, RacerRecord } from "../race/race.ts";
import type { RaceAdoption } from "../race/views.ts";
import type { WorktreeRequest } from "../worktree/ports.ts";
import type { MemberPlan, TeamRecord } from "../team/team.ts";
import type { TeamDiff } from "../team/views.ts";
import type { CliSessionStart, TurnEnd } from "../tree/turn.ts";
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
  /** The session's agent and model. Members of a team that name no other get them. */
  sessionDefaults: { agent: string; model: string | null };
  /** The text of the plan to carry out; the end of the system prompt. */
  plan: string | null;
  /** The external agent's own session to continue; null starts a new one. */
  cliSession: CliSessionStart | null;
  /** Path of the log files without an ending, beside the transcript; null if nothing may be stored. */
  logs: string | null;
  /** Variables that are added to the environment of the agent's tools or program. */
  env?: Readonly<Record<string, string>>;
  /** Gets the whole output of a command that the user runs. A pending promise makes the command wait. */
  onOutput?: OutputListener;
};

/** Events of an agent. The engine stores a `node` before it asks for the next event. The last event is the only `end`. */
export type AgentEvent =
  /** `recorded` is called once, when the node is stored. */
  | { type: "node"; node: NewNode; recorded: (node: Node) => void }
  | { type: "transient"; event: TransientEventBody }
  /** The external agent's own session, as soon as its id is known. */
  | { type: "cli-session"; id: string }
  | { type: "end"; end: TurnEnd };

export type TurnContext = {
  signal: AbortSignal;
  /** Opens a sink that stores the full output of one tool call while it arrives. */
  keepOutput: (call: string, source: string) => OutputSink;
  /** The full output of a handle on this path. */
  readOutput: (handle: Handle) => Promise<ReadableStream<Uint8Array>>;
  /** Starts a sub-session and waits for its end. */
  delegate: (request: DelegateRequest) => Promise<DelegateResult>;
  /**
   * Records the project's files before the turn, once. Call it while the first answer is awaited, and wait for it before
   * anything can change a file. Never rejects.
   */
  keepFiles: () => Promise<void>;
  /** The result of a sub-session after the time `since`, if its last turn ended ok and no message waits for it; else null. Starts nothing. */
  findFinishedTask: (session: string, since: number) => Promise<FinishedTask | null>;
  /** Marks the turn as not idle, for activity without an event, such as bytes of an answer. */
  keepAlive: () => void;
  /**
   * Reserves budget for one request, or returns the error of the limit that is reached. Waits while running requests may
   * use all that is left.
   */
  reserve: (request: UsageEstimate) => Promise<TurnError | SettleReservation>;
  /** Counts usage that was not reserved. Returns the error of the limit that it reaches. */
  count: (spent: Spent) => TurnError | null;
  /** Asks the user. Settles with an answer, when the time is over, or at once if the turn can't wait. */
  ask: (question: AskRequest) => Promise<AskOutcome>;
  /** Whether `ask` may be called. */
  canAsk: boolean;
  /** Messages for the agent since the last call, recorded as user nodes. Each is returned once. */
  takeInput: () => Promise<Node[]>;
  /** Registers something that runs for this turn and can be paused. The returned function removes it. */
  registerPausable: (pausable: PausableWork) => () => void;
  /** Sends a message to a running sub-session, once for each id. False if nothing runs there. */
  sendMessage: (session: string, message: { id: string; text: string }) => Promise<boolean>;
  /** The mail of the team; set only for a member of one. */
  team?: TeamMailPort;
  /** Adopts the work of an agent of a race. Changes nothing if it conflicts with the project. Set only for a race. */
  adoptRacer?: (race: RaceRecord, racer: RacerRecord) => Promise<RaceAdoption>;
};

export type FinishedTask = { answer: string; spent: Spent };

/** Posts a message or report of a member, as JSON. Returns whom it reached; throws if it is refused. */
export type TeamMailPort = { post: (value: Record<string, unknown>) => Promise<string> };

/** The expected usage of a request. The cost is null if the price is unknown. */
export type UsageEstimate = { tokens: number; costUsd: number | null };

/** Called after the request, with its real usage. */
export type SettleReservation = (spent: Spent) => void;

/** The call is null if an external CLI asks by its own means. */
export type AskRequest = { call: string | null; question: string; options: string[] };

/** `later`: the turn must end as `needs-input`; the next turn gets the answer. */
export type AskOutcome = { type: "answered"; text: string } | { type: "expired" } | { type: "later"; ask: string };

export type DelegateRequest = {
  task: string;
  /** Name of the sub-session in lists; default: the task. */
  title?: string;
  /** The call that delegates. Watchers show the sub-session under it. */
  call: string;
  agent: string | null;
  model: string | null;
  role: string | null;
  /** The role to record on the turn if its prompt is already part of the task or of `role`. */
  recordedRole?: string;
  /** Whether the user may send messages to the sub-session. */
  attachable: boolean;
  /** Narrows the parent's policy. A read-only sub-session requires a sandbox. */
  sandbox: { network?: boolean; extraWritePaths?: string[]; readonly?: boolean };
  /** Default: the level of its parent, narrowed to the policy. */
  toolLevel?: "none" | "readonly" | "minimal";
  /** Exactly these tools of a native sub-session, instead of those of the level. */
  tools?: string[];
  /** Workspace of the sub-session; default: the directory of its parent. A model can't choose it. */
  at?: { directory: string; allowWrite: string[]; env: Readonly<Record<string, string>> };
  /** The mail of the team; set only for a member of one. */
  team?: TeamMailPort;
  /** Limits of the sub-session, besides those of the whole run. */
  limits?: { maxSteps?: number; timeoutMs?: number; idleMs?: number };
  /** The sub-session's id. An existing sub-session continues. */
  session?: string;
  /** The node that a new sub-session starts from, in the tree of its parent. Null: an empty conversation in a new tree. */
  forkAt?: string | null;
  /** A new sub-session works in a worktree. With `forkAt` it begins with the files of that node. */
  worktree?: WorktreeRequest;
  /** The prompt if the sub-session has had a turn already, instead of the task. Null continues its interrupted turn. */
  resumePrompt?: string | null;
  /** A command instead of the task; no model is used. */
  command?: string;
  signal: AbortSignal;
  /** Called for each transient event of the sub-session. */
  onEvent?: (event: TransientEventBody) => void;
};

export type DelegateResult = {
  session: string;
  status: TurnEnd["status"];
  answer: string;
  transcript: string | null;
  /** Set for a sub-session that works in a worktree of its own. */
  worktree?: { name: string; directory: string };
  /** The text of its transcript, from the store: an ephemeral run has no file. */
  readTranscript: () => Promise<string>;
  spent: Spent;
  error?: TurnEnd["error"];
  /** Exit code of a command; null if a signal ended it. */
  exitCode?: number | null;
  /** The budget left for the whole run; null without a limit. */
  left: RemainingBudget;
};

export type RemainingBudget = { tokens: number | null; costUsd: number | null; children: number | null };

/** The part of a turn that an agent can check before the turn exists. The model is null if only the session has one. */
export type TurnCheckInput = Pick<
  TurnInput,
  | "model"
  | "toolLevel"
  | "tools"
  | "spawn"
  | "mcpServers"
  | "limits"
  | "answerSchema"
  | "agentArgs"
  | "group"
  | "team"
  | "race"
  | "policy"
  | "directory"
  | "compact"
> & {
  images: readonly ImageData[];
  project: string;
};

/** The input of a preview; its path may be empty. */
export type PreviewInput = Pick<
  TurnInput,
  "session" | "path" | "model" | "directory" | "project" | "toolLevel" | "tools" | "spawn" | "mcpServers" | "plan"
> &
  PromptOptions & { policy: Pick<Policy, "name" | "addDirs"> } & Pick<TurnContext, "canAsk">;

/** The exact request of the agent; token counts are estimates. */
export type Preview = Omit<ContextView, "session" | "node">;

export type Agent = {
  name: string;
  /** False for an agent that users can't choose. */
  takesTasks: boolean;
  /** Whether its tools can be chosen. Other agents have their own tools, limited only by the sandbox. */
  takesTools?: true;
  /** Set for an agent whose CLI has its own sessions. */
  cliSessions?: { canFork: boolean };
  preview: (input: PreviewInput) => Promise<Preview>;
  /** Throws a fault for a turn that it can't take. */
  check: (turn: TurnCheckInput) => Promise<void>;
  takeTurn: (input: TurnInput, context: TurnContext) => AsyncIterable<AgentEvent>;
  /** Returns the rules that this machine enforces for such a turn. Throws if the policy requires more. */
  enforced: (policy: Policy, model: string | null) => Promise<EnforcedPolicy>;
};

/** Accepts output as it arrives, with bounded memory. */
export type OutputSink = {
  write: (chunk: Uint8Array) => void;
  /** Ends the output. Returns a handle if it was too big for a node, else null. */
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

export type OutputListener = (chunk: Uint8Array, stream: OutputStream) => void | Promise<void>;

export type ToolCallOptions = {
  session: string;
  cwd: string;
  /** Added to the executor's allow-listed environment. */
  env: Record<string, string>;
  signal: AbortSignal;
  /** Registers the processes of the call as pausable. */
  pausable?: TurnContext["registerPausable"];
  /** True tells stdout from stderr. Else all output counts as stdout, in the order in which it was written. */
  separateStreams?: boolean;
  /** Called with raw output as it is printed (bash only). No more output is read while a returned promise is pending. */
  onOutput: OutputListener;
};

/** A tool shortens `text` only if the output must not be held in memory: bash returns head and tail. */
export type ToolOutcome = {
  text: string;
  isError: boolean;
  images?: ImageData[];
  display?: string;
  /** Refused actions; `text` describes them too. */
  denied?: Denial[];
  /** bash only; null after a signal. */
  exitCode?: number | null;
  /** bash only: the name of the signal that ended the command; null if it exited. */
  signal?: string | null;
  /** bash only. */
  durationMs?: number;
  /** bash only: the number of printed bytes. */
  bytes?: number;
};

/** The turn whose sandbox and directory a command runs in. */
export type CommandTurn = Pick<TurnInput, "session" | "root" | "project" | "directory" | "policy" | "nesting" | "env">;

export type CommandOptions = Pick<ToolCallOptions, "signal" | "pausable" | "onOutput"> & { command: string; timeoutMs: number };

/** Runs a shell command in the executor, as the tool `bash` does. `Agent.enforced` must have been called before. */
export type CommandRunner = (turn: CommandTurn, options: CommandOptions) => Promise<ToolOutcome>;

/** `env` is all that the program gets besides a few variables such as PATH and HOME. `signal` ends it. */
export type ProgramOptions = Pick<ToolCallOptions, "session" | "cwd" | "env" | "signal" | "pausable" | "onOutput">;

/** A program that runs in the executor's sandbox. Its caller writes to its stdin and reads its output. */
export type RunningProgram = {
  write: (bytes: Uint8Array) => void;
  /** Never rejects. The text says how the program ended. */
  ended: Promise<ToolOutcome>;
};

/** Runs tools in the executor process. */
export type Executor = {
  callTool: (name: string, input: Record<string, unknown>, options: ToolCallOptions) => Promise<ToolOutcome>;
  /** Starts a program that runs until it ends, its signal is aborted or the executor closes. */
  openProgram: (command: string[], options: ProgramOptions) => Promise<RunningProgram>;
  close: () => Promise<void>;
};

// --- MCP servers ----------------------------------------------------------------------------------------

/** Without a tool it lists the server's tools. */
export type McpCall = { server: string; tool: string | null; arguments: Record<string, unknown> };

export type McpCallOptions = Pick<TurnContext, "registerPausable"> & {
  signal: AbortSignal;
  /** Called for each message of a server that still works. */
  onProgress: () => void;
  /** The span of the turn, for the spans of the server. */
  traceparent?: string | undefined;
};

/** The MCP servers of one turn. Each starts at its first call. */
export type TurnServers = {
  /** In the order in which the model sees them; never empty. */
  names: readonly string[];
  /** Never rejects for a failure of a server. `text` has the whole result. */
  call: (call: McpCall, options: McpCallOptions) => Promise<ToolOutcome>;
  /** Ends every server that was started. Never rejects. */
  close: () => Promise<void>;
};

/** The parts of a turn that decide about its servers. */
export type TurnServersInput = Pick<TurnInput, "mcpServers">;

// --- files ----------------------------------------------------------------------------------------------

/** Recorded states of a project's files, stored outside of the project. The id is derived from the content. */
export type Snapshots = {
  /** Records the files now. Null if that is impossible, which is reported once. */
  take: (project: string) => Promise<string | null>;
  /** Reads the files and stores them afterwards. Begins after `withinMs`, or with an earlier snapshot of the project. */
  read: (project: string, withinMs?: number) => Promise<FileState>;
  /** Whether the files are in memory, so that `take` needs little time if few have changed. */
  isFast: (project: string) => Promise<boolean>;
  /** Stores the files in memory for the next process, if they have changed. Never rejects. Call it after the last `take`. */
  save: (project: string) => Promise<void>;
  /** The full id of a state from at least 7 digits; null if there is none. */
  find: (project: string, id: string) => Promise<string | null>;
  changes: (project: string, from: string, to: string) => Promise<FileChange[]>;
  /** A unified diff of at most some megabytes. */
  patch: (project: string, from: string, to: string) => Promise<string>;
  /** The changed files of each pair of states, in the order of the pairs. */
  entries: (project: string, pairs: readonly (readonly [from: string, to: string])[]) => Promise<EntryChange[][]>;
  /** The content of each version; null if it is no file, or too big to be stored. */
  contents: (project: string, versions: readonly FileVersion[]) => Promise<(Buffer | null)[]>;
  /** The version of a file in a state; null if it has no such file. The path has one character for each byte. */
  versionOf: (project: string, state: string, path: string) => Promise<FileVersion>;
  /** The given changes alone, counted and as one diff. Several changes of one path are in the order of the list. */
  describe: (project: string, changes: readonly EntryChange[]) => Promise<{ changes: FileChange[]; patch: string }>;
  /** The state `base` with other versions of some files. Null removes the file. */
  replace: (project: string, base: string, files: ReadonlyMap<string, FileVersion>) => Promise<string>;
  /** `to` is the state that a restore of `target` can reach from `current`. `kept` are the paths that can't be restored. */
  planRestore: (project: string, current: string, target: string) => Promise<{ to: string; kept: string[] }>;
  /** `current` must be recorded just before the call. */
  restore: (project: string, current: string, to: string) => Promise<void>;
  /** Removes stored files that no state in `keep` has and that were not written for that long. `isDaily` limits it to once a day. */
  prune: (project: string, options: { keep: readonly string[]; olderThanMs: number; isDaily: boolean }) => Promise<void>;
  /** Untracked repositories inside the project at the last `take`. The paths have one character for each byte. */
  innerRepositories: (project: string) => Promise<string[]>;
};

/** Keeps a project free of changes that would run programs when the user calls git. */
export type ProjectGuards = {
  /** Throws if a path that must stay protected can't be. `Agent.enforced` must have been called before. */
  check: (turn: Omit<GuardedTurn, "root">) => Promise<void>;
  /**
   * Call it before anything can change a file. Call the returned function after the turn: it compares, moves dangerous new
   * repositories aside, and returns a line for each finding.
   */
  begin: (turn: GuardedTurn) => Promise<() => Promise<string[]>>;
};

export type GuardedTurn = Pick<TurnInput, "root" | "project" | "directory" | "policy">;

/**
 * `hasLeader`: a running process leads the team. `team` is read from its log: null if it had not started, `unknown` if the
 * log can't be read.
 */
export type TeamDirectory = { id: string; touchedAt: number; hasLeader: boolean; team: TeamRecord | "unknown" | null };

/** The directories of teams, seen from outside. */
export type TeamDirectories = {
  /** Whether the team's directory still exists. */
  isKept: (project: string, team: string) => Promise<boolean>;
  /** `base` and `work` are the team's own commits. */
  diff: (project: string, team: TeamRecord, work: { base: string; work: string }) => Promise<Omit<TeamDiff, "session">>;
  /** Posts a message of the user. Returns its id. */
  post: (project: string, team: string, message: Record<string, unknown>) => Promise<string>;
  /** Requests one more member. */
  requestMember: (project: string, team: string, member: MemberPlan) => Promise<void>;
  /** All directories, also of unknown sessions. */
  all: (project: string) => Promise<TeamDirectory[]>;
  /** Returns the removed directory. */
  remove: (project: string, team: string) => Promise<string>;
  directory: (project: string, team: string) => Promise<string>;
};
