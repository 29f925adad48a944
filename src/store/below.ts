// What a session had others do: who took turns, and what each sub-session below it used.
import type { TurnRow } from "../protocol/control.ts";
import type { Db } from "./db.ts";
import type { Holder } from "./lease.ts";
import { selectTurns, type TurnRow as StoredTurn } from "./rows.ts";
import { rowOfTurn } from "./running.ts";
import type { Store, SubSession } from "./store.ts";

/** Of each session in which an agent took turns the latest of them, the latest first; archived sessions too. */
export function latestTurnsBy(db: Db, self: Holder, agent: string, filter: Parameters<Store["latestTurnsBy"]>[1]): TurnRow[] {
  const rows = db
    .query<StoredTurn>(
      `${selectTurns} where t.n in (
         select max(u.n) from sessions p join turns u on u.session = p.n
         where u.agent = ?1 and (?2 is null or p.project = ?2) and (?3 is null or p.id = ?3) and p.purged_at is null group by p.n
       ) order by t.n desc limit ?4`,
    )
    .all(agent, filter.project ?? null, filter.session ?? null, filter.limit ?? -1);
  return rows.flatMap((row) => rowOfTurn(db, self, row) ?? []);
}

type Used = {
  id: string;
  parent: string;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  cost_usd: number;
  unpriced: number;
  steps: number;
  running: number;
  started_at: number | null;
  ended_at: number | null;
};

/** What executes a plan stands on its own. What a turn that runs has used so far counts too. */
export function subSessions(db: Db, session: string): SubSession[] {
  const rows = db
    .query<Used>(
      `with recursive below (id) as (
         select s.id from sessions s where s.parent_session = ? and s.plan is null
         union select s.id from below b join sessions s on s.parent_session = b.id where s.plan is null
       )
       select s.id, s.parent_session as parent, total(t.input) as input, total(t.output) as output, total(t.cache_read) as cache_read,
         total(t.cache_write) as cache_write, total(t.cost_usd) as cost_usd, total(t.unpriced) as unpriced, total(t.steps) as steps,
         count(t.n) - count(t.ended_at) as running,
         min(t.started_at) as started_at, max(t.ended_at) as ended_at
       from below b join sessions s on s.id = b.id left join turns t on t.session = s.n group by s.n order by s.n`,
    )
    .all(session);
  return rows.map((row) => ({
    session: row.id,
    parent: row.parent,
    spent: {
      usage: { input: row.input, output: row.output, cacheRead: row.cache_read, cacheWrite: row.cache_write },
      costUsd: row.unpriced > 0 ? null : row.cost_usd,
    },
    steps: row.steps,
    startedAt: row.started_at,
    endedAt: row.running > 0 ? null : row.ended_at,
  }));
}
