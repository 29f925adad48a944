// Writes a running turn to Postgres: its start, nodes, drafts and end. Each function is one call of a function of the
// database, which checks the lease. Ids are made here, so that a call that is sent again writes nothing twice.
import type { PendingTurn } from "../../../protocol/api/control.ts";
import type { DurableEvent, DurableEventBody } from "../../../protocol/tree/event.ts";
import { taskOf, type NewNode, type Node } from "../../../protocol/tree/node.ts";
import type { CliSessionStart, Turn } from "../../../protocol/tree/turn.ts";
import { toCost } from "../../../protocol/tree/usage.ts";
import { sessionAt, type SessionRow, toSession } from "../../sqlite/rows/session-row.ts";
import { asStarted } from "../../sqlite/rows/turn-row.ts";
import type { Lease, NewTurn, TurnClose, WriteResult } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { packValue } from "../connection/packed-text.ts";
import { pendingJson, type PendingRow, toPending } from "../control/pending-turns.ts";
import { type PgTurnRow, readTurn, readTurns, spentJson, splitColumns, type SubTurnRow } from "./turn-row.ts";

type QueueItem = { id: string; text: string; queuedAt: number };

type Started = {
  at: number;
  started: number;
  prompt: number | null;
  promptParent: string | null;
  queueSeq: number | null;
  queue: QueueItem[];
  cli: CliSessionStart | null;
  parent: string | null;
  tree: string;
  session: SessionRow;
  row: Omit<PgTurnRow, "session_id" | "parent_id" | "tip_id">;
};

type StartedTurn = WriteResult<Turn> & { cliSession: CliSessionStart | null };

export async function startTurn(db: PgDb, lease: Lease, start: NewTurn): Promise<StartedTurn> {
  const { prompt, budget, fromQueue, cliSessions, pending, continueWith, ...fields } = start;
  const id = start.id ?? pending ?? Bun.randomUUIDv7();
  const { own, rest } = splitColumns(fields);
  const info = prompt && nodeInfo(prompt);
  const request = {
    id,
    agent: start.agent,
    model: start.model,
    loop: own["loop"] ?? null,
    fields: rest,
    budget: budget === undefined ? null : JSON.stringify(budget),
    canFork: cliSessions?.canFork ?? null,
    pending: pending ?? null,
    continueWith: continueWith === undefined ? null : pendingJson(continueWith),
    fromQueue: fromQueue ?? null,
    prompt: info,
  };
  const answer = await db.call<Started>("start_turn", lease.session, lease.epoch, packedJson(request), prompt && JSON.stringify(prompt));
  const { at, started, cli, queueSeq } = answer;
  const row = { ...answer.row, session_id: lease.session, parent_id: answer.parent, tip_id: info === null ? null : info.id };
  const value = readTurn(row);
  const session = sessionAt(toSession(answer.session), value.parent, at);
  const events = [
    toEvent({ seq: started, session: lease.session, turn: id, at }, { type: "turn.started", turn: asStarted(value), session }),
  ];
  if (prompt && answer.prompt !== null) {
    const position = { id: info!.id, parent: answer.promptParent, tree: answer.tree, session: lease.session, turn: id, at };
    events.push(nodeEvent({ ...prompt, ...position }, answer.prompt));
  }
  if (queueSeq !== null) events.push(queueEvent(lease, { seq: queueSeq, at, queue: answer.queue }));
  return { value, cliSession: cli, events };
}

/** Adds the node below the session's tip and moves the tip to it. */
export async function appendNode(db: PgDb, lease: Lease, turn: string | null, node: NewNode): Promise<WriteResult<Node>> {
  const info = nodeInfo(node);
  const { at, seq, parent, tree } = await db.call<{ at: number; seq: number; parent: string | null; tree: string }>(
    "append_node",
    lease.session,
    lease.epoch,
    turn,
    packedJson(info),
    JSON.stringify(node),
  );
  const value: Node = { ...node, id: info.id, parent, tree, session: lease.session, turn, at };
  return { value, events: [nodeEvent(value, seq)] };
}

export async function recordNativeId(db: PgDb, lease: Lease, turn: string, nativeId: string): Promise<void> {
  await db.call("record_native_id", lease.session, lease.epoch, turn, nativeId);
}

type EndedTurn = WriteResult<Turn> & { next: PendingTurn | null };

type Ended = {
  seq: number;
  at: number;
  session: SessionRow;
  turn: PgTurnRow;
  below: SubTurnRow[];
  pending: PendingRow[] | null;
  next: string | null;
};

export async function endTurn(db: PgDb, lease: Lease, turn: string, close: TurnClose): Promise<EndedTurn> {
  const { isInterrupted, next, spentOutsideNodes, nativeId, enforced, ...end } = close;
  const given = { ...end, ...(nativeId == null ? {} : { nativeId }), ...(enforced == null ? {} : { enforced }) };
  const { own, rest } = splitColumns(given);
  const request = {
    key: Bun.randomUUIDv7(),
    columns: JSON.stringify(packValue(own)),
    fields: rest,
    status: close.status,
    spent: spentOutsideNodes === undefined ? null : spentJson(spentOutsideNodes, 0),
    interrupted: isInterrupted ?? null,
    next: next === undefined ? null : pendingJson(next),
  };
  const answer = await db.call<Ended>("end_turn", lease.session, lease.epoch, turn, packedJson(request));
  const [value] = readTurns([answer.turn], answer.below) as [Turn];
  const session = sessionAt(toSession(answer.session), value.tip ?? value.parent, answer.at);
  const pending = answer.pending?.find(({ id }) => id === answer.next);
  return {
    value,
    events: [toEvent({ seq: answer.seq, session: lease.session, turn, at: answer.at }, { type: "turn.ended", turn: value, session })],
    next: pending === undefined ? null : { ...toPending(pending), isSessionBusy: false },
  };
}

// --- used by other writes -------------------------------------------------------------------------------------

/** The fields of a node that the database needs beside its body. */
export function nodeInfo(node: NewNode) {
  const drop = node.parts.flatMap((part) => (part.kind === "result" ? [part.call] : []));
  if (node.author === "agent") drop.push("text", "thinking");
  return { id: Bun.randomUUIDv7(), author: node.author, task: taskOf(node), spent: spentOf(node), drop };
}

export function spentOf(node: NewNode): Record<string, number> | null {
  const { usage } = node;
  if (!usage) return null;
  const isUsed = usage.input + usage.output + usage.cacheRead + usage.cacheWrite > 0;
  return spentJson({ usage, ...toCost({ ...node, costUsd: node.costUsd ?? (isUsed ? null : 0) }) }, 1);
}

export function packedJson(value: unknown): string {
  return JSON.stringify(packValue(value));
}

export function nodeEvent(node: Node, seq: number): DurableEvent {
  return toEvent({ seq, session: node.session, turn: node.turn, at: node.at }, { type: "node.added", node });
}

export function queueEvent(lease: Lease, { seq, at, queue }: { seq: number; at: number; queue: QueueItem[] }): DurableEvent {
  return toEvent({ seq, session: lease.session, turn: null, at }, { type: "queue.changed", queue });
}

/** An event outside of a turn has an empty `turnId`. */
export function toEvent(
  { seq, session, turn, at }: { seq: number; session: string; turn: string | null; at: number },
  body: DurableEventBody,
): DurableEvent {
  return { seq, sessionId: session, turnId: turn ?? "", at, ...body };
}
