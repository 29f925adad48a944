// Reads the work that a session delegated: latest turns of an agent, and sub-sessions with their state and spending.
import type { TurnInfo } from "../../../protocol/api/control.ts";
import { textOf } from "../../../protocol/tree/node.ts";
import type { Turn } from "../../../protocol/tree/turn.ts";
import type { SpawnedSession } from "../../../protocol/tree/views.ts";
import { toCost, zeroSpent } from "../../../protocol/tree/usage.ts";
import type { Store, SubSession } from "../../store.ts";
import type { Db } from "../db.ts";
import type { LeaseHolder } from "../lease.ts";
import { inProject } from "../rows/session-row.ts";
import { selectTurns, type SpentRow, toSpent, toTurn, type TurnRow } from "../rows/turn-row.ts";
import { sql } from "../sql.ts";
import { openTurnState, toTurnInfo } from "./running-turns.ts";
import { spentSums, type SubSessionRow, toSubSession, withSubtree } from "./spending.ts";

export function latestTurnsBy(db: Db, self: LeaseHolder, agent: string, filter: Parameters<Store["latestTurnsBy"]>[1]): TurnInfo[] {
  const { project = null, session = null, limit = -1 } = filter;
  const rows = db.rows<TurnRow>`
    ${selectTurns} where t.n in (
      select max(u.n) from sessions s join turns u on u.session = s.n
      where u.agent = ${agent} and ${inProject(project)} and (${session} is null or s.id = ${session})
        and s.purged_at is null group by s.n
    ) order by t.n desc limit ${limit}`;
  return rows.flatMap((row) => toTurnInfo(db, self, row) ?? []);
}

/** Leaves out sessions that execute a plan. Counts the spending of running turns too. */
export function subSessions(db: Db, session: string): SubSession[] {
  const rows = db.rows<SubSessionRow>`
    ${withSubtree(sql`select s.id from sessions s where s.parent_session = ${session} and s.plan is null`)}
    select s.id, s.parent_session as parent, ${spentSums}, total(t.steps) as steps, count(t.n) - count(t.ended_at) as running,
      min(t.started_at) as started_at, max(t.ended_at) as ended_at
    from subtree b join sessions s on s.id = b.id left join turns t on t.session = s.n group by s.n order by s.n`;
  return rows.map(toSubSession);
}

type SpawnedRow = SpentRow & {
  n: number;
  id: string;
  parent: string;
  seq: number;
  tip: number | null;
  agent: string;
  task: string | null;
  created_at: number;
  status: TurnRow["status"];
};

/** The sessions that these turns spawned while they ran, oldest first. The turns must be in the order of their start. */
export function spawnedBy(db: Db, self: LeaseHolder, turns: readonly TurnRow[]): SpawnedSession[] {
  const turnsBySession = Map.groupBy(turns.toReversed(), (turn) => turn.session_id);
  const parents = JSON.stringify([...turnsBySession.keys()]);
  // With one max() SQLite takes the other columns from the row of the maximum, so the status is that of the last turn.
  const sessions = db.rows<SpawnedRow>`
    select s.n, s.id, s.parent_session as parent, s.seq, s.tip, s.agent, s.task, s.created_at, max(t.n), t.status, ${spentSums}
    from sessions s left join turns t on t.session = s.n and t.ended_at is not null
    where s.parent_session in (select value from json_each(${parents})) and s.plan is null and s.purged_at is null
    group by s.n order by s.created_at, s.n`;
  const rows = sessions.flatMap((row) => {
    const turn = takeTurnAt(turnsBySession.get(row.parent)!, row.created_at);
    return turn === undefined ? [] : [{ ...row, turn }];
  });
  if (rows.length === 0) return [];
  const openTurns = openSubTurns(db, parents);
  const messages = lastMessages(db, rows);
  return rows.map((row) => {
    const running = openTurns.get(row.id);
    return {
      id: row.id,
      turn: row.turn.id,
      agent: row.agent,
      task: row.task ?? "",
      createdAt: row.created_at,
      seq: row.seq,
      state: running !== undefined ? openTurnState(db, self, row).state : (row.status ?? stateBeforeStart(db, self, row.turn)),
      spent: toSpent(row),
      current: running === undefined ? zeroSpent : { usage: running.usage, ...toCost(running) },
      said: (row.tip === null ? undefined : messages.get(row.tip)) ?? "",
    };
  });
}

/** Returns the turn that ran at `at`. `turns` are of one session, latest first. Removes earlier turns, so the next call needs a later `at`. */
function takeTurnAt(turns: TurnRow[], at: number): TurnRow | undefined {
  while ((turns.at(-2)?.started_at ?? Infinity) <= at) turns.pop();
  const turn = turns.at(-1);
  return turn !== undefined && turn.started_at <= at && at <= (turn.ended_at ?? Infinity) ? turn : undefined;
}

function openSubTurns(db: Db, parents: string): Map<string, Turn> {
  const rows = db.rows<TurnRow>`
    ${selectTurns} where t.ended_at is null and s.parent_session in (select value from json_each(${parents}))`;
  return new Map(rows.map((row) => [row.session_id, toTurn(row)]));
}

/** A session without turns is about to start one, unless the process that spawned it has ended. */
function stateBeforeStart(db: Db, self: LeaseHolder, { ended_at, session_id: id, session: n }: TurnRow): SpawnedSession["state"] {
  return ended_at === null && openTurnState(db, self, { id, n }).state !== "interrupted" ? "running" : "interrupted";
}

const messageTailLength = 400;

/** The end of each session's last message, by the node of its tip. The text is empty if that node is not the agent's. */
function lastMessages(db: Db, sessions: readonly { tip: number | null }[]): Map<number, string> {
  const tips = JSON.stringify(sessions.map(({ tip }) => tip));
  const rows = db.rows<{ n: number; body: string }>`select n, body from nodes where n in (select value from json_each(${tips}))`;
  return new Map(
    rows.map(({ n, body }) => {
      const node = JSON.parse(body);
      return [n, node.author === "agent" ? textOf(node).slice(-messageTailLength) : ""];
    }),
  );
}
