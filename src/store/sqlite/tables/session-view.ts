// Reads a session as a consistent snapshot. A watcher continues with the events after its `seq` and misses none.
import type { OpenTurnView, SessionView } from "../../../protocol/tree/views.ts";
import type { Db } from "../db.ts";
import type { LeaseHolder } from "../lease.ts";
import { toNodes } from "../rows/node-row.ts";
import { sessionRow, toSession } from "../rows/session-row.ts";
import { selectTurns, type TurnRow } from "../rows/turn-row.ts";
import { asks } from "../control/asks.ts";
import { queue } from "../control/inputs.ts";
import { pathRows } from "./nodes.ts";
import { pendingTurns } from "../control/pending-turns.ts";
import { toTurnInfo } from "./running-turns.ts";
import { readTurns, spentBy } from "./spending.ts";
import { spawnedBy } from "./sub-sessions.ts";
import { drafts } from "./turns.ts";

export function sessionView(db: Db, self: LeaseHolder, id: string): SessionView {
  return db.read(() => {
    const row = sessionRow(db, id);
    const rows = pathRows(db, row.tip_id);
    // Selects by row numbers: for a long session the look-up by ids takes twice the time.
    const numbers = JSON.stringify([...new Set(rows.map(([, , , turn]) => turn))]);
    const turns = db.rows<TurnRow>`
      ${selectTurns} where t.n in (
        select value from json_each(${numbers}) union select n from turns where session = ${row.n} and ended_at is null
      ) order by t.n`;
    const spawned = spawnedBy(db, self, turns);
    const openTurn = turns.find((turn) => turn.ended_at === null && turn.session_id === id);
    const spawnedIds = spawned.map((session) => session.id);
    return {
      session: toSession(row),
      seq: row.seq,
      nodes: toNodes(db, rows),
      turns: readTurns(db, turns),
      spawned,
      below: spentBy(db, spawnedIds),
      asks: asks(db, id).filter(({ closedAt }) => closedAt === null),
      queue: queue(db, id),
      pending: pendingTurns(db, self, id),
      open: openTurn === undefined ? null : openTurnView(db, self, openTurn),
    };
  });
}

function openTurnView(db: Db, self: LeaseHolder, turn: TurnRow): OpenTurnView | null {
  const info = toTurnInfo(db, self, turn);
  return info && { turn: info.turn.id, state: info.state, pid: info.pid, drafts: drafts(db, info.turn.id) };
}
