// The interface of the store: asynchronous, and independent of the database behind it.
// One conformance suite runs against every implementation.
import type { UsagePoint } from "../protocol/schema/views/usage-views.ts";
import type { PurgeReport, UsageKey, UsageEntry, UsageSeriesParams, VerifyReport } from "../protocol/api/api.ts";
import type { Ask, PendingTurn, QueuedInput, TurnInfo } from "../protocol/api/control.ts";
import type { TurnStatus } from "../protocol/api/error.ts";
import type { DurableEvent } from "../protocol/tree/event.ts";
import type { CallFiles, FileRecord, TurnFiles } from "../protocol/tree/file-changes.ts";
import type { ImportedNode, ImportedTurn } from "../protocol/tree/import.ts";
import type { NewNode, Node } from "../protocol/tree/node.ts";
import type { AskRequest, OutputSink } from "../protocol/api/ports.ts";
import type { Limits } from "../protocol/api/turn-options.ts";
import type { Spent } from "../protocol/tree/usage.ts";
import type { WorktreeRecord } from "../protocol/worktree/ports.ts";
import type { SessionView } from "../protocol/tree/views.ts";
import type { CliSessionStart, Session, Source, Turn } from "../protocol/tree/turn.ts";

/** Records of calls to store with a node, as by `saveCallFiles`. Gets the id of the node. */
export type RecordsOfNode = (node: string) => CallFiles[];

export type Store = {
  // --- sessions ---------------------------------------------------------------------------------------------
  createSession: (session: NewSession) => Promise<Session>;
  session: (id: string) => Promise<Session | null>;
  /** Throws `session-unknown` if there is none. */
  requireSession: (id: string) => Promise<Session>;
  /** Searches by full id, unambiguous tail (4 or more hex digits) or name. Names of the project come first. */
  findSession: (idOrName: string, project: string | null) => Promise<Session>;
  listSessions: (filter: SessionFilter) => Promise<Session[]>;
  updateSession: (id: string, change: SessionChange) => Promise<Session>;
  /** The session of the project's latest turn that did not end `ok` and can be continued. Null if there is none. */
  interruptedSession: (project: string) => Promise<Session | null>;
  /** A new session at an old node. Copies no nodes. */
  forkSession: (from: string, node: string, fork: SessionFork) => Promise<Session>;

  /** A consistent snapshot. Every later change is in `events` after the snapshot's `seq`. */
  sessionView: (id: string) => Promise<SessionView>;

  // --- writing under a lease: every write checks the lease's epoch in its own transaction ---------------------
  /**
   * Takes the lease of the session, also from a process that has exited. Throws `session-busy` with the holder if that still
   * runs, and `session-archived` if the session is archived.
   */
  acquire: (session: string) => Promise<Lease>;
  release: (lease: Lease) => Promise<void>;
  /** The process that holds the session. Null if there is none, or if it has exited. */
  holder: (session: string) => Promise<ActiveHolder | null>;
  /**
   * With `turn.cliSessions`, also finds the CLI session to resume or fork. A session to resume is claimed for this turn, in
   * the same transaction.
   */
  startTurn: (lease: Lease, turn: NewTurn) => Promise<WriteResult<Turn> & { cliSession: CliSessionStart | null }>;
  /** Stores the id of the agent's own session as soon as the agent reports it. */
  recordNativeId: (lease: Lease, turn: string, nativeId: string) => Promise<void>;
  /** Adds the node below the session's tip, moves the tip and drops the drafts that the node completes. */
  appendNode: (lease: Lease, turn: string | null, node: NewNode, files?: RecordsOfNode) => Promise<WriteResult<Node>>;
  /** `next` is the id of the pending turn that continues this one. */
  endTurn: (lease: Lease, turn: string, end: TurnClose) => Promise<WriteResult<Turn> & { next: PendingTurn | null }>;
  /** Stores streaming text, so that a crash loses at most the time between two calls. */
  saveDraft: (lease: Lease, turn: string, draft: Draft) => Promise<void>;
  openOutput: (lease: Lease, call: string, source: string) => OutputSink;
  /** Stores the state of the running turn for `listTurns`. */
  setState: (lease: Lease, state: HeldState) => Promise<void>;
  openAsk: (lease: Lease, turn: string, request: AskRequest & { expiresAt: number | null }) => Promise<WriteResult<Ask>>;
  /** Throws `ask-closed` if the question is closed already. */
  closeAsk: (lease: Lease, id: string, close: AskClose) => Promise<WriteResult<Ask>>;
  /** Does nothing if a message of this id was queued before. */
  queueInput: (lease: Lease, text: string, id?: string) => Promise<WriteResult<QueuedInput>>;
  /** Null if the message is not queued any more. */
  dropInput: (lease: Lease, id: string) => Promise<WriteResult<QueuedInput | null>>;
  /** Every queued message becomes a node of this turn, exactly once. */
  takeInputs: (lease: Lease, turn: string) => Promise<WriteResult<Node[]>>;
  /** Stores the ids of the file snapshots before and after a running turn. */
  saveTurnFiles: (lease: Lease, turn: string, files: TurnFiles) => Promise<void>;
  /** Stores the snapshots around calls of a running turn. Replaces the record with the same `first`. */
  saveCallFiles: (lease: Lease, turn: string, ...records: CallFiles[]) => Promise<void>;

  // --- worktrees of sessions; their records outlive the sessions --------------------------------------------
  /** Null if there is none of that name. */
  worktree: (project: string, name: string) => Promise<WorktreeRecord | null>;
  /** Null if no worktree has that directory. */
  worktreeAt: (directory: string) => Promise<WorktreeRecord | null>;
  /** The latest first. Null lists those of all projects. */
  listWorktrees: (project: string | null) => Promise<WorktreeRecord[]>;
  /** False if there is already a worktree of that name. */
  addWorktree: (record: WorktreeRecord) => Promise<boolean>;
  updateWorktree: (worktree: WorktreeKey, change: Partial<Omit<WorktreeRecord, keyof WorktreeKey>>) => Promise<WorktreeRecord>;
  removeWorktree: (worktree: WorktreeKey) => Promise<void>;
  /** The sessions that work in the directory, also archived ones; the latest first. */
  worktreeSessions: (worktree: WorktreeKey) => Promise<Session[]>;

  // --- turns that start later; none of these needs a lease ------------------------------------------------------
  queueTurn: (session: string, pending: NewPendingTurn) => Promise<PendingTurn>;
  /** All pending turns, or those of one session; the next one of each session first. */
  pendingTurns: (session: string | null) => Promise<PendingTurn[]>;
  /** Searches by full id or unambiguous tail. Null if it has started or was withdrawn. */
  findPendingTurn: (idOrTail: string) => Promise<StoredPendingTurn | null>;
  /** False if it has started or was withdrawn before. */
  withdrawTurn: (id: string) => Promise<boolean>;
  /** Ends the wait of the session's turn, and prevents that its interrupted turn is continued. Returns whether one waited. */
  stopContinuing: (session: string) => Promise<boolean>;
  setPendingProblem: (id: string, problem: string | null) => Promise<void>;

  // --- importing: rows bring their own ids and times; rows that are stored already stay as they are -------------
  /** Adds the session to the tree of that id, which is created if it is missing. A purged session gets a new id. */
  importSession: (session: SessionImport, tree: string | null) => Promise<Session>;
  importedSession: (agent: string, nativeId: string) => Promise<Session | null>;
  storedNodes: (ids: string[]) => Promise<{ stored: Set<string>; tree: string | null }>;
  /** Adds the missing nodes and returns their number. Does not move the tip. */
  importNodes: (lease: Lease, batch: ImportBatch) => Promise<number>;
  /** Stores an output under its own identifier. False if that is another session's or in use. */
  importOutput: (lease: Lease, output: ImportedOutput) => Promise<boolean>;

  // --- reading ------------------------------------------------------------------------------------------------
  node: (id: string) => Promise<Node | null>;
  /** Searches by full id or unambiguous tail. */
  findNode: (idOrTail: string) => Promise<Node>;
  /** From the root to the node. Empty for null. */
  path: (node: string | null) => Promise<Node[]>;
  /** From the root to the session's tip. */
  sessionPath: (session: string) => Promise<Node[]>;
  /** The end of that path, from its last answer on. The whole path if there is no answer. */
  sessionPathEnd: (session: string) => Promise<Node[]>;
  children: (node: string) => Promise<Node[]>;
  /** Every node of a tree, oldest first. */
  treeNodes: (tree: string) => Promise<Node[]>;
  /** The nodes that a session wrote, oldest first. */
  sessionNodes: (session: string) => Promise<Node[]>;
  /** The nodes that a session wrote, from this one on. All of them if it wrote no such node. */
  sessionNodesFrom: (session: string, node: string) => Promise<Node[]>;
  turn: (id: string) => Promise<Turn | null>;
  turnsOf: (session: string) => Promise<Turn[]>;
  /** Turns that have not ended. The process that ran them may have exited. */
  openTurns: (session: string) => Promise<Turn[]>;
  /** The texts that started these turns. A turn without one has no entry. */
  prompts: (turns: string[]) => Promise<Map<string, string>>;
  /** The texts that started the turns at the sessions' tips, by session. */
  latestPrompts: (sessions: string[]) => Promise<Map<string, string>>;
  drafts: (turn: string) => Promise<Draft[]>;
  /** Open turns, then those that ended at `endedSince` or later (null: none), each latest first. */
  listTurns: (endedSince: number | null) => Promise<TurnInfo[]>;
  /** The agent's latest turn of each session, latest first. Includes archived sessions. */
  latestTurnsBy: (agent: string, filter: { project?: string | null; session?: string; limit?: number }) => Promise<TurnInfo[]>;
  /** All sub-sessions of a session, at any depth, with their spending so far. */
  subSessions: (session: string) => Promise<SubSession[]>;
  /** Every question of one session, or the open questions of all sessions; oldest first. */
  asks: (session: string | null) => Promise<Ask[]>;
  /** Searches by full id or unambiguous tail. */
  findAsk: (idOrTail: string) => Promise<Ask>;
  /** Messages that no turn has taken yet. */
  queue: (session: string) => Promise<QueuedInput[]>;
  /** The map has no entry for a turn without snapshots. */
  turnFiles: (turns: string[]) => Promise<Map<string, TurnFiles>>;
  /** Recorded calls of these turns, in order of time. Turns that changed nothing have none. */
  turnRecords: (turns: string[]) => Promise<FileRecord[]>;
  /** Recorded calls of every session in a project that ran between two times, in order of time. */
  projectRecords: (project: string, window: { from: number; to: number }) => Promise<FileRecord[]>;
  /** Ids of all recorded states of a project's files. */
  fileStates: (project: string) => Promise<string[]>;
  events: (session: string, afterSeq: number) => Promise<DurableEvent[]>;
  readOutput: (identifier: string) => Promise<ReadableStream<Uint8Array>>;
  search: (query: string, filter: { project: string | null; limit: number }) => Promise<SearchHit[]>;
  /** The hits that `asker` was shown at `since` or later. */
  shownHits: (asker: string, since: number) => Promise<Set<string>>;
  /** Also deletes every record older than `since`. */
  recordShownHits: (asker: string, hits: string[], since: number) => Promise<void>;
  /** Changes with every change of the session. A saved description is valid while its stamp is the session's. */
  sessionStamp: (session: string) => Promise<string>;
  /** `request` is the key under which the description was saved. */
  description: (session: string, request: string) => Promise<string | null>;
  saveDescription: (session: string, request: string, description: { stamp: string; body: string }) => Promise<void>;
  usage: (by: UsageKey, project: string | null) => Promise<UsageEntry[]>;
  /** One point for each key and each quarter of an hour in which turns started. */
  usageSeries: (request: Pick<UsageSeriesParams, "by" | "since" | "project">) => Promise<UsagePoint[]>;
  /** Deletes archived sessions for good, with every node that no other session needs. */
  purge: (request: PurgeRequest) => Promise<PurgeReport>;
  verify: (options: { repair?: boolean; onProgress?: (checked: number) => void }) => Promise<VerifyReport>;
  close: () => Promise<void>;
};

export type NewSession = Omit<Session, "id" | "tree" | "createdAt" | "updatedAt" | "archivedAt" | "forkedFrom" | "tip"> & {
  id?: string;
};

/** A fork has the fields of the original, except its parent and these. It works where the original works, or in its own place. */
export type SessionFork = Partial<Omit<NewSession, "directory" | "project" | "worktree">> &
  Pick<NewSession, "name"> & { place?: Pick<Session, "directory" | "project" | "worktree"> };

export type WorktreeKey = Pick<WorktreeRecord, "project" | "name">;

export type SessionFilter = {
  project: string | null;
  archived?: boolean;
  /** Includes sub-sessions. */
  subSessions?: boolean;
  limit?: number;
};

export type SessionChange = Partial<
  Pick<Session, "name" | "tip" | "agent" | "model" | "task" | "toolLevel" | "archivedAt" | "transcript" | "source" | "undone">
>;

/** From the start of its first turn to the end of its last; `endedAt` is null while a turn runs. */
export type SubSession = { session: string; parent: string; spent: Spent; steps: number; startedAt: number | null; endedAt: number | null };

export type SessionImport = NewSession & Pick<Session, "id" | "forkedFrom" | "createdAt">;

/** Parents come before children. `lastNodesOfTurns` has node ids; each of them ends its turn. */
export type ImportBatch = { turns: ImportedTurn[]; nodes: ImportedNode[]; lastNodesOfTurns: Set<string>; source: Source };

export type ImportedOutput = NonNullable<ImportedNode["outputs"]>[number];

/** One session by id, or all; only those that were archived at that time or before. */
export type PurgeRequest = { session: string | null; archivedBefore: number; dryRun: boolean };

/** Proof that this process may write a session. */
export type Lease = { session: string; epoch: number };

/** A turn to start later. */
export type NewPendingTurn = Pick<PendingTurn, "kind" | "wakeAt" | "credential" | "caller"> & {
  id?: string;
  /** The params of the turn. */
  request: { prompt: string | null };
  /** When a waiting turn ends without another attempt; null: never. */
  giveUpAt: number | null;
  /** Number of earlier attempts. */
  attempt: number;
};

export type StoredPendingTurn = PendingTurn & Pick<NewPendingTurn, "request" | "giveUpAt" | "attempt">;

export type ActiveHolder = {
  /** Null if the process is in a pid namespace that can't be seen from here, such as another container. */
  pid: number | null;
  /** The pid in the namespace of the process itself, for messages. */
  namedPid: number;
  started: string;
  /** The socket on which it serves the Api, or `fleet:<worker>` if it is on another machine. */
  socket: string | null;
  /** The name of its machine. Missing in a store of one machine. */
  machine?: string;
  /** The id of the process in the fleet. */
  worker?: string;
};

export type AskClose = { outcome: "answered"; answer: string } | { outcome: "expired" | "left" };

/** The fields of a turn that the store sets itself. */
type ComputedTurnField = "session" | "parent" | "tip" | "usage" | "costUsd" | "steps" | "startedAt" | "endedAt" | "source";

/** Every other field may be given at the start or at the end, so a new field of `Turn` needs no change here. */
type GivenTurnFields = Omit<Turn, ComputedTurnField>;

export type NewTurn = Omit<GivenTurnFields, "id" | "nativeId" | "status" | "error" | "cli"> & {
  id?: string;
  /** The prompt's node, written in the same transaction. Null if an interrupted turn is continued. */
  prompt: NewNode | null;
  /** Limit for this turn and its sub-sessions together. Only for a turn without a parent. */
  budget?: Pick<Limits, "maxTokens" | "maxBudgetUsd">;
  /** The queued message that is the prompt. It leaves the queue. */
  fromQueue?: string;
  /** Set for an agent whose CLI has its own sessions; whether the CLI can fork them. */
  cliSessions?: { canFork: boolean };
  /** The pending turn that starts. It is consumed in the same transaction, and the turn gets its id. */
  pending?: string;
  /** The request to continue the turn with, if its process is killed. */
  continueWith?: NewPendingTurn;
};

/** `nativeId` and `enforced` keep their stored value where they are null. */
export type TurnClose = Omit<Partial<GivenTurnFields>, "id"> & {
  status: TurnStatus;
  error: Turn["error"];
  /** Spending of this turn that is on no node. */
  spentOutsideNodes?: Spent;
  /** The turn is continued if it was started with `continueWith`; after its process was killed, only a few times. */
  isInterrupted?: "killed" | "stopped" | undefined;
  /** The pending turn that continues this one; stored in the same transaction. */
  next?: NewPendingTurn;
};

/** `retryAt`: the turn runs, and its request waits until then to be sent again. */
export type HeldState = "running" | "paused" | "asking" | { retryAt: number };

/** `key` is "text", "thinking" or the id of a running call. */
export type Draft = { key: string; text: string };

/** The value, with the events of its transaction. A started turn may also add its prompt. */
export type WriteResult<T> = { value: T; events: DurableEvent[] };

/** `marks` are the matches as [start, end) in the snippet. */
export type SearchHit = { node: Node; session: string; snippet: string; marks: [number, number][]; rank: number };
