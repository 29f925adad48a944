// Where a session stands, read at one moment: whoever shows it goes on with the events after `seq`, and misses nothing.
import type { OpenTurnView, SessionView } from "../../../protocol/tree/views.ts";
import { asks } from "./asks.ts";
import { spawnedBy, spentBy } from "./sub-sessions.ts";
import type { Db } from "../db.ts";
import { queue } from "./inputs.ts";
import type { LeaseHolder } from "../lease.ts";
import { path } from "./nodes.ts";
import { selectTurns, sessionRow, toSession, toTurn, type TurnRow } from "../rows.ts";
import { toTurnInfo } from "./running-turns.ts";
import { drafts } from "./turns.ts";

export function sessionView(db: Db, self: LeaseHolder, id: string): SessionView {
  return db.read(() => {
    const row = sessionRow(db, id);
    const nodes = row.tip_id === null ? [] : path(db, row.tip_id);
    const ids = [...new Set(nodes.map(({ turn }) => turn))];
    const turns = db
      .query<TurnRow>(
        `${selectTurns} where t.id in (select value from json_each(?1)) or (t.session = ?2 and t.ended_at is null) order by t.n`,
      )
      .all(JSON.stringify(ids), row.n);
    const spawned = spawnedBy(db, self, turns);
    return {
      session: toSession(row),
      seq: row.seq,
      nodes,
      turns: turns.map(toTurn),
      spawned,
      below: spentBy(
        db,
        spawned.map((each) => each.id),
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

function openRun(db: Db, self: LeaseHolder, turn: TurnRow | undefined): OpenTurnView | null {
  const found = turn === undefined ? null : toTurnInfo(db, self, turn);
  if (found === null) return null;
  const { state, pid } = found;
  return { turn: found.turn.id, state, pid, drafts: drafts(db, found.turn.id) };
}
