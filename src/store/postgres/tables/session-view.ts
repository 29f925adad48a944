// Reads a session from Postgres as a consistent snapshot: one statement, so that everything is of one moment.
import type { QueuedInput } from "../../../protocol/api/control.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { textOf } from "../../../protocol/tree/node.ts";
import { toCost, zeroSpent } from "../../../protocol/tree/usage.ts";
import type { SessionView, SpawnedSession } from "../../../protocol/tree/views.ts";
import type { LeaseHolder } from "../../sqlite/lease.ts";
import { type AskRow, toAsk } from "../../sqlite/rows/control-rows.ts";
import { type SessionRow, toSession } from "../../sqlite/rows/session-row.ts";
import { type SpentRow, toSpent } from "../../sqlite/rows/turn-row.ts";
import { type Sql, sql } from "../../sqlite/sql.ts";
import type { PgDb } from "../connection/connection.ts";
import { pendingRows, type PendingRow, toPending } from "../control/pending-turns.ts";
import { type HeldRow, holderColumns } from "../leases/lease.ts";
import { type DraftRow, toDrafts } from "./drafts.ts";
import { type NodeRow, nodeRows, toPath } from "./nodes.ts";
import { openTurnState } from "./running-turns.ts";
import { selectSessions } from "./session-row.ts";
import { belowRows, spentRows } from "./spending.ts";
import { type PgTurnRow, readTurn, readTurns, selectTurns, type SubTurnRow } from "./turn-row.ts";

type SpawnedRow = SpentRow &
  HeldRow & {
    id: string;
    parent: string;
    seq: number;
    agent: string;
    task: string | null;
    created_at: number;
    status: PgTurnRow["status"];
    body: string | null;
    author: string | null;
  };

type ViewRows = {
  session: SessionRow & HeldRow;
  nodes: NodeRow;
  turns: PgTurnRow;
  below: SubTurnRow;
  spawned: SpawnedRow;
  openSubTurns: PgTurnRow;
  holders: HeldRow & { id: string };
  spent: SpentRow & { spawned: string };
  asks: AskRow;
  queue: QueuedInput;
  pending: PendingRow;
  drafts: DraftRow & { turn: string };
};

export async function sessionView(db: PgDb, self: LeaseHolder, id: string): Promise<SessionView> {
  const rows = await db.batch<ViewRows>(queries(id), sharedTables(id));
  const [row] = rows.session;
  if (!row) throw new Fault("session-unknown", `there is no session ${id}`, { hint: "`skein list` shows the sessions of this project" });
  const openTurn = rows.turns.find((turn) => turn.ended_at === null && turn.session_id === id);
  const spawned = spawnedBy(rows, self);
  return {
    session: toSession(row),
    seq: row.seq,
    nodes: toPath(rows.nodes),
    turns: readTurns(rows.turns, rows.below),
    spawned,
    below: spentOf(rows, new Set(spawned.map((each) => each.id))),
    asks: rows.asks.map(toAsk),
    queue: rows.queue,
    pending: rows.pending.map(toPending),
    open:
      openTurn === undefined
        ? null
        : {
            turn: openTurn.id,
            ...stateAndPid(openTurnState(row, self)),
            drafts: toDrafts(rows.drafts.filter(({ turn }) => turn === openTurn.id)),
          },
  };
}

/** The tables `shown_path`, the nodes of the session's path, and `shown_turns`, the numbers of its turns: each is read once. */
function sharedTables(id: string): Sql {
  return sql`with shown_session as materialized (select n, tip from skein.sessions where id = ${id}::text and purged_at is null),
    shown_path as materialized (
      select c.* from shown_session s, skein.path(s.tip) with ordinality c (n, parent, session, turn, at, id, author, body, place)),
    shown_turns as materialized (
      select turn as n from shown_path where turn is not null
      union select t.n from skein.turns t join shown_session s on s.n = t.session where t.ended_at is null)`;
}

function queries(id: string): { [Name in keyof ViewRows]: Sql } {
  const number = sql`(select n from shown_session)`;
  const isShown = sql`t.n in (select n from shown_turns)`;
  const shownSessions = sql`select t.session_id from skein.turn_rows t where ${isShown}`;
  const held = sql`cross join lateral (select ${holderColumns} from skein.sessions s where s.n = x.n) h`;
  const isSpawned = sql`s.parent_session in (${shownSessions}) and s.plan is null and s.purged_at is null`;
  return {
    session: sql`select x.*, h.held_state, h.worker from (${selectSessions} and s.id = ${id}::text) x ${held}`,
    nodes: sql`${nodeRows(sql`from shown_path c`)} order by c.place`,
    turns: sql`${selectTurns} where ${isShown} order by t.n`,
    below: belowRows(shownSessions),
    spawned: sql`
      select x.id, x.parent_session as parent, x.seq, x.agent, x.task, x.created_at, h.held_state, h.worker, c.body, c.author,
        (select u.status from skein.turns u where u.session = x.n and u.ended_at is not null order by u.n desc limit 1) as status, sums.*
      from (select s.* from skein.sessions s where ${isSpawned}) x ${held}
      left join skein.nodes c on c.n = x.tip
      cross join lateral (select coalesce(sum(u.input), 0)::float8 as input, coalesce(sum(u.output), 0)::float8 as output,
        coalesce(sum(u.cache_read), 0)::float8 as cache_read, coalesce(sum(u.cache_write), 0)::float8 as cache_write,
        coalesce(sum(u.cost_usd), 0) as cost_usd, coalesce(sum(u.unpriced), 0)::float8 as unpriced
        from skein.turns u where u.session = x.n and u.ended_at is not null) sums
      order by x.created_at, x.n`,
    openSubTurns: sql`${selectTurns} where t.ended_at is null and t.session in (select s.n from skein.sessions s where ${isSpawned})`,
    holders: sql`select x.id, h.held_state, h.worker from skein.sessions x ${held} where x.id in (${shownSessions})`,
    spent: sql`
      select x.id as spawned, b.* from (select s.id from skein.sessions s where ${isSpawned}) x
      cross join lateral (${spentRows(sql`select x.id`)}) b`,
    asks: sql`select a.* from skein.ask_rows a where a.session = ${number} and a.closed_at is null order by a.n`,
    queue: sql`select i.id, i.text, i.queued_at as "queuedAt" from skein.inputs i
      where i.session = ${number} and i.kind = 'message' and i.taken_seq is null order by i.n`,
    pending: sql`select * from (${pendingRows(null)}) p where p.session = ${number} order by p.place`,
    drafts: sql`
      select t.id as turn, p.key, p.text from skein.draft_parts p join skein.turns t on t.n = p.turn
      where t.session = ${number} and t.ended_at is null
      order by (select min(q.n) from skein.draft_parts q where q.turn = p.turn and q.key = p.key), p.part`,
  };
}

function stateAndPid({ state, pid }: ReturnType<typeof openTurnState>) {
  return { state, pid };
}

/** The sessions that the turns of the view spawned while they ran, oldest first. */
function spawnedBy(rows: { [Name in keyof ViewRows]: ViewRows[Name][] }, self: LeaseHolder): SpawnedSession[] {
  const turnsBySession = Map.groupBy(rows.turns.toReversed(), (turn) => turn.session_id);
  const holders = new Map(rows.holders.map((row) => [row.id, row]));
  const openTurns = new Map(rows.openSubTurns.map((row) => [row.session_id, readTurn(row)]));
  const stateOf = (row: HeldRow | undefined) => (row === undefined ? "interrupted" : openTurnState(row, self).state);
  return rows.spawned.flatMap((row) => {
    const turn = turnAt(turnsBySession.get(row.parent) ?? [], row.created_at);
    if (turn === undefined) return [];
    const running = openTurns.get(row.id);
    // A session without turns is about to start one, unless the process that spawned it has ended.
    const isStarting = turn.ended_at === null && stateOf(holders.get(turn.session_id)) !== "interrupted";
    return {
      id: row.id,
      turn: turn.id,
      agent: row.agent,
      task: row.task ?? "",
      createdAt: row.created_at,
      seq: row.seq,
      state: running !== undefined ? stateOf(row) : (row.status ?? (isStarting ? "running" : "interrupted")),
      spent: toSpent(row),
      current: running === undefined ? zeroSpent : { usage: running.usage, ...toCost(running) },
      said: row.body !== null && row.author === "agent" ? textOf(JSON.parse(row.body)).slice(-messageTailLength) : "",
    };
  });
}

const messageTailLength = 400;

/** Returns the turn that ran at `at`. `turns` are of one session, latest first. Removes earlier turns, so the next call needs a later `at`. */
function turnAt(turns: PgTurnRow[], at: number): PgTurnRow | undefined {
  while ((turns.at(-2)?.started_at ?? Infinity) <= at) turns.pop();
  const turn = turns.at(-1);
  return turn !== undefined && turn.started_at <= at && at <= (turn.ended_at ?? Infinity) ? turn : undefined;
}

function spentOf({ spent }: { spent: (SpentRow & { spawned: string })[] }, spawned: Set<string>) {
  const sum = { input: 0, output: 0, cache_read: 0, cache_write: 0, cost_usd: 0, unpriced: 0 };
  for (const row of spent) if (spawned.has(row.spawned)) for (const name of Object.keys(sum) as (keyof SpentRow)[]) sum[name] += row[name];
  return toSpent(sum);
}
