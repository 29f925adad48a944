// Sums tokens and cost over turns in Postgres: of sessions with their sub-sessions, of a budget, and for the bill.
import type { UsageEntry, UsageKey } from "../../../protocol/api/api.ts";
import type { UsagePoint } from "../../../protocol/schema/views/usage-views.ts";
import { quarterHourMs } from "../../../protocol/tree/usage.ts";
import { Sql, sql } from "../../sqlite/sql.ts";
import { type BillRow, type SubSessionRow, toEntry, toSubSession } from "../../sqlite/tables/spending.ts";
import type { Store, SubSession } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { inProject } from "./session-row.ts";

/** Sums over the turns of a query, as the columns of a SpentRow. */
function sumsOf(turns: "t" | "u"): Sql {
  const column = (name: string) => `coalesce(sum(${turns}.${name}), 0)::float8 as ${name}`;
  return new Sql(["input", "output", "cache_read", "cache_write", "cost_usd", "unpriced"].map(column).join(", "));
}

export const spentSums = sumsOf("t");
export const spentSumsOfU = sumsOf("u");

/**
 * The SQL table `subtree (id)`: the sessions that `start` selects, and their sub-sessions at any depth.
 * A session that executes a plan is left out: it counts on its own.
 */
export function withSubtree(start: Sql): Sql {
  return sql`with recursive subtree (id) as (
    ${start} union select s.id from subtree b join skein.sessions s on s.parent_session = b.id where s.plan is null
  )`;
}

/** The spending of these sessions and their sub-sessions in turns that have ended. One row. */
export function spentRows(sessions: Sql): Sql {
  return sql`
    ${withSubtree(sessions)}
    select ${spentSums} from subtree b join skein.sessions s on s.id = b.id join skein.turns t on t.session = s.n
    where t.ended_at is not null`;
}

/** The turns of the sub-sessions of these sessions, as SubTurnRows. */
export function belowRows(sessions: Sql): Sql {
  return sql`
    with recursive subtree (root, id) as (
      select s.parent_session, s.id from skein.sessions s where s.parent_session in (${sessions}) and s.plan is null
      union select b.root, s.id from subtree b join skein.sessions s on s.parent_session = b.id where s.plan is null
    )
    select b.root, t.started_at, t.input, t.output, t.cache_read, t.cache_write, t.cost_usd, t.unpriced
    from subtree b join skein.sessions s on s.id = b.id join skein.turns t on t.session = s.n`;
}

/** Leaves out sessions that execute a plan. Counts the spending of running turns too. */
export async function subSessions(db: PgDb, session: string): Promise<SubSession[]> {
  const rows = await db.rows<SubSessionRow>(sql`
    ${withSubtree(sql`select s.id from skein.sessions s where s.parent_session = ${session}::text and s.plan is null`)}
    select s.id, s.parent_session as parent, ${spentSums}, coalesce(sum(t.steps), 0)::float8 as steps,
      count(t.n) - count(t.ended_at) as running, min(t.started_at) as started_at, max(t.ended_at) as ended_at
    from subtree b join skein.sessions s on s.id = b.id left join skein.turns t on t.session = s.n group by s.n order by s.n`);
  return rows.map(toSubSession);
}

/** Days are those of this machine's time zone. */
function usageKey(by: UsageKey): Sql {
  if (by === "agent") return sql`t.agent`;
  if (by === "model") return sql`coalesce(t.model, 'unknown')`;
  if (by === "project") return sql`coalesce(s.worktree_project, s.project)`;
  const zone = Intl.DateTimeFormat().resolvedOptions().timeZone;
  return sql`to_char(to_timestamp(t.started_at / 1000.0) at time zone ${zone}::text, 'YYYY-MM-DD')`;
}

const billSums = sql`count(*) as turns, count(*) filter (where t.unpriced > 0) as unpriced_turns, ${spentSums}`;

/** The bill by day, agent, model or project. `unpriced` counts the turns with a request of unknown price. */
export async function usage(db: PgDb, by: UsageKey, project: string | null): Promise<UsageEntry[]> {
  const rows = await db.rows<BillRow>(sql`
    select ${usageKey(by)} as key, ${billSums}
    from skein.turns t join skein.sessions s on s.n = t.session where ${inProject(project)}
    group by 1 order by ${by === "day" ? sql`1 desc` : sql`cost_usd desc, turns desc, 1`}`);
  return rows.map(toEntry);
}

type SeriesRequest = Parameters<Store["usageSeries"]>[0];

/** The bill of each quarter of an hour, the oldest first. */
export async function usageSeries(db: PgDb, { by, since, project }: SeriesRequest): Promise<UsagePoint[]> {
  const rows = await db.rows<BillRow & { at: number }>(sql`
    select ${usageKey(by)} as key, t.started_at / ${quarterHourMs}::bigint * ${quarterHourMs}::bigint as at, ${billSums}
    from skein.turns t join skein.sessions s on s.n = t.session
    where ${inProject(project)} and t.started_at >= ${since ?? 0}::float8 group by 2, 1 order by 2, 1`);
  return rows.map((row) => ({ at: row.at, ...toEntry(row) }));
}
