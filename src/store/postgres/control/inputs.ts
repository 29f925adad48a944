// Stores in Postgres messages to a running turn when they are sent. Each becomes one user node of the turn, exactly once.
import type { QueuedInput } from "../../../protocol/api/control.ts";
import type { NewNode, Node } from "../../../protocol/tree/node.ts";
import { type Sql, sql } from "../../sqlite/sql.ts";
import type { Lease, WriteResult } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { nodeEvent, nodeInfo, packedJson, queueEvent } from "../tables/write-turn.ts";

type QueueEvent = { seq: number; at: number; queue: QueuedInput[] };

const eventsOf = (lease: Lease, event: QueueEvent | null | undefined) => (event == null ? [] : [queueEvent(lease, event)]);

export async function queueInput(db: PgDb, lease: Lease, text: string, id: string = Bun.randomUUIDv7()): Promise<WriteResult<QueuedInput>> {
  type Answer = { queuedAt: number; event?: QueueEvent };
  const { queuedAt, event } = await db.call<Answer>("queue_input", lease.session, lease.epoch, id, text);
  return { value: { id, text, queuedAt }, events: eventsOf(lease, event) };
}

/** Removes a message that the user withdraws. Null if the message is not queued any more. */
export async function dropInput(db: PgDb, lease: Lease, id: string): Promise<WriteResult<QueuedInput | null>> {
  const answer = await db.call<{ value: QueuedInput; event: QueueEvent } | null>("drop_input", lease.session, lease.epoch, id);
  return { value: answer?.value ?? null, events: eventsOf(lease, answer?.event) };
}

type Taken = { added: { id: string; seq: number; at: number; parent: string | null }[]; event: QueueEvent | null; tree: string };

/** Every queued message becomes a node of this turn. Without a queued message nothing is written: the agent asks before each step. */
export async function takeInputs(db: PgDb, lease: Lease, turn: string): Promise<WriteResult<Node[]>> {
  const queued = await queue(db, lease.session);
  if (queued.length === 0) return { value: [], events: [] };
  const nodes = queued.map(({ id, text }) => {
    const node: NewNode = { author: "user", parts: [{ kind: "text", text }] };
    return { input: id, node, info: nodeInfo(node) };
  });
  const request = nodes.map(({ input, node, info }) => ({ input, info, body: JSON.stringify(node) }));
  const { added, event, tree } = await db.call<Taken>("take_inputs", lease.session, lease.epoch, turn, packedJson(request));
  const value = added.map(({ id, at, parent }): Node => {
    const { node } = nodes.find(({ info }) => info.id === id)!;
    return { ...node, id, parent, tree, session: lease.session, turn, at };
  });
  return { value, events: [...value.map((node, index) => nodeEvent(node, added[index]!.seq)), ...eventsOf(lease, event)] };
}

export function queueRows(session: string): Sql {
  return sql`
    select i.id, i.text, i.queued_at as "queuedAt" from skein.inputs i
    where i.session = skein.number_of_session(${session}::text) and i.kind = 'message' and i.taken_seq is null order by i.n`;
}

export async function queue(db: PgDb, session: string): Promise<QueuedInput[]> {
  return db.rows<QueuedInput>(queueRows(session));
}
