// Where a session stands, read at one moment: whoever shows it goes on with the events after `seq`, and misses nothing.
import type { Spent } from "../protocol/usage.ts";
import type { OpenRun, SessionView } from "../protocol/tree-views.ts";
import { asks } from "./asks.ts";
import type { Db } from "./db.ts";
import { queue } from "./inputs.ts";
import type { Holder } from "./lease.ts";
import { path } from "./nodes.ts";
import { selectTurns, sessionRow, toSession, toTurn, type TurnRow } from "./rows.ts";
import { rowOfTurn } from "./running.ts";
import { drafts } from "./turns.ts";

export function sessionView(db: Db, self: Holder, id: string): SessionView {
  return db.read(() => {
    const row = sessionRow(db, id);
    const nodes = row.tip_id === null ? [] : path(db, row.tip_id);
    const ids = [...new Set(nodes.map(({ turn }) => turn))];
    const turns = db
      .query<TurnRow>(
        `${selectTurns} where t.id in (select value from json_each(?1)) or (t.session = ?2 and t.ended_at is null) order by t.n`,
      )
      .all(JSON.stringify(ids), row.n);
    return {
      session: toSession(row),
      seq: row.seq,
      nodes,
      turns: turns.map(toTurn),
      below: spentBelow(
        db,
        turns.map(({ n }) => n),
      ),
      asks: asks(db, id).filter(({ closedAt }) => closedAt === null),
      queue: queue(db, id),
      open: openRun(
        db,
        self,
        turns.find((turn) => turn.ended_at === null && turn.session_id === id),
      ),
    };
  });
}

function openRun(db: Db, self: Holder, turn: TurnRow | undefined): OpenRun | null {
  const found = turn === undefined ? null : rowOfTurn(db, self, turn);
  if (found === null) return null;
  const { state, pid } = found;
  return { turn: found.turn.id, state, pid, drafts: drafts(db, found.turn.id) };
}

type Sums = { input: number; output: number; cache_read: number; cache_write: number; cost_usd: number; unpriced: number };

/** What began below a turn while it ran is its own; what executes a plan stands on its own. */
function spentBelow(db: Db, turns: number[]): Spent {
  const sums = db
    .query<Sums>(
      `with recursive below (id) as (
         select s.id from turns t join sessions p on p.n = t.session join sessions s on s.parent_session = p.id
         where t.n in (select value from json_each(?)) and s.plan is null and s.created_at between t.started_at and coalesce(t.ended_at, ?)
         union select s.id from below b join sessions s on s.parent_session = b.id where s.plan is null
       )
       select total(t.input) as input, total(t.output) as output, total(t.cache_read) as cache_read, total(t.cache_write) as cache_write,
         total(t.cost_usd) as cost_usd, total(t.unpriced) as unpriced
       from below b join sessions s on s.id = b.id join turns t on t.session = s.n where t.ended_at is not null`,
    )
    .get(JSON.stringify(turns), Date.now())!;
  return {
    usage: { input: sums.input, output: sums.output, cacheRead: sums.cache_read, cacheWrite: sums.cache_write },
    costUsd: sums.unpriced > 0 ? null : sums.cost_usd,
  };
}
