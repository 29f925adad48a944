// Writes a running turn: its start, nodes, drafts, events and end. Each function is one transaction of db.ts.
// Every transaction checks the lease first, so that a process that lost the session can't write to it.
import type { PendingTurn } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { DurableEvent, DurableEventBody } from "../../../protocol/tree/event.ts";
import { taskOf, type NewNode, type Node } from "../../../protocol/tree/node.ts";
import type { CliSessionStart, Turn } from "../../../protocol/tree/turn.ts";
import { zeroSpent, toCost } from "../../../protocol/tree/usage.ts";
import type { Draft, Lease, NewTurn, Store, TurnClose, WriteResult } from "../../store.ts";
import type { Db } from "../db.ts";
import { requireLease, type WriteTarget } from "../lease.ts";
import { nodesPerTree } from "../migrations.ts";
import { assignments, columnsAndValues, toColumns } from "../rows/columns.ts";
import { queueAt } from "../rows/control-rows.ts";
import { idOf } from "../rows/node-row.ts";
import { sessionAt } from "../rows/session-row.ts";
import { addSpent, asStarted, selectTurns, toTurn, turnColumns, type TurnRow } from "../rows/turn-row.ts";
import { indexSome } from "../search/search.ts";
import { writeCallFiles } from "./call-files.ts";
import { claimedNativeId, findCliSession } from "./cli-sessions.ts";
import { closeStarted, consumePending, dropContinuations, insertPending, pendingTurn } from "../control/pending-turns.ts";
import { requireSession } from "./sessions.ts";
import { readTurns } from "./spending.ts";

export function startTurn(db: Db, lease: Lease, start: NewTurn): Promise<WriteResult<Turn> & { cliSession: CliSessionStart | null }> {
  return db.writeThrough(() => {
    const target = requireLease(db, lease);
    const { prompt, budget, fromQueue, cliSessions, pending, continueWith, ...fields } = start;
    if (pending === undefined) dropContinuations(db, target.n);
    else consumePending(db, target.n, pending);
    const cliSession = cliSessions === undefined ? null : findCliSession(db, target, start.agent, cliSessions);
    const at = Date.now();
    const id = start.id ?? pending ?? Bun.randomUUIDv7();
    const row = { session: target.n, parent: target.tip, budget: budget === undefined ? null : JSON.stringify(budget) };
    const n = insertTurn(db, row, { ...fields, id, nativeId: claimedNativeId(cliSession), startedAt: at });
    if (continueWith !== undefined) insertPending(db, target.n, { ...continueWith, turn: n });
    recordEvent(db, target, { kind: "turn.started", turn: n, at });
    saveSeq(db, target, at);
    const seq = target.seq;
    const promptEvent = prompt && addNode(db, target, { n, id }, prompt).event;
    const queueEvent = fromQueue === undefined ? null : takeQueuedPrompt(db, target, fromQueue);
    const value = newTurnAt(db, n);
    const session = sessionAt(requireSession(db, target.id), value.parent, at);
    const started = toEvent({ seq, session: target.id, turn: id, at }, { type: "turn.started", turn: asStarted(value), session });
    return { value, cliSession, events: [started, promptEvent, queueEvent].filter((event) => event !== null) };
  });
}

/** Adds the node below the session's tip and moves the tip to it. Only a node of a turn has records of calls. */
export function appendNode(db: Db, ...[lease, turn, node, files]: Parameters<Store["appendNode"]>): Promise<WriteResult<Node>> {
  return db.write(() => {
    const target = requireLease(db, lease);
    const open = turn === null ? null : openTurn(db, target, turn);
    const { value, event } = addNode(db, target, open, node);
    if (open !== null && files !== undefined) writeCallFiles(db, open.n, files(value.id));
    return { value, events: [event] };
  });
}

export async function saveDraft(db: Db, lease: Lease, turn: string, draft: Draft): Promise<void> {
  await db.write(() => {
    const { n } = openTurn(db, requireLease(db, lease), turn);
    db.run`
      insert into drafts (turn, key, text) values (${n}, ${draft.key}, ${draft.text})
      on conflict (turn, key) do update set text = excluded.text`;
  });
}

export async function recordNativeId(db: Db, lease: Lease, turn: string, nativeId: string): Promise<void> {
  await db.write(() => {
    const { n } = openTurn(db, requireLease(db, lease), turn);
    db.run`update turns set native_id = ${nativeId} where n = ${n}`;
  });
}

type EndedTurn = WriteResult<Turn> & { next: PendingTurn | null };

export async function endTurn(db: Db, lease: Lease, turn: string, close: TurnClose): Promise<EndedTurn> {
  const { isInterrupted, next: continuation, ...end } = close;
  const result = await db.writeThrough(() => {
    const target = requireLease(db, lease);
    const { n, startedAt } = openTurn(db, target, turn);
    const at = Date.now();
    const fields = { ...end, nativeId: end.nativeId ?? undefined, enforced: end.enforced ?? undefined, endedAt: Math.max(at, startedAt) };
    db.run`update turns set ${assignments(toColumns(turnColumns, fields))}, ${addSpent(end.spentOutsideNodes ?? zeroSpent)} where n = ${n}`;
    recordEvent(db, target, { kind: "turn.ended", turn: n, at });
    saveSeq(db, target, at);
    const value = turnAt(db, n);
    const session = sessionAt(requireSession(db, target.id), value.tip ?? value.parent, at);
    const ended = toEvent({ seq: target.seq, session: target.id, turn, at }, { type: "turn.ended", turn: value, session });
    const interrupted = closeStarted(db, n, isInterrupted);
    const next = continuation === undefined ? interrupted : insertPending(db, target.n, continuation);
    return { value, events: [ended], next: next === null ? null : pendingTurn(db, lease.session, next) };
  });
  db.defer(`index ${lease.session}`, () => indexSome(db, lease.session));
  return result;
}

// --- used inside a transaction ------------------------------------------------------------------------------

export type OpenTurn = { n: number; id: string };

/** The turn that a write belongs to. Throws unless it is a turn of this session that has not ended. */
export function openTurn(db: Db, target: WriteTarget, turn: string): OpenTurn & { startedAt: number } {
  const row = db.row<{ n: number; session: number; started_at: number; ended_at: number | null }>`
    select n, session, started_at, ended_at from turns where id = ${turn}`;
  if (row && row.session === target.n && row.ended_at === null) return { n: row.n, id: turn, startedAt: row.started_at };
  throw new Fault("internal", row ? `turn ${turn} has ended or belongs to another session` : `there is no turn ${turn}`);
}

/** `row` has the columns that are no fields of a turn. Returns the row number. */
export function insertTurn(
  db: Db,
  row: { session: number; parent: number | null; budget: string | null },
  fields: Pick<Turn, "id" | "agent" | "startedAt"> & Partial<Turn>,
): number {
  return Number(db.run`insert into turns ${columnsAndValues({ ...row, ...toColumns(turnColumns, fields) })}`.lastInsertRowid);
}

/** Adds a node inside a transaction, and moves `target` to it. */
export function addNode(db: Db, target: WriteTarget, turn: OpenTurn | null, node: NewNode): { value: Node; event: DurableEvent } {
  const at = Date.now();
  const id = Bun.randomUUIDv7();
  const parent = target.tip;
  const n = takeNodeNumber(db, target);
  insertNode(db, { n, parent, session: target.n, turn: turn?.n ?? null, at, id, body: JSON.stringify(node) });
  recordEvent(db, target, { kind: "node.added", turn: turn?.n ?? null, node: n, at });
  db.run`update sessions set tip = ${n}, seq = ${target.seq}, updated_at = ${at} where n = ${target.n}`;
  if (parent === null) db.run`update sessions set task = coalesce(task, ${taskOf(node)}) where n = ${target.n}`;
  if (turn) {
    addToTurn(db, turn.n, n, node);
    dropDrafts(db, turn.n, node);
  }
  target.tip = n;
  const value: Node = {
    ...node,
    id,
    parent: parent === null ? null : idOf(db, "nodes", parent),
    tree: idOf(db, "trees", target.tree),
    session: target.id,
    turn: turn?.id ?? null,
    at,
  };
  return { value, event: toEvent({ seq: target.seq, session: target.id, turn: value.turn, at }, { type: "node.added", node: value }) };
}

/** Returns the number of the next node. Writes `stale` only when it changes, because it has an index. */
export function takeNodeNumber(db: Db, target: WriteTarget): number {
  target.last += 1;
  if (target.stale) db.run`update trees set last = ${target.last} where n = ${target.tree}`;
  else db.run`update trees set last = ${target.last}, stale = 1 where n = ${target.tree}`;
  target.stale = 1;
  return target.tree * nodesPerTree + target.last;
}

type NewNodeRow = { n: number; parent: number | null; session: number; turn: number | null; at: number; id: string; body: string };

export function insertNode(db: Db, { n, parent, session, turn, at, id, body }: NewNodeRow): void {
  db.run`
    insert into nodes (n, parent, session, turn, at, id, body)
    values (${n}, ${parent}, ${session}, ${turn}, ${at}, ${id}, ${body})`;
}

/** Moves the turn's tip to the node and adds the node's tokens and cost to the turn. */
export function addToTurn(db: Db, turn: number, tip: number, node: NewNode): void {
  const usage = node.usage;
  if (!usage) {
    db.run`update turns set tip = ${tip} where n = ${turn}`;
    return;
  }
  const isUsed = usage.input + usage.output + usage.cacheRead + usage.cacheWrite > 0;
  const cost = toCost({ ...node, costUsd: node.costUsd ?? (isUsed ? null : 0) });
  db.run`update turns set tip = ${tip}, ${addSpent({ usage, ...cost })}, steps = steps + 1 where n = ${turn}`;
}

function dropDrafts(db: Db, turn: number, node: NewNode): void {
  const keys = node.parts.flatMap((part) => (part.kind === "result" ? [part.call] : []));
  if (node.author === "agent") keys.push("text", "thinking");
  for (const key of keys) db.run`delete from drafts where turn = ${turn} and key = ${key}`;
}

/** Removes a message from the queue inside a transaction: it has become the prompt of a turn. */
function takeQueuedPrompt(db: Db, target: WriteTarget, id: string): DurableEvent {
  db.run`update inputs set taken_seq = ${target.seq} where id = ${id} and taken_seq is null`;
  return recordQueueChange(db, target);
}

function turnAt(db: Db, n: number): Turn {
  return readTurns(db, [turnRowAt(db, n)])[0]!;
}

/** A turn that has just started has no turns below it. */
function newTurnAt(db: Db, n: number): Turn {
  return toTurn(turnRowAt(db, n));
}

function turnRowAt(db: Db, n: number): TurnRow {
  return db.row<TurnRow>`${selectTurns} where t.n = ${n}`!;
}

// --- events -----------------------------------------------------------------------------------------------

type EventKind = DurableEventBody["type"];

/** The numbers that are stored for the kinds of events. */
export const eventKinds: Record<EventKind, number> = {
  "turn.started": 1,
  "node.added": 2,
  "turn.ended": 3,
  "ask.opened": 4,
  "ask.closed": 5,
  "queue.changed": 6,
};

/** `item` is the question that an event is about. */
type NewEvent = { kind: EventKind; turn: number | null; node?: number | null; item?: number | null; at: number };

/** Adds the session's next event inside a transaction, and moves `target.seq` to it. `saveSeq` must follow. */
export function recordEvent(db: Db, target: WriteTarget, { kind, turn, node = null, item = null, at }: NewEvent): void {
  target.seq += 1;
  db.run`
    insert into events (session, seq, kind, turn, node, item, at)
    values (${target.n}, ${target.seq}, ${eventKinds[kind]}, ${turn}, ${node}, ${item}, ${at})`;
}

export function saveSeq(db: Db, target: WriteTarget, updatedAt: number): void {
  db.run`update sessions set seq = ${target.seq}, updated_at = ${updatedAt} where n = ${target.n}`;
}

export function recordQueueChange(db: Db, target: WriteTarget): DurableEvent {
  const at = Date.now();
  recordEvent(db, target, { kind: "queue.changed", turn: null, at });
  saveSeq(db, target, at);
  const queue = queueAt(db, target.n, target.seq);
  return toEvent({ seq: target.seq, session: target.id, turn: null, at }, { type: "queue.changed", queue });
}

/** An event outside of a turn has an empty `turnId`. */
export function toEvent(
  { seq, session, turn, at }: { seq: number; session: string; turn: string | null; at: number },
  body: DurableEventBody,
): DurableEvent {
  return { seq, sessionId: session, turnId: turn ?? "", at, ...body };
}
