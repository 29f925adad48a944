// The one object that doors know. The engine implements it, the hub will serve it, its client mirrors it:
// a door can't tell whether it lives in this process. Methods read `noun.verb`; a feed is an AsyncIterable.
import type { AgentInfo, AgentsReport, TrialProgress } from "./agents.ts";
import type { Ask, Health, PauseReport, QueuedInput, TurnInfo } from "./control.ts";
import type { TurnStatus } from "./error.ts";
import type { Event } from "../tree/event.ts";
import type { FileChange, ListFilesParams, ListFilesResult } from "../tree/file-changes.ts";
import type { Handle } from "../tree/handle.ts";
import type { DescribeSessionParams, Description, HistorySearchResult, HistorySearchParams } from "../tree/history.ts";
import type { ImportFormat, ImportSource, ImportReport } from "../tree/import.ts";
import type { Node } from "../tree/node.ts";
import type { Preview } from "./ports.ts";
import type { Policy, ToolLevel } from "./policy.ts";
import type { Role, RoleList } from "./role.ts";
import type { TokenCount, CountTokensParams } from "./token-count.ts";
import type { TurnOptions, TurnSettings } from "./turn-options.ts";
import type { BranchComparison, FoundNode, HandleContent, SessionView } from "../tree/views.ts";
import type { TeamApi } from "../team/views.ts";
import type { Plan, Session, Turn } from "../tree/turn.ts";
import type { Usage } from "../tree/usage.ts";

export type Api = {
  session: {
    open: (params: SessionOpenParams) => Promise<Session>;
    list: (params: { project: string | null; archived?: boolean; subSessions?: boolean; limit?: number }) => Promise<Session[]>;
    /** Archived sessions are left out unless asked for. */
    tree: (params: { session: string; archived?: boolean }) => Promise<TreeView>;
    /** Where it stands, read at one moment: to be shown and followed from there. */
    show: (params: { session: string }) => Promise<SessionView>;
    /** The ends of all branches of its tree. */
    leaves: (params: { session: string }) => Promise<Node[]>;
    /** By id, tail or name; names of the directory's project come first. */
    find: (params: { wanted: string; directory: string }) => Promise<Session>;
    /** A new session at an old node (its tip when none is named); the old one keeps its tip. */
    fork: (params: { session: string; at: string | null; name: string | null }) => Promise<Session>;
    /** Points the session at another node of its tree; null is before the first. Files stay as they are. */
    move: (params: { session: string; node: string | null }) => Promise<Session>;
    rename: (params: { session: string; name: string }) => Promise<Session>;
    archive: (params: { session: string }) => Promise<Session>;
    restore: (params: { session: string }) => Promise<Session>;
    /** Archived sessions go for good: one, or all that were archived that long ago. */
    purge: (params: { session: string | null; olderThanMs: number; dryRun: boolean }) => Promise<PurgeReport>;
    /** The session that `--continue` means in this project. */
    current: (params: { directory: string }) => Promise<Session | null>;
    use: (params: { session: string; directory: string }) => Promise<void>;
    /** What it was about and what came of it; made once, and again when the session has changed. */
    describe: (params: DescribeSessionParams) => Promise<Description>;
  };
  node: {
    find: (params: { wanted: string }) => Promise<Node>;
    /** From the root to the node. */
    path: (params: { node: string }) => Promise<Node[]>;
    children: (params: { node: string }) => Promise<Node[]>;
    /** A message of the user's that no agent takes up yet. */
    add: (params: { session: string; text: string }) => Promise<Node>;
    /** The conclusion of another session, as a handle that names it. */
    addSession: (params: { session: string; from: string }) => Promise<Node>;
  };
  graft: {
    /** Brings a branch's conclusion into another session as one node. */
    make: (params: { from: string; into: string }) => Promise<Node>;
  };
  files: {
    /** By a few letters, for those who type a path. */
    list: (params: ListFilesParams) => Promise<ListFilesResult>;
    /** What changed from one moment to another, or to now. A moment is a node, a session (its tip) or `snapshot:<id>`. */
    diff: (params: { from: string; to: string | null; directory: string }) => Promise<FilesDiff>;
    planRestore: (params: { to: string; directory: string }) => Promise<FilesRestorePlan>;
    /** Does what was planned, unless the files have changed since. */
    restore: (params: Pick<FilesRestorePlan, "project" | "from" | "to">) => Promise<void>;
  };
  plan: {
    /** The project's own plan as it is now; without text where there is none. */
    read: (params: { directory: string }) => Promise<Plan>;
    /** The same, after its file was made where it is missing. */
    make: (params: { directory: string }) => Promise<Plan>;
  };
  context: {
    /** Exactly what the session's agent would be sent from this node (its tip when none is named). */
    render: (params: { session: string; node: string | null }) => Promise<ContextView>;
    /** Every handle on the way to this node. */
    handles: (params: { session: string; node: string | null }) => Promise<Handle[]>;
  };
  turn: {
    /** Throws what would stop such a turn before it starts, so that nothing is written for it. */
    check: (params: TurnCheckParams) => Promise<void>;
    /** Runs to the end whoever watches; leaving the feed does not stop it. */
    start: (params: TurnStartParams) => AsyncIterable<Event>;
    cancel: (params: { session: string }) => Promise<void>;
    /** Stops the turn that runs in a session, whichever process runs it; by force without asking that process. */
    kill: (params: { session: string; force: boolean }) => Promise<KillReport>;
    /**
     * What is stored of a session after `afterSeq`, then what happens, whichever process runs it. Ends with what is
     * stored, when nothing runs there any more, or never.
     */
    watch: (params: { session: string; afterSeq: number; until: "now" | "idle" | "never" }) => AsyncIterable<Event>;
    /** A message that the agent is given at its next step, or in a turn that follows. */
    steer: (params: { session: string; text: string }) => Promise<QueuedInput>;
    /** A message that waits is not given any more; null when it was given already. */
    takeBack: (params: { session: string; input: string }) => Promise<QueuedInput | null>;
    /** No request, no tool, no processor time until it is let go on. By force its whole process stands still. */
    pause: (params: { session: string; force: boolean }) => Promise<PauseReport>;
    resume: (params: { session: string }) => Promise<PauseReport>;
    /** What runs on this machine, with `ended` also what has run since then. */
    list: (params: { endedSince: number | null }) => Promise<TurnInfo[]>;
  };
  ask: {
    /** Those without an answer, the oldest first. */
    list: (params: { session: string | null }) => Promise<Ask[]>;
    /** By id or tail of one. A number chooses an option, where there are any. */
    answer: (params: { ask: string; text: string }) => Promise<Ask>;
  };
  bash: {
    /** A turn of the agent `shell` in a session: no model is asked. */
    execute: (params: BashExecuteParams) => AsyncIterable<Event>;
  };
  health: { check: () => Promise<Health> };
  transcript: {
    /** What is stored already is not added again; a longer version of a file adds what is new in it. */
    import: (params: TranscriptImportParams) => Promise<ImportReport>;
  };
  /** Ranked, the best first; every word must occur. */
  search: { find: (params: { query: string; project: string | null; limit: number }) => Promise<FoundNode[]> };
  /** What was said and committed in a project, ranked over all queries; for those who take it as data. */
  history: { search: (params: HistorySearchParams) => Promise<HistorySearchResult> };
  /** Each side is a session or a node. */
  branch: { compare: (params: { a: string; b: string; directory: string }) => Promise<BranchComparison> };
  /** The stored copy behind a handle; null is no bound. */
  handle: { resolve: (params: { identifier: string; maxBytes: number | null; as: "text" | "base64" }) => Promise<HandleContent> };
  tokens: { count: (params: CountTokensParams) => Promise<TokenCount> };
  usage: { report: (params: { by: UsageKey; project: string | null }) => Promise<UsageEntry[]> };
  store: { verify: (params: { repair?: boolean; onProgress?: (checked: number) => void }) => Promise<VerifyReport> };
  agents: { list: () => Promise<AgentInfo[]> };
  models: { list: () => Promise<ModelInfo[]> };
  auth: { status: () => Promise<VendorAuth[]> };
  skills: { list: (params: { directory: string }) => Promise<SkillList> };
  roles: {
    list: (params: { directory: string }) => Promise<RoleList>;
    find: (params: { name: string; directory: string }) => Promise<Role>;
  };
  team: TeamApi;
  config: {
    show: () => Promise<ConfigEntry[]>;
    values: () => Promise<Settings>;
    set: (params: { key: string; value: string; scope: "user" | "project" }) => Promise<{ path: string }>;
    paths: () => Promise<ConfigPaths>;
    schema: () => Promise<Record<string, unknown>>;
  };
  trust: {
    show: (params: { directory: string }) => Promise<TrustState>;
    grant: (params: { directory: string }) => Promise<TrustState>;
    revoke: (params: { directory: string }) => Promise<TrustState>;
  };
  doctor: {
    check: () => Promise<DoctorReport>;
    /** Tries every installed agent offline, and keeps what was found out. */
    tryAgents: (params: TryAgentsParams) => Promise<AgentsReport>;
  };
  /** `finish` waits for turns that run here; otherwise they are stopped, and recorded as what they are. */
  close: (how?: "stop" | "finish") => Promise<void>;
};

export type BashExecuteParams = { session: string; command: string; timeoutMs: number | null; policy: Policy };

/** Which session a turn goes to: an existing one, the latest of the project, or a new one. */
export type SessionOpenParams = {
  find: { by: "name"; wanted: string; orCreate: boolean } | { by: "latest" } | { by: "new" };
  id?: string;
  name?: string;
  /** Absolute; the project is the one it belongs to. */
  directory: string;
  task: string | null;
  agent: string;
  model: string | null;
  toolLevel: ToolLevel;
  parentSession: string | null;
  transcriptDir: string | null;
  /** What a new session executes. */
  plan?: Plan;
};

export type TurnStartParams = TurnOptions & {
  session: string;
  /** Null continues an interrupted turn. */
  prompt: string | null;
};

export type TurnCheckParams = Omit<TurnOptions, "agent"> & {
  agent: string;
  /** A session that exists brings its own model when none is named. */
  isNew: boolean;
  directory: string;
};

export type KillReport = {
  session: string;
  /** `stopped` recorded its own end; `killed` could not, and its end was recorded for it. */
  outcome: "not-running" | "stopped" | "killed";
  /** The process that ran the turn; null when it was gone already. */
  pid: number | null;
  /** How the session's last turn ended. */
  status: TurnStatus | null;
};

export type ContextView = Preview & { session: Session; node: string | null };

export type TranscriptImportParams = {
  from: ImportSource;
  format: ImportFormat | "auto";
  name: string | null;
  directory: string;
};

/** States of a project's files by their ids, and what differs. The patch is bounded. */
export type FilesDiff = { project: string; from: string; to: string; changes: FileChange[]; patch: string };
export type FilesRestorePlan = FilesDiff & {
  /** What can't be brought back: too big to have been kept, or something unrecorded stands in its way. */
  kept: string[];
  /** The name of the state before the restore, to be restored in turn. */
  undo: string;
};

export type TreeView = { nodes: Node[]; sessions: Session[]; turns: Turn[] };

export type UsageKey = "day" | "agent" | "model" | "project";
export type UsageEntry = { key: string; turns: number; usage: Usage; costUsd: number; unpriced: number };

export type PurgeReport = {
  dryRun: boolean;
  sessions: { id: string; name: string | null; project: string; archivedAt: number }[];
  skipped: { id: string; name: string | null; reason: string }[];
  nodes: number;
  /** Nodes of purged sessions that stay because another session needs them. */
  keptNodes: number;
  turns: number;
  outputs: number;
  transcripts: number;
  bytes: number;
  problems: string[];
};

export type VerifyProblem = { kind: string; subject: string; message: string };
export type VerifyReport = {
  sessions: number;
  nodes: number;
  turns: number;
  handles: number;
  transcripts: number;
  problems: VerifyProblem[];
  /** What was mended, when that was asked for. */
  repaired?: VerifyProblem[];
};

export type ModelInfo = {
  name: string;
  vendor: string;
  /** Whether a key or a server is there for it. */
  ready: boolean;
  isDefault: boolean;
  contextWindow: number | null;
  /** Dollars for a million tokens. */
  inputPrice: number | null;
  outputPrice: number | null;
};

export type VendorAuth = {
  vendor: string;
  ready: boolean;
  /** The variable or config key it comes from; never its value. */
  source: string | null;
  baseUrl: string;
  hint: string;
  /** Agents that ask this vendor with a credential of their own: a sign-in, or a key that only they keep. */
  agents?: AgentAuth[];
};

export type AgentAuth = { agent: string; kind: "key" | "sign-in"; source: string; note: string };

export type SkillInfo = {
  name: string;
  description: string;
  path: string;
  scope: "project" | "user";
  trusted: boolean;
  /** For people only: it is not in the model's catalog. */
  hidden?: boolean;
};
export type SkillList = { skills: SkillInfo[]; problems: { path: string; message: string }[] };

/** The configuration as a door uses it: resolved, in milliseconds and absolute paths; null is decided by the door. */
export type Settings = TurnSettings & {
  model: string | null;
  agent: string;
  askTimeoutMs: number;
  purgeAfterMs: number | null;
  /** Keys of the screen and the commands they mean. */
  keys: Readonly<Record<string, string>>;
  notify: NotifyMode;
  screenReader: boolean;
};

export const notifyModes = ["auto", "bell", "osc", "off"] as const;
/** How a person who looks elsewhere is told that something happened. */
export type NotifyMode = (typeof notifyModes)[number];

export type ConfigEntry = {
  key: string;
  /** As the program uses it: times in ms, paths absolute. A secret only says that it is set. */
  value: unknown;
  /** As it was written, where that differs: "2h". */
  written?: unknown;
  origin: string;
  description: string;
};
export type ConfigPaths = {
  user: string;
  project: string;
  data: string;
  state: string;
  cache: string;
  config: string;
};

export type TrustState = {
  directory: string;
  trusted: boolean;
  /** The files that could widen something, relative to the directory. */
  files: string[];
  reason?: string;
};

export type DoctorCheck = {
  name: string;
  ok: boolean;
  /** A failed check that only matters for some uses. */
  optional: boolean;
  detail: string;
  hint?: string;
};
export type DoctorReport = { checks: DoctorCheck[]; ok: boolean };

export type TryAgentsParams = { onProgress?: (progress: TrialProgress) => void; signal?: AbortSignal };
