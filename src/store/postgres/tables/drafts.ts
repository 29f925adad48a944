// Streaming text in Postgres, as parts: a save sends only what was added since the last one.
import type { Draft, Lease } from "../../store.ts";
import { sql } from "../../sqlite/sql.ts";
import type { PgDb } from "../connection/connection.ts";

type SavedDraft = { part: number; text: string };

/** The drafts that this process has saved, by turn and key. */
export class Drafts {
  readonly #db: PgDb;
  readonly #saved = new Map<string, Map<string, SavedDraft>>();

  constructor(db: PgDb) {
    this.#db = db;
  }

  async save(lease: Lease, turn: string, { key, text }: Draft): Promise<void> {
    const drafts = this.#saved.get(turn) ?? new Map<string, SavedDraft>();
    const saved = drafts.get(key);
    const isLonger = saved !== undefined && text.startsWith(saved.text);
    const part = isLonger ? saved.part + 1 : 0;
    await this.#db.call("save_draft", lease.session, lease.epoch, turn, key, part, isLonger ? text.slice(saved.text.length) : text);
    drafts.set(key, { part, text });
    this.#saved.set(turn, drafts);
  }

  /** Every write of a node may have deleted drafts: the next save of each sends the whole text again. */
  forget(turn: string | null): void {
    if (turn !== null) this.#saved.delete(turn);
  }
}

export type DraftRow = { key: string; text: string };

export function draftRows(turn: string) {
  return sql`
    select p.key, p.text from skein.draft_parts p
    where p.turn = (select n from skein.turns where id = ${turn}::text)
    order by (select min(q.n) from skein.draft_parts q where q.turn = p.turn and q.key = p.key), p.part`;
}

/** Joins the parts of each draft. */
export function toDrafts(rows: DraftRow[]): Draft[] {
  return [...Map.groupBy(rows, ({ key }) => key)].map(([key, parts]) => ({ key, text: parts.map(({ text }) => text).join("") }));
}

export async function drafts(db: PgDb, turn: string): Promise<Draft[]> {
  return toDrafts(await db.rows<DraftRow>(draftRows(turn)));
}
