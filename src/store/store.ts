// The store as the rest of the house sees it: asynchronous, and without a word of the database behind it.
// One conformance suite runs against every implementation.
import type { PurgeReport, UsageKey, UsageEntry, VerifyReport } from "../protocol/api/api.ts";
import type { Ask, QueuedInput, TurnInfo } from "../protocol/api/control.ts";
import type { TurnError, TurnStatus } from "../protocol/api/error.ts";
import type { DurableEvent } from "../protocol/tree/event.ts";
import type { TurnFiles } from "../protocol/tree/file-changes.ts";
import type { ImportedNode, ImportedTurn } from "../protocol/tree/import.ts";
import type { Handle } from "../protocol/tree/handle.ts";
import type { NewNode, Node } from "../protocol/tree/node.ts";
import type { AskRequest, Limits, OutputSink } from "../protocol/api/ports.ts";
import type { EnforcedPolicy } from "../protocol/api/policy.ts";
import type { Spent } from "../protocol/tree/usage.ts";
import type { SessionView } from "../protocol/tree/views.ts";
import type { CliRecord, NativeStart, Session, Source, Turn } from "../protocol/tree/turn.ts";

export type Store = {
  // sessions
  createSession: (session: NewSession) => Promise<Session>;
  session: (id: string) => Promise<Session | null>;
  /** By full id, unambiguous tail (4 or more hex digits) or name; names are looked up in the project first. */
  findSession: (wanted: string, project: string | null) => Promise<Session>;
  listSessions: (filter: SessionFilter) => Promise<Session[]>;
  updateSession: (id: string, change: SessionChange) => Promise<Session>;
  /** A new session at an old node. Copies no nodes. */
  forkSession: (from: string, node: string, fork: { id?: string; name: string | null }) => Promise<Session>;

  /** Read at one moment: what happens after its `seq` is in `events`, and nothing else is. */
  sessionView: (id: string) => Promise<SessionView>;

  // writing under a lease: every write checks the lease's epoch in its own transaction
  /** Takes the session, also from a dead holder. Throws `session-busy` naming the holder when it is alive. */
  acquire: (session: string) => Promise<Lease>;
  release: (lease: Lease) => Promise<void>;
  /** The process that holds the session; null when nobody does, or a dead one. */
  holder: (session: string) => Promise<ActiveHolder | null>;
  /** With `native`, also where the agent's own session goes on; that session is then this turn's, and no other's. */
  startTurn: (lease: Lease, turn: NewTurn) => Promise<WriteResult<Turn> & { native: NativeStart | null }>;
  /** The agent's own session, as soon as it is known. */
  recordNativeId: (lease: Lease, turn: string, nativeId: string) => Promise<void>;
  /** Adds the node below the session's tip, moves the tip and drops the drafts that it completes. */
  appendNode: (lease: Lease, turn: string | null, node: NewNode) => Promise<WriteResult<Node>>;
  endTurn: (lease: Lease, turn: string, end: TurnClose) => Promise<WriteResult<Turn>>;
  /** Keeps what is streaming, so that a crash loses at most the time between two calls. */
  saveDraft: (lease: Lease, turn: string, draft: Draft) => Promise<void>;
  openOutput: (lease: Lease, call: string, source: string) => OutputSink;
  /** What the turn is doing, for those who list what runs. */
  setState: (lease: Lease, state: "running" | "paused" | "asking") => Promise<void>;
  openAsk: (lease: Lease, turn: string, request: AskRequest & { expiresAt: number | null }) => Promise<WriteResult<Ask>>;
  /** Throws `ask-closed` when it was closed before. */
  closeAsk: (lease: Lease, id: string, close: AskClose) => Promise<WriteResult<Ask>>;
  /** One with an id that was queued before is not queued again. */
  queueInput: (lease: Lease, text: string, id?: string) => Promise<WriteResult<QueuedInput>>;
  /** Null when it does not wait any more. */
  dropInput: (lease: Lease, id: string) => Promise<WriteResult<QueuedInput | null>>;
  /** All that waits becomes nodes of this turn; each message is given once. */
  takeInputs: (lease: Lease, turn: string) => Promise<WriteResult<Node[]>>;
  /** Which states of the project's files surround a running turn. */
  saveTurnFiles: (lease: Lease, turn: string, files: TurnFiles) => Promise<void>;

  // importing: sessions, turns and nodes that bring their own ids and times; what is stored already stays as it is
  /** In the tree of that id, which is made when it is not there. A session that was purged comes back under another id. */
  importSession: (session: SessionImport, tree: string | null) => Promise<Session>;
  importedSession: (agent: string, nativeId: string) => Promise<Session | null>;
  storedNodes: (ids: string[]) => Promise<{ known: Set<string>; tree: string | null }>;
  /** Adds what is not there yet, and leaves the tip where it is; returns how many nodes that were. */
  importNodes: (lease: Lease, batch: ImportBatch) => Promise<number>;
  /** Keeps an output under its own identifier, where that is this session's and free. */
  importOutput: (lease: Lease, handle: Handle, call: string, bytes: Uint8Array) => Promise<boolean>;

  // reading
  node: (id: string) => Promise<Node | null>;
  /** By full id or unambiguous tail. */
  findNode: (wanted: string) => Promise<Node>;
  /** From the root to the node. */
  path: (node: string) => Promise<Node[]>;
  children: (node: string) => Promise<Node[]>;
  /** Every node of a tree, oldest first. */
  treeNodes: (tree: string) => Promise<Node[]>;
  /** The nodes a session wrote, oldest first. */
  sessionNodes: (session: string) => Promise<Node[]>;
  turn: (id: string) => Promise<Turn | null>;
  turnsOf: (session: string) => Promise<Turn[]>;
  /** Turns that never ended, whose holder may be dead. */
  openTurns: (session: string) => Promise<Turn[]>;
  drafts: (turn: string) => Promise<Draft[]>;
  /** What runs, and what has ended since then (null: nothing of that), the latest first. */
  listTurns: (endedSince: number | null) => Promise<TurnInfo[]>;
  /** Of each session in which an agent took turns the latest of them, the latest first; archived sessions too. */
  latestTurnsBy: (agent: string, filter: { project?: string | null; session?: string; limit?: number }) => Promise<TurnInfo[]>;
  /** All below a session, at any depth, with what each has used so far. */
  subSessions: (session: string) => Promise<SubSession[]>;
  /** Those of one session with every outcome, or the open ones of all; the oldest first. */
  asks: (session: string | null) => Promise<Ask[]>;
  /** By full id or unambiguous tail. */
  findAsk: (wanted: string) => Promise<Ask>;
  /** Messages that no turn has taken yet. */
  queue: (session: string) => Promise<QueuedInput[]>;
  /** By turn; a turn that recorded none is missing. */
  turnFiles: (turns: string[]) => Promise<Map<string, TurnFiles>>;
  events: (session: string, afterSeq: number) => Promise<DurableEvent[]>;
  readOutput: (identifier: string) => Promise<ReadableStream<Uint8Array>>;
  search: (query: string, filter: { project: string | null; limit: number }) => Promise<SearchHit[]>;
  /** What `asker` was given since then, and that it was given more; what is older than that is forgotten. */
  shownHits: (asker: string, since: number) => Promise<Set<string>>;
  recordShownHits: (asker: string, hits: string[], since: number) => Promise<void>;
  /** Changes with the session; what was described of it is given back for as long as it stays the same. */
  sessionStamp: (session: string) => Promise<string>;
  description: (session: string, wish: string) => Promise<string | null>;
  saveDescription: (session: string, wish: string, made: { stamp: string; body: string }) => Promise<void>;
  usage: (by: UsageKey, project: string | null) => Promise<UsageEntry[]>;
  /** Takes archived sessions away for good, with every node that no other session needs. */
  purge: (request: PurgeRequest) => Promise<PurgeReport>;
  verify: (options: { repair?: boolean; onProgress?: (checked: number) => void }) => Promise<VerifyReport>;
  close: () => Promise<void>;
};

/** `tree` continues an existing tree; without it the session starts one. */
export type NewSession = Omit<Session, "id" | "tree" | "createdAt" | "updatedAt" | "archivedAt" | "forkedFrom" | "tip"> & {
  id?: string;
};

export type SessionFilter = {
  project: string | null;
  archived?: boolean;
  /** Leaves sub-sessions out unless asked. */
  subSessions?: boolean;
  limit?: number;
};

export type SessionChange = Partial<
  Pick<Session, "name" | "tip" | "agent" | "model" | "task" | "toolLevel" | "archivedAt" | "transcript" | "source">
>;

/** From when its first turn began to when the last one ended; null while one has not. */
export type SubSession = { session: string; parent: string; spent: Spent; steps: number; startedAt: number | null; endedAt: number | null };

export type SessionImport = NewSession & Pick<Session, "id" | "forkedFrom" | "createdAt">;

/** Parents before children; `endings` are the nodes that are the last of their turn. */
export type ImportBatch = { turns: ImportedTurn[]; nodes: ImportedNode[]; endings: Set<string>; source: Source };

/** One session by id, or all; only what was archived at that time or before. */
export type PurgeRequest = { session: string | null; archivedBefore: number; dryRun: boolean };

/** Proof that this process writes a session. */
export type Lease = { session: string; epoch: number };

/** `pid` is null when it can't be seen from here (another container); `namedPid` is its pid where it lives. */
export type ActiveHolder = {
  pid: number | null;
  namedPid: number;
  started: string;
  /** Where it can be talked to. */ socket: string | null;
};

export type AskClose = { outcome: "answered"; answer: string } | { outcome: "expired" | "left" };

export type NewTurn = Pick<Turn, "agent" | "model" | "policy" | "enforced" | "role"> & {
  id?: string;
  /** The prompt's node, written in the same transaction; none when an interrupted turn goes on. */
  prompt: NewNode | null;
  /** What it and all below it may use together; only of a turn with nothing above it. */
  budget?: Pick<Limits, "maxTokens" | "maxBudgetUsd">;
  /** The prompt is this message of the queue, which this takes. */
  fromQueue?: string;
  /** For an agent that keeps sessions of its own, and whether it can fork them. */
  native?: { canFork: boolean };
};

export type TurnClose = {
  status: TurnStatus;
  error: TurnError | null;
  nativeId: string | null;
  enforced: EnforcedPolicy | null;
  cli?: CliRecord;
  /** Spent in this turn, and on no node. */
  rest?: Spent;
};

/** `key` is "text", "thinking" or the id of a running call. */
export type Draft = { key: string; text: string };

/** The value, with the events that its transaction recorded (a started turn may also add its prompt). */
export type WriteResult<T> = { value: T; events: DurableEvent[] };

/** `marks` are the hits, as [start, end) in the snippet. */
export type SearchHit = { node: Node; session: string; snippet: string; marks: [number, number][]; rank: number };
