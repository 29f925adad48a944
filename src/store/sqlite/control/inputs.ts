// Stores messages to a running turn when they are sent. Each becomes one user node of the turn, exactly once.
import type { QueuedInput } from "../../../protocol/api/control.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Lease, WriteResult } from "../../store.ts";
import type { Db } from "../db.ts";
import { requireLease } from "../lease.ts";
import { queueAt } from "../rows/control-rows.ts";
import { sessionRow } from "../rows/session-row.ts";
import { addNode, openTurn, recordQueueChange } from "../tables/write-turn.ts";

export function queueInput(db: Db, lease: Lease, text: string, id: string = Bun.randomUUIDv7()): Promise<WriteResult<QueuedInput>> {
  return db.writeThrough(() => {
    const target = requireLease(db, lease);
    const value = { id, text, queuedAt: Date.now() };
    if (db.row`select 1 from inputs where id = ${id}` !== null) return { value, events: [] };
    db.run`
      insert into inputs (id, session, text, queued_at, queued_seq)
      values (${id}, ${target.n}, ${text}, ${value.queuedAt}, ${target.seq + 1})`;
    return { value, events: [recordQueueChange(db, target)] };
  });
}

/**
 * Every queued message becomes a node of this turn. One transaction, so that the agent gets each message exactly once.
 * Without a queued message nothing is written: the agent asks before each of its steps.
 */
export async function takeInputs(db: Db, lease: Lease, turn: string): Promise<WriteResult<Node[]>> {
  if (queue(db, lease.session).length === 0) return { value: [], events: [] };
  return db.write(() => {
    const target = requireLease(db, lease);
    const queued = queueAt(db, target.n, target.seq);
    if (queued.length === 0) return { value: [], events: [] };
    const open = openTurn(db, target, turn);
    const added = queued.map((input) => {
      const node = addNode(db, target, open, { author: "user", parts: [{ kind: "text", text: input.text }] });
      db.run`update inputs set taken_seq = ${target.seq} where id = ${input.id}`;
      return node;
    });
    return { value: added.map(({ value }) => value), events: [...added.map(({ event }) => event), recordQueueChange(db, target)] };
  });
}

/** Removes a message that the user withdraws. Null if the message is not queued any more. */
export function dropInput(db: Db, lease: Lease, id: string): Promise<WriteResult<QueuedInput | null>> {
  return db.write(() => {
    const target = requireLease(db, lease);
    const value = queueAt(db, target.n, target.seq).find((input) => input.id === id) ?? null;
    if (value === null) return { value, events: [] };
    db.run`update inputs set taken_seq = ${target.seq + 1} where id = ${id}`;
    return { value, events: [recordQueueChange(db, target)] };
  });
}

export function queue(db: Db, session: string): QueuedInput[] {
  const { n, seq } = sessionRow(db, session);
  return queueAt(db, n, seq);
}
