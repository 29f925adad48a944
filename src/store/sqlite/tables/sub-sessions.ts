// What a session had others do: who took turns, which sub-sessions its turns spawned, and what each of them used.
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { textOf } from "../../../protocol/tree/node.ts";
import type { SpawnedSession } from "../../../protocol/tree/views.ts";
import { zeroSpent, type Spent } from "../../../protocol/tree/usage.ts";
import type { Db } from "../db.ts";
import type { LeaseHolder } from "../lease.ts";
import { selectTurns, spentColumns, toSpent, toTurn, type SpentRow, type TurnRow as StoredTurn } from "../rows.ts";
import { toTurnInfo, openTurnState } from "./running-turns.ts";
import type { Store, SubSession } from "../../store.ts";

/** Of each session in which an agent took turns the latest of them, the latest first; archived sessions too. */
export function latestTurnsBy(db: Db, self: LeaseHolder, agent: string, filter: Parameters<Store["latestTurnsBy"]>[1]): TurnInfo[] {
  const rows = db
    .query<StoredTurn>(
      `${selectTurns} where t.n in (
         select max(u.n) from sessions p join turns u on u.session = p.n
         where u.agent = ?1 and (?2 is null or p.project = ?2) and (?3 is null or p.id = ?3) and p.purged_at is null group by p.n
       ) order by t.n desc limit ?4`,
    )
    .all(agent, filter.project ?? null, filter.session ?? null, filter.limit ?? -1);
  return rows.flatMap((row) => toTurnInfo(db, self, row) ?? []);
}

type Used = SpentRow & { id: string; parent: string; steps: number; running: number; started_at: number | null; ended_at: number | null };

/** What executes a plan stands on its own. What a turn that runs has used so far counts too. */
export function subSessions(db: Db, session: string): SubSession[] {
  const rows = db
    .query<Used>(
      `with recursive below (id) as (
         select s.id from sessions s where s.parent_session = ? and s.plan is null
         union select s.id from below b join sessions s on s.parent_session = b.id where s.plan is null
       )
       select s.id, s.parent_session as parent, ${spentColumns}, total(t.steps) as steps, count(t.n) - count(t.ended_at) as running,
         min(t.started_at) as started_at, max(t.ended_at) as ended_at
       from below b join sessions s on s.id = b.id left join turns t on t.session = s.n group by s.n order by s.n`,
    )
    .all(session);
  return rows.map((row) => ({
    session: row.id,
    parent: row.parent,
    spent: toSpent(row),
    steps: row.steps,
    startedAt: row.started_at,
    endedAt: row.running > 0 ? null : row.ended_at,
  }));
}

type Spawned = SpentRow & {
  n: number;
  id: string;
  parent: string;
  seq: number;
  tip: number | null;
  agent: string;
  task: string | null;
  created_at: number;
  status: StoredTurn["status"];
};

/** The sessions that began below these turns while they ran, the oldest first; the turns are in their order. */
export function spawnedBy(db: Db, self: LeaseHolder, turns: readonly StoredTurn[]): SpawnedSession[] {
  const above = Map.groupBy(turns.toReversed(), (turn) => turn.session_id);
  const parents = JSON.stringify([...above.keys()]);
  // Beside one max() SQLite gives the other columns of the row that has it: the status is that of the last turn.
  const rows = db
    .query<Spawned>(
      `select s.n, s.id, s.parent_session as parent, s.seq, s.tip, s.agent, s.task, s.created_at, max(t.n), t.status, ${spentColumns}
       from sessions s left join turns t on t.session = s.n and t.ended_at is not null
       where s.parent_session in (select value from json_each(?)) and s.plan is null and s.purged_at is null
       group by s.n order by s.created_at, s.n`,
    )
    .all(parents)
    .flatMap((row) => {
      const turn = turnAt(above.get(row.parent)!, row.created_at);
      return turn === undefined ? [] : [{ ...row, turn }];
    });
  if (rows.length === 0) return [];
  const open = openBelow(db, parents);
  const said = lastMessages(db, rows);
  return rows.map((row) => {
    const running = open.get(row.id);
    return {
      id: row.id,
      turn: row.turn.id,
      agent: row.agent,
      task: row.task ?? "",
      createdAt: row.created_at,
      seq: row.seq,
      state: running !== undefined ? openTurnState(db, self, row).state : (row.status ?? notBegun(db, self, row.turn)),
      spent: toSpent(row),
      current: running === undefined ? zeroSpent : { usage: running.usage, costUsd: running.costUsd },
      said: (row.tip === null ? undefined : said.get(row.tip)) ?? "",
    };
  });
}

/** Of the turns of one session, the latest first: that of this moment. Asked for later and later moments. */
function turnAt(turns: StoredTurn[], at: number): StoredTurn | undefined {
  while ((turns.at(-2)?.started_at ?? Infinity) <= at) turns.pop();
  const turn = turns.at(-1);
  return turn !== undefined && turn.started_at <= at && at <= (turn.ended_at ?? Infinity) ? turn : undefined;
}

function openBelow(db: Db, parents: string) {
  const rows = db
    .query<StoredTurn>(`${selectTurns} where t.ended_at is null and s.parent_session in (select value from json_each(?))`)
    .all(parents);
  return new Map(rows.map((row) => [row.session_id, toTurn(row)]));
}

/** It is about to, or whoever spawned it died before that. */
function notBegun(db: Db, self: LeaseHolder, { ended_at, session_id: id, session: n }: StoredTurn): SpawnedSession["state"] {
  return ended_at === null && openTurnState(db, self, { id, n }).state !== "interrupted" ? "running" : "interrupted";
}

const keptWords = 400;

/** The end of the message that each rests at. */
function lastMessages(db: Db, sessions: readonly { tip: number | null }[]): Map<number, string> {
  const rows = db
    .query<{ n: number; body: string }>("select n, body from nodes where n in (select value from json_each(?))")
    .all(JSON.stringify(sessions.map(({ tip }) => tip)));
  return new Map(
    rows.map(({ n, body }) => {
      const node = JSON.parse(body);
      return [n, node.author === "agent" ? textOf(node).slice(-keptWords) : ""];
    }),
  );
}

/** What these sessions and all below them have used in turns that ended; what executes a plan stands on its own. */
export function spentBy(db: Db, sessions: readonly string[]): Spent {
  const all = db
    .query<SpentRow>(
      `with recursive below (id) as (
         select value from json_each(?)
         union select s.id from below b join sessions s on s.parent_session = b.id where s.plan is null
       )
       select ${spentColumns} from below b join sessions s on s.id = b.id join turns t on t.session = s.n where t.ended_at is not null`,
    )
    .get(JSON.stringify(sessions))!;
  return toSpent(all);
}
