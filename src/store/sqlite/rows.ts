// Rows of the database as the values that the rest of the house knows. Reads nothing but the ids that rows point at.
import { Fault } from "../../protocol/api/error.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import type { Spent } from "../../protocol/tree/usage.ts";
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
  source: string | null;
  plan: string | null;
};

/** Purged sessions are seen by nobody: their rows only stay for the nodes that others need. */
export const selectSessions = `
  select s.*, t.id as tree_id, p.id as tip_id
  from (select * from sessions where purged_at is null) s join trees t on t.n = s.tree left join nodes p on p.n = s.tip`;

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
    ...(row.plan === null ? {} : { plan: row.plan }),
    createdAt: row.created_at,
    updatedAt: row.updated_at,
    archivedAt: row.archived_at,
    ...(row.source === null ? {} : { source: JSON.parse(row.source) }),
  };
}

export function sessionRow(db: Db, id: string): SessionRow {
  const row = db.query<SessionRow>(`${selectSessions} where s.id = ?`).get(id);
  if (!row) throw new Fault("session-unknown", `There is no session ${id}.`, { hint: "`skein list` shows the sessions of this project." });
  return row;
}

// --- turns ----------------------------------------------------------------------------------------------

export type TurnRow = {
  n: number;
  id: string;
  session: number;
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
  source: string | null;
  cli: string | null;
  role: string | null;
  budget: string | null;
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
    // Older turns know no directories besides the project.
    policy: { addDirs: [], ...JSON.parse(row.policy) },
    enforced: row.enforced === null ? null : JSON.parse(row.enforced),
    usage: { input: row.input, output: row.output, cacheRead: row.cache_read, cacheWrite: row.cache_write },
    costUsd: row.unpriced > 0 ? null : row.cost_usd,
    steps: row.steps,
    startedAt: row.started_at,
    endedAt: row.ended_at,
    status: row.status,
    error: row.error === null ? null : JSON.parse(row.error),
    ...(row.source === null ? {} : { source: JSON.parse(row.source) }),
    ...(row.role === null ? {} : { role: row.role }),
    ...(row.cli === null ? {} : { cli: JSON.parse(row.cli) }),
  };
}

export type SpentRow = { input: number; output: number; cache_read: number; cache_write: number; cost_usd: number; unpriced: number };

/** Of many turns together. */
export const spentColumns = `total(t.input) as input, total(t.output) as output, total(t.cache_read) as cache_read,
  total(t.cache_write) as cache_write, total(t.cost_usd) as cost_usd, total(t.unpriced) as unpriced`;

export function toSpent(row: SpentRow): Spent {
  return {
    usage: { input: row.input, output: row.output, cacheRead: row.cache_read, cacheWrite: row.cache_write },
    costUsd: row.unpriced > 0 ? null : row.cost_usd,
  };
}

/** The session as it was when its turn began or ended: an event is told in the same words whenever it is told. */
export function sessionAt(session: Session, tip: string | null, at: number): Session {
  return { ...session, tip, updatedAt: at };
}

/** A turn as it was when it began: what `turn.started` tells, also when it is told again later. */
export function asStarted(turn: Turn): Turn {
  return {
    ...turn,
    tip: null,
    nativeId: null,
    cli: undefined,
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
export type NodeRow = [n: number, parent: number | null, session: number, turn: number | null, at: number, id: string, body: string];

/** The ids behind the integers of node rows, remembered for one reading. */
export class IdLookup {
  readonly #db: Db;
  readonly #known = {
    trees: new Map<number, string>(),
    sessions: new Map<number, string>(),
    turns: new Map<number, string>(),
    nodes: new Map<number, string>(),
  };

  constructor(db: Db) {
    this.#db = db;
  }

  /** Learns the turns of many rows at once: one by one they cost a tenth of a long path. */
  learnTurns(rows: NodeRow[]): void {
    const turns = new Set(rows.map((row) => row[3]).filter((turn) => turn !== null));
    const found = this.#db.query("select n, id from turns where n in (select value from json_each(?))").values(JSON.stringify([...turns]));
    for (const [n, id] of found as [number, string][]) this.#known.turns.set(n, id);
  }

  of(table: "trees" | "sessions" | "turns" | "nodes", n: number): string {
    const known = this.#known[table].get(n);
    if (known !== undefined) return known;
    const row = this.#db.query<{ id: string }>(`select id from ${table} where n = ?`).get(n);
    if (!row) {
      throw new Fault("store-broken", `The store lacks row ${n} of its ${table}.`, { hint: "`skein verify` lists what is damaged." });
    }
    this.#known[table].set(n, row.id);
    return row.id;
  }
}

export function toNodes(db: Db, rows: NodeRow[]): Node[] {
  const names = new IdLookup(db);
  if (rows.length > 100) names.learnTurns(rows);
  const ids = idsOf(rows);
  let tree = -1;
  let treeId = "";
  let session = -1;
  let sessionId = "";
  return rows.map((row, index) => {
    const [n, parent, writer, turn, at, id, body] = row;
    if (treeOf(n) !== tree) {
      tree = treeOf(n);
      treeId = names.of("trees", tree);
    }
    if (writer !== session) {
      session = writer;
      sessionId = names.of("sessions", session);
    }
    const before = rows[index - 1];
    const node = JSON.parse(body) as Node;
    node.id = id;
    node.parent = parent === null ? null : before?.[0] === parent ? before[5] : (ids().get(parent) ?? names.of("nodes", parent));
    node.tree = treeId;
    node.session = sessionId;
    node.turn = turn === null ? null : names.of("turns", turn);
    node.at = at;
    return node;
  });
}

function idsOf(rows: NodeRow[]): () => Map<number, string> {
  let ids: Map<number, string> | null = null;
  return () => (ids ??= new Map(rows.map((row) => [row[0], row[5]])));
}

export function treeOf(n: number): number {
  return Math.floor(n / nodesPerTree);
}
