// Opens the store of a fleet in Postgres. Each method is a function of the same name in tables/, control/, search/, outputs/
// or upkeep/. This file contains no other logic.
import { type OutputBounds, outputBounds } from "../sqlite/outputs/outputs.ts";
import type { PurgeRequest, Store } from "../store.ts";
import { PgDb, type PgOptions } from "./connection/connection.ts";
import { asks, closeAsk, findAsk, openAsk } from "./control/asks.ts";
import { dropInput, queue, queueInput, takeInputs } from "./control/inputs.ts";
import { findPendingTurn, pendingTurns, queueTurn, setPendingProblem, stopContinuing, withdrawTurn } from "./control/pending-turns.ts";
import { acquire, holder, release } from "./leases/lease.ts";
import { type HeartbeatHooks, Worker, type WorkerInfo } from "./leases/worker.ts";
import { PgOutput, readOutput } from "./outputs/outputs.ts";
import { checkLayout } from "./schema/migrate.ts";
import { storeMigrations } from "./schema/migrations.ts";
import { description, recordShownHits, saveDescription, sessionStamp, shownHits } from "./search/descriptions.ts";
import { indexSome, search } from "./search/search.ts";
import { Drafts, drafts } from "./tables/drafts.ts";
import { events } from "./tables/events.ts";
import { importNodes, importOutput, storedNodes } from "./tables/imports.ts";
import { children, findNode, node, path, sessionNodes, sessionNodesFrom, sessionPath, sessionPathEnd, treeNodes } from "./tables/nodes.ts";
import { interruptedSession, latestTurnsBy, listTurns, setState } from "./tables/running-turns.ts";
import { sessionView } from "./tables/session-view.ts";
import {
  createSession,
  findSession,
  forkSession,
  importedSession,
  importSession,
  listSessions,
  requireSession,
  session,
  updateSession,
} from "./tables/sessions.ts";
import { subSessions, usage, usageSeries } from "./tables/spending.ts";
import {
  fileStates,
  latestPrompts,
  openTurns,
  projectRecords,
  prompts,
  saveCallFiles,
  saveTurnFiles,
  turn,
  turnFiles,
  turnRecords,
  turnsOf,
} from "./tables/turns.ts";
import { addWorktree, listWorktrees, removeWorktree, updateWorktree, worktree, worktreeAt, worktreeSessions } from "./tables/worktrees.ts";
import { appendNode, endTurn, recordNativeId, startTurn } from "./tables/write-turn.ts";

export type PostgresStoreOptions = PgOptions & {
  /** The URL in `fleet.url`. */
  url: string;
  worker?: WorkerInfo;
  heartbeat?: HeartbeatHooks;
  bounds?: Partial<OutputBounds>;
};

export type PostgresStore = Store & {
  /** The id of this process in the fleet. */
  worker: string;
  db: PgDb;
  /** Sends a heartbeat now, not at its time. */
  beatNow: () => Promise<void>;
};

// Functions whose only dependency is the database.
const sessionFunctions = { createSession, session, requireSession, findSession, listSessions, updateSession, forkSession };
const turnWrites = { startTurn, recordNativeId, saveTurnFiles, saveCallFiles, setState };
const controlWrites = { openAsk, closeAsk, queueInput, dropInput, takeInputs };
const pendingFunctions = { queueTurn, pendingTurns, findPendingTurn, withdrawTurn, stopContinuing, setPendingProblem };
const importFunctions = { importSession, importedSession, storedNodes, importNodes, importOutput };
const nodeReads = { node, findNode, path, sessionPath, sessionPathEnd, children, treeNodes, sessionNodes, sessionNodesFrom };
const turnReads = {
  turn,
  turnsOf,
  openTurns,
  prompts,
  latestPrompts,
  drafts,
  events,
  subSessions,
  asks,
  findAsk,
  queue,
  usage,
  usageSeries,
};
const worktreeFunctions = { worktree, worktreeAt, listWorktrees, addWorktree, updateWorktree, removeWorktree, worktreeSessions };
const fileReads = { turnFiles, turnRecords, projectRecords, fileStates };
const searchFunctions = { search, shownHits, recordShownHits, sessionStamp, description, saveDescription, readOutput };

/** Throws if the database can't be reached or has another layout. */
export async function openPostgresStore(options: PostgresStoreOptions): Promise<PostgresStore> {
  const db = PgDb.open(options.url, options);
  const worker = new Worker(db, options.worker ?? {}, options.heartbeat ?? {});
  const bounds: OutputBounds = { ...outputBounds, ...options.bounds };
  const saved = new Drafts(db);
  const self = () => worker.self;
  const background = new Set<Promise<unknown>>();
  const index = (session: string) => {
    // Begins once the caller has its answer. The next search indexes what is missing, and reports an error.
    const task: Promise<unknown> = Bun.sleep(0)
      .then(() => indexSome(db, session))
      .catch(() => {})
      .finally(() => background.delete(task));
    background.add(task);
  };
  try {
    await checkLayout(db, "store", storeMigrations);
    if (options.worker?.slots !== undefined) await worker.register();
  } catch (error) {
    await db.close();
    throw error;
  }
  return {
    ...bind(db, { ...sessionFunctions, ...turnWrites, ...controlWrites, ...pendingFunctions, ...importFunctions }),
    ...bind(db, { ...nodeReads, ...turnReads, ...worktreeFunctions, ...fileReads, ...searchFunctions }),
    acquire: (id) => acquire(db, worker, id),
    release: (lease) => release(db, worker, lease),
    holder: (id) => holder(db, self(), id),
    sessionView: (id) => sessionView(db, self(), id),
    interruptedSession: (project) => interruptedSession(db, self(), project),
    listTurns: (endedSince) => listTurns(db, self(), endedSince),
    latestTurnsBy: (...params) => latestTurnsBy(db, self(), ...params),
    appendNode: async (lease, id, added, files) => {
      const result = await appendNode(db, lease, id, added);
      saved.forget(id);
      if (id !== null && files !== undefined) await saveCallFiles(db, lease, id, ...files(result.value.id));
      return result;
    },
    endTurn: async (lease, id, end) => {
      const result = await endTurn(db, lease, id, end);
      saved.forget(id);
      index(lease.session);
      return result;
    },
    saveDraft: (lease, id, draft) => saved.save(lease, id, draft),
    openOutput: (lease, call, source) => new PgOutput({ db, bounds, lease, call, source }),
    purge: async (request: PurgeRequest) => (await import("./upkeep/purge.ts")).purge(db, request),
    verify: async (request) => (await import("./upkeep/verify.ts")).verify(db, request),
    worker: worker.id,
    db,
    beatNow: () => worker.beat(),
    close: async () => {
      await Promise.all(background);
      // A database that is away takes the leases back itself, when this process is silent.
      await worker.close().catch(() => {});
      await db.close();
    },
  };
}

type Methods<Functions> = {
  [Name in keyof Functions]: Functions[Name] extends (db: PgDb, ...params: infer Params) => Promise<infer Result>
    ? (...params: Params) => Promise<Result>
    : never;
};

/** Turns functions on a database into methods. */
function bind<Functions extends Record<string, (db: PgDb, ...params: never[]) => Promise<unknown>>>(
  db: PgDb,
  functions: Functions,
): Methods<Functions> {
  const methods = Object.entries(functions).map(([name, run]) => [name, (...params: never[]) => run(db, ...params)]);
  return Object.fromEntries(methods) as Methods<Functions>;
}
