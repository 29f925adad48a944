// Turns: who took up a prompt, what it used and how it ended; the drafts of what is still streaming; the bill.
import type { UsageKey, UsageEntry } from "../../../protocol/api/api.ts";
import type { DurableEvent } from "../../../protocol/tree/event.ts";
import type { NativeStart, Turn } from "../../../protocol/tree/turn.ts";
import { zeroSpent, type Spent } from "../../../protocol/tree/usage.ts";
import type { Db } from "../db.ts";
import { toEvent, recordEvent } from "./events.ts";
import { takePrompt } from "./inputs.ts";
import { requireLease } from "../lease.ts";
import { claimedNativeId, findNativeStart } from "./native-sessions.ts";
import { addNode, openTurn } from "./nodes.ts";
import { asStarted, selectTurns, sessionRow, sessionAt, toSession, toTurn, type TurnRow } from "../rows.ts";
import type { Draft, Lease, NewTurn, TurnClose, WriteResult } from "../../store.ts";

export function startTurn(db: Db, lease: Lease, start: NewTurn): WriteResult<Turn> & { native: NativeStart | null } {
  return db.writeThrough(() => {
    const ground = requireLease(db, lease);
    const native = start.native === undefined ? null : findNativeStart(db, ground, start.agent, start.native);
    const at = Date.now();
    const id = start.id ?? Bun.randomUUIDv7();
    const { lastInsertRowid } = db
      .query(
        `insert into turns (id, session, parent, agent, model, role, native_id, policy, enforced, budget, started_at)
         values (?, ?, ?, ?, ?, ?, ?, ?, ?, ?, ?)`,
      )
      .run(
        id,
        ground.n,
        ground.tip,
        start.agent,
        start.model,
        start.role ?? null,
        claimedNativeId(native),
        JSON.stringify(start.policy),
        json(start.enforced),
        json(start.budget ?? null),
        at,
      );
    const n = Number(lastInsertRowid);
    ground.seq += 1;
    const startedSeq = ground.seq;
    recordEvent(db, { session: ground.n, seq: startedSeq, kind: "turn.started", turn: n, node: null, at });
    db.query("update sessions set seq = ?, updated_at = ? where n = ?").run(startedSeq, at, ground.n);
    const prompt = start.prompt && addNode(db, lease.session, ground, { n, id }, start.prompt);
    const taken = start.fromQueue === undefined ? [] : [takePrompt(db, lease, ground, start.fromQueue)];
    const value = turnRow(db, n);
    const session = sessionAt(toSession(sessionRow(db, lease.session)), value.parent, at);
    const started = toEvent(startedSeq, lease.session, id, at, { type: "turn.started", turn: asStarted(value), session });
    return { value, native, events: [started, ...(prompt ? [prompt.event] : []), ...taken] };
  });
}

export function endTurn(db: Db, lease: Lease, turn: string, end: TurnClose): WriteResult<Turn> {
  return db.writeThrough(() => {
    const ground = requireLease(db, lease);
    const { n } = openTurn(db, ground, turn);
    const at = Date.now();
    const seq = ground.seq + 1;
    db.query(
      `update turns set ended_at = max(?, started_at), status = ?, error = ?, native_id = coalesce(?, native_id), enforced = coalesce(?, enforced), cli = ?,
         input = input + ?, output = output + ?, cache_read = cache_read + ?, cache_write = cache_write + ?,
         cost_usd = cost_usd + ?, unpriced = unpriced + ?
       where n = ?`,
    ).run(at, end.status, json(end.error), end.nativeId, json(end.enforced), json(end.cli ?? null), ...restOf(end.rest), n);
    db.query("update sessions set seq = ?, updated_at = ? where n = ?").run(seq, at, ground.n);
    recordEvent(db, { session: ground.n, seq, kind: "turn.ended", turn: n, node: null, at });
    const value = turnRow(db, n);
    const session = sessionAt(toSession(sessionRow(db, lease.session)), value.tip ?? value.parent, at);
    const ended: DurableEvent = toEvent(seq, lease.session, turn, at, { type: "turn.ended", turn: value, session });
    return { value, events: [ended] };
  });
}

export function recordNativeId(db: Db, lease: Lease, turn: string, nativeId: string): void {
  db.write(() => {
    const { n } = openTurn(db, requireLease(db, lease), turn);
    db.query("update turns set native_id = ? where n = ?").run(nativeId, n);
  });
}

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

export function saveDraft(db: Db, lease: Lease, turn: string, draft: Draft): void {
  db.write(() => {
    const { n } = openTurn(db, requireLease(db, lease), turn);
    db.query("insert into drafts (turn, key, text) values (?, ?, ?) on conflict (turn, key) do update set text = excluded.text").run(
      n,
      draft.key,
      draft.text,
    );
  });
}

export function drafts(db: Db, turn: string): Draft[] {
  return db.query<Draft>("select key, text from drafts where turn = (select n from turns where id = ?) order by rowid").all(turn);
}

/** Days are the reader's own; `unpriced` counts the turns with a request of unknown price. */
const usageKeys: Record<UsageKey, string> = {
  day: "date(t.started_at / 1000, 'unixepoch', 'localtime')",
  agent: "t.agent",
  model: "coalesce(t.model, 'unknown')",
  project: "s.project",
};

type Sums = {
  key: string;
  turns: number;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  cost: number;
  unpriced: number;
};

export function usage(db: Db, by: UsageKey, project: string | null): UsageEntry[] {
  const rows = db
    .query<Sums>(
      `select ${usageKeys[by]} as key, count(*) as turns, sum(t.input) as input, sum(t.output) as output,
         sum(t.cache_read) as cache_read, sum(t.cache_write) as cache_write, sum(t.cost_usd) as cost, sum(t.unpriced > 0) as unpriced
       from turns t join sessions s on s.n = t.session where ?1 is null or s.project = ?1
       group by 1 order by ${by === "day" ? "1 desc" : "cost desc, turns desc, 1"}`,
    )
    .all(project);
  return rows.map((row) => ({
    key: row.key,
    turns: row.turns,
    usage: { input: row.input, output: row.output, cacheRead: row.cache_read, cacheWrite: row.cache_write },
    costUsd: row.cost,
    unpriced: row.unpriced,
  }));
}

function turnRow(db: Db, n: number): Turn {
  return toTurn(db.query<TurnRow>(`${selectTurns} where t.n = ?`).get(n)!);
}

function restOf(rest: Spent = zeroSpent): number[] {
  const { input, output, cacheRead, cacheWrite } = rest.usage;
  return [input, output, cacheRead, cacheWrite, rest.costUsd ?? 0, rest.costUsd === null ? 1 : 0];
}

function json(value: object | null): string | null {
  return value === null ? null : JSON.stringify(value);
}
