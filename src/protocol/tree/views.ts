// What is shown of the tree beside the tree itself: found nodes, two branches side by side, the data behind a handle.
import type { Ask, QueuedInput, TurnState } from "../api/control.ts";
import type { TurnStatus } from "../api/error.ts";
import type { FileChange } from "./file-changes.ts";
import type { Node } from "./node.ts";
import { isoTime, nodeRecord, sessionRecord, usageRecord } from "../json/records.ts";
import type { Session, Turn } from "./turn.ts";
import type { Spent } from "./usage.ts";

/** A session as it stands at `seq`: what happens after that, `turn.watch` tells. */
export type SessionView = {
  session: Session;
  seq: number;
  /** From the root to its tip. */
  nodes: Node[];
  /** Those of the path, whichever session took them, and one that is open. */
  turns: Turn[];
  /** The sub-sessions of those turns, the oldest first. */
  spawned: SpawnedSession[];
  /** What they have used, and all below them. */
  below: Spent;
  /** Questions of this session without an answer. */
  asks: Ask[];
  queue: QueuedInput[];
  open: OpenTurnView | null;
};

/** A sub-session as it stood at its own `seq`. */
export type SpawnedSession = {
  id: string;
  /** Which turn spawned it. */
  turn: string;
  agent: string;
  task: string;
  createdAt: number;
  seq: number;
  /** What its turn does, or how the last one ended. */
  state: Exclude<TurnState, "ended"> | TurnStatus;
  /** By its own turns that ended, and by the one that has not. */
  spent: Spent;
  current: Spent;
  /** The end of the message that it rests at. */
  said: string;
};

/** A turn that has not ended: it runs in some process, or its process is gone. Drafts are what it is writing, at most 100 ms behind. */
export type OpenTurnView = { turn: string; state: TurnState; pid: number | null; drafts: { key: string; text: string }[] };

/** A node that was found, in its place. `marks` are [start, end) in the snippet. */
export type FoundNode = {
  node: Node;
  /** The session that wrote it. */
  session: Session;
  snippet: string;
  marks: [number, number][];
  rank: number;
  before: Node | null;
  after: Node | null;
};

/** What one branch did after the two parted. */
export type BranchSide = Spent & {
  /** Null when a node was named that is no session's. */
  session: Session | null;
  tip: string | null;
  nodes: number;
  messages: number;
  toolCalls: number;
  failedCalls: number;
  turns: number;
  /** Model requests. */
  steps: number;
  startedAt: number | null;
  endedAt: number | null;
  /** How its last turn ended. */
  status: TurnStatus | null;
  firstMessage: string | null;
  answer: string | null;
  /** Null when nothing is known of its files. */
  files: FileChange[] | null;
};

export type BranchComparison = {
  /** The last node that both have; null when they share nothing. */
  fork: Node | null;
  /** How many nodes both have. */
  sharedNodes: number;
  a: BranchSide;
  b: BranchSide;
};

export type HandleContent = {
  /** Text, or base64 when that was asked for. */
  content: string;
  bytes: number;
  /** How many bytes of it are not in `content`. */
  cutBytes: number;
};

export function foundNodeRecord(found: FoundNode) {
  return {
    node: nodeRecord(found.node),
    session: sessionRecord(found.session),
    snippet: found.snippet,
    marks: found.marks,
    rank: found.rank,
    before: found.before === null ? null : nodeRecord(found.before),
    after: found.after === null ? null : nodeRecord(found.after),
  };
}

export function comparisonRecord(comparison: BranchComparison) {
  const { fork, sharedNodes, a, b } = comparison;
  return { fork: fork === null ? null : nodeRecord(fork), shared_nodes: sharedNodes, a: sideRecord(a), b: sideRecord(b) };
}

function sideRecord(side: BranchSide) {
  return {
    session: side.session === null ? null : sessionRecord(side.session),
    tip: side.tip,
    nodes: side.nodes,
    messages: side.messages,
    tool_calls: side.toolCalls,
    failed_calls: side.failedCalls,
    turns: side.turns,
    steps: side.steps,
    usage: usageRecord(side.usage),
    cost_usd: side.costUsd,
    started_at: side.startedAt === null ? null : isoTime(side.startedAt),
    ended_at: side.endedAt === null ? null : isoTime(side.endedAt),
    status: side.status,
    first_message: side.firstMessage,
    answer: side.answer,
    files: side.files,
  };
}
