// Messages to a running turn: kept from the moment they were sent, given to its agent once, as nodes of the user's.
import type { QueuedInput } from "../../../protocol/api/control.ts";
import type { DurableEvent } from "../../../protocol/tree/event.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import { queueAt, inputRowsAt } from "./control-rows.ts";
import type { Db } from "../db.ts";
import { toEvent, recordEvent } from "./events.ts";
import { type WriteTarget, requireLease } from "../lease.ts";
import { addNode, openTurn } from "./nodes.ts";
import { sessionRow } from "../rows.ts";
import type { Lease, WriteResult } from "../../store.ts";

export function queueInput(db: Db, lease: Lease, text: string, id: string = Bun.randomUUIDv7()): WriteResult<QueuedInput> {
  return db.writeThrough(() => {
    const ground = requireLease(db, lease);
    const value = { id, text, queuedAt: Date.now() };
    if (db.query("select 1 from inputs where id = ?").get(id) !== null) return { value, events: [] };
    db.query("insert into inputs (id, session, text, queued_at, queued_seq) values (?, ?, ?, ?, ?)").run(
      value.id,
      ground.n,
      text,
      value.queuedAt,
      ground.seq + 1,
    );
    return { value, events: [changed(db, lease, ground)] };
  });
}

/** All that waits becomes nodes of this turn, in one transaction: a message is given once or not at all. */
export function takeInputs(db: Db, lease: Lease, turn: string): WriteResult<Node[]> {
  return db.write(() => {
    const ground = requireLease(db, lease);
    const waiting = inputRowsAt(db, ground.n, ground.seq);
    if (waiting.length === 0) return { value: [], events: [] };
    const taking = openTurn(db, ground, turn);
    const added = waiting.map((input) => {
      const taken = addNode(db, lease.session, ground, taking, { author: "user", parts: [{ kind: "text", text: input.text }] });
      db.query("update inputs set taken_seq = ? where n = ?").run(ground.seq, input.n);
      return taken;
    });
    return { value: added.map(({ value }) => value), events: [...added.map(({ event }) => event), changed(db, lease, ground)] };
  });
}

/** Takes a message off the queue, inside a transaction: it has become the prompt of a turn. */
export function takePrompt(db: Db, lease: Lease, target: WriteTarget, id: string): DurableEvent {
  db.query("update inputs set taken_seq = ? where id = ? and taken_seq is null").run(target.seq, id);
  return changed(db, lease, target);
}

/** Who sent it wants it back; null when it does not wait any more. */
export function dropInput(db: Db, lease: Lease, id: string): WriteResult<QueuedInput | null> {
  return db.write(() => {
    const ground = requireLease(db, lease);
    const value = queueAt(db, ground.n, ground.seq).find((input) => input.id === id) ?? null;
    if (value === null) return { value, events: [] };
    db.query("update inputs set taken_seq = ? where id = ?").run(ground.seq + 1, id);
    return { value, events: [changed(db, lease, ground)] };
  });
}

export function queue(db: Db, session: string): QueuedInput[] {
  const { n, seq } = sessionRow(db, session);
  return queueAt(db, n, seq);
}

function changed(db: Db, lease: Lease, target: WriteTarget): DurableEvent {
  const at = Date.now();
  target.seq += 1;
  recordEvent(db, { session: target.n, seq: target.seq, kind: "queue.changed", turn: null, node: null, at });
  db.query("update sessions set seq = ?, updated_at = ? where n = ?").run(target.seq, at, target.n);
  return toEvent(target.seq, lease.session, null, at, { type: "queue.changed", queue: queueAt(db, target.n, target.seq) });
}
