// Reads turns, and the drafts of answers that are still streaming.
import type { Turn } from "../../../protocol/tree/turn.ts";
import type { Draft } from "../../store.ts";
import type { Db } from "../db.ts";
import { sessionRow } from "../rows/session-row.ts";
import { selectTurns, toTurn, type TurnRow } from "../rows/turn-row.ts";

export function turn(db: Db, id: string): Turn | null {
  const row = db.query<TurnRow>(`${selectTurns} where t.id = ?`).get(id);
  return row && toTurn(row);
}

export function turnsOf(db: Db, session: string): Turn[] {
  return db.query<TurnRow>(`${selectTurns} where t.session = ? order by t.n`).all(sessionRow(db, session).n).map(toTurn);
}

export function openTurns(db: Db, session: string): Turn[] {
  return db
    .query<TurnRow>(`${selectTurns} where t.session = ? and t.ended_at is null order by t.n`)
    .all(sessionRow(db, session).n)
    .map(toTurn);
}

export function drafts(db: Db, turn: string): Draft[] {
  return db.query<Draft>("select key, text from drafts where turn = (select n from turns where id = ?) order by rowid").all(turn);
}
