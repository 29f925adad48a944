// Rows of the database as the values that the rest of the house knows. Reads nothing but the ids that rows point at.
import { Fault } from "../protocol/error.ts";
import type { NewNode, Node } from "../protocol/node.ts";
import type { Session, Turn } from "../protocol/turn.ts";
import type { Db } from "./db.ts";
import { nodesPerTree } from "./migrations.ts";

// --- sessions -------------------------------------------------------------------------------------------

export type SessionRow = {
  n: number;
  id: string;
  tree: number;
  tree_id: string;
  tip: number | null;
  tip_id: string | null;
  seq: number;
  name: string | null;
  agent: string;
  model: string | null;
  directory: string;
  project: string;
  task: string | null;
  tool_level: Session["toolLevel"];
  parent_session: string | null;
  forked_session: string | null;
  forked_node: string | null;
  transcript: string | null;
  created_at: number;
  updated_at: number;
  archived_at: number | null;
};

export const selectSessions = `
  select s.*, t.id as tree_id, p.id as tip_id
  from sessions s join trees t on t.n = s.tree left join nodes p on p.n = s.tip`;

export function toSession(row: SessionRow): Session {
  const forked = row.forked_session !== null && row.forked_node !== null;
  return {
    id: row.id,
    name: row.name,
    tree: row.tree_id,
    tip: row.tip_id,
    agent: row.agent,
    model: row.model,
    directory: row.directory,
    project: row.project,
    task: row.task,
    toolLevel: row.tool_level,
    parentSession: row.parent_session,
    forkedFrom: forked ? { session: row.forked_session!, node: row.forked_node! } : null,
    transcript: row.transcript,
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    archivedAt: row.archived_at,
  };
}

export function sessionRow(db: Db, id: string): SessionRow {
  const row = db.query<SessionRow>(`${selectSessions} where s.id = ?`).get(id);
  if (!row) throw new Fault("session-unknown", `There is no session ${id}.`, { hint: "`skein list` shows the sessions." });
  return row;
}

// --- turns ----------------------------------------------------------------------------------------------

export type TurnRow = {
  n: number;
  id: string;
  session_id: string;
  parent_id: string | null;
  tip_id: string | null;
  agent: string;
  model: string | null;
  native_id: string | null;
  policy: string;
  enforced: string | null;
  input: number;
  output: number;
  cache_read: number;
  cache_write: number;
  cost_usd: number;
  unpriced: number;
  steps: number;
  started_at: number;
  ended_at: number | null;
  status: Turn["status"];
  error: string | null;
};

export const selectTurns = `
  select t.*, s.id as session_id, a.id as parent_id, b.id as tip_id
  from turns t join sessions s on s.n = t.session
  left join nodes a on a.n = t.parent left join nodes b on b.n = t.tip`;

export function toTurn(row: TurnRow): Turn {
  return {
    id: row.id,
    session: row.session_id,
    parent: row.parent_id,
    tip: row.tip_id,
    agent: row.agent,
    model: row.model,
    nativeId: row.native_id,
    policy: JSON.parse(row.policy),
    enforced: row.enforced === null ? null : JSON.parse(row.enforced),
    usage: { input: row.input, output: row.output, cacheRead: row.cache_read, cacheWrite: row.cache_write },
    costUsd: row.unpriced > 0 ? null : row.cost_usd,
    steps: row.steps,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    status: row.status,
    error: row.error === null ? null : JSON.parse(row.error),
  };
}

/** A turn as it was when it began: what `turn.started` tells, also when it is told again later. */
export function asStarted(turn: Turn): Turn {
  return {
    ...turn,
    tip: null,
    nativeId: null,
    usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 },
    costUsd: 0,
    steps: 0,
    endedAt: null,
    status: null,
    error: null,
  };
}

// --- nodes ----------------------------------------------------------------------------------------------

export const nodeColumns = "n, parent, session, turn, at, id, body";

/** Read as arrays: ten thousand of them are one path. */
export type NodeRow = [
  n: number,
  parent: number | null,
  session: number,
  turn: number | null,
  at: number,
  id: string,
  body: string,
];

/** The ids behind the integers of node rows, remembered for one reading. */
export class Names {
  readonly #db: Db;
  readonly #known = new Map<string, string>();

  constructor(db: Db) {
    this.#db = db;
  }

  of(table: "trees" | "sessions" | "turns" | "nodes", n: number): string {
    const key = `${table}${n}`;
    const known = this.#known.get(key);
    if (known !== undefined) return known;
    const row = this.#db.query<{ id: string }>(`select id from ${table} where n = ?`).get(n);
    if (!row) {
      throw new Fault("store-broken", `The store lacks row ${n} of its ${table}.`, { hint: "`skein verify` lists what is damaged." });
    }
    this.#known.set(key, row.id);
    return row.id;
  }
}

export function toNodes(db: Db, rows: NodeRow[]): Node[] {
  const names = new Names(db);
  const ids = new Map<number, string>();
  const last = { session: -1, sessionId: "", turn: -1, turnId: "", tree: -1, treeId: "" };
  for (const row of rows) ids.set(row[0], row[5]);
  return rows.map(([n, parent, session, turn, at, id, body]) => {
    const tree = treeOf(n);
    if (tree !== last.tree) Object.assign(last, { tree, treeId: names.of("trees", tree) });
    if (session !== last.session) Object.assign(last, { session, sessionId: names.of("sessions", session) });
    if (turn !== null && turn !== last.turn) Object.assign(last, { turn, turnId: names.of("turns", turn) });
    return withPlace(JSON.parse(body) as NewNode, {
      id,
      parent: parent === null ? null : (ids.get(parent) ?? names.of("nodes", parent)),
      tree: last.treeId,
      session: last.sessionId,
      turn: turn === null ? null : last.turnId,
      at,
    });
  });
}

export function treeOf(n: number): number {
  return Math.floor(n / nodesPerTree);
}

/** Puts a node in its place. The given object becomes the node. */
export function withPlace(node: NewNode, place: Omit<Node, keyof NewNode>): Node {
  return Object.assign(node, place);
}
