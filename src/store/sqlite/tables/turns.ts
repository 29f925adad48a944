// Reads turns, and the drafts of answers that are still streaming.
import type { Turn } from "../../../protocol/tree/turn.ts";
import type { Draft } from "../../store.ts";
import type { Db } from "../db.ts";
import { sessionRow } from "../rows/session-row.ts";
import { selectTurns, type TurnRow } from "../rows/turn-row.ts";
import { readTurns } from "./spending.ts";

export function turn(db: Db, id: string): Turn | null {
  return readTurns(db, db.rows<TurnRow>`${selectTurns} where t.id = ${id}`)[0] ?? null;
}

export function turnsOf(db: Db, session: string): Turn[] {
  return readTurns(db, db.rows<TurnRow>`${selectTurns} where t.session = ${sessionRow(db, session).n} order by t.n`);
}

/** The turns that events of a session after `afterSeq` are about. */
export function turnsOfEvents(db: Db, session: number, afterSeq: number): Turn[] {
  const turns = db.rows<TurnRow>`
    ${selectTurns} where t.n in (select turn from events where session = ${session} and seq > ${afterSeq} and turn is not null)`;
  return readTurns(db, turns);
}

export function openTurns(db: Db, session: string): Turn[] {
  const { n } = sessionRow(db, session);
  return readTurns(db, db.rows<TurnRow>`${selectTurns} where t.session = ${n} and t.ended_at is null order by t.n`);
}

export function drafts(db: Db, turn: string): Draft[] {
  return db.rows<Draft>`select key, text from drafts where turn = (select n from turns where id = ${turn}) order by rowid`;
}
