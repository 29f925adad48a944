// The embedded store: the rooms of this folder put together behind the Store interface, one SQLite file.
// Every failure that leaves here is a Fault that says what to do.
import { asks, closeAsk, findAsk, openAsk } from "./tables/asks.ts";
import { latestTurnsBy, subSessions } from "./tables/sub-sessions.ts";
import { Db } from "./db.ts";
import { description, saveDescription, sessionStamp } from "./search/descriptions.ts";
import { events } from "./tables/events.ts";
import { storeFault } from "./faults.ts";
import { importedSession, importNodes, importOutput, importSession, storedNodes } from "./tables/imports.ts";
import { dropInput, queue, queueInput, takeInputs } from "./tables/inputs.ts";
import { acquire, type LeaseHolder, activeHolder, release, currentProcess } from "./lease.ts";
import { appendNode, children, findNode, node, path, sessionNodes, treeNodes } from "./tables/nodes.ts";
import { OutputFiles, readOutput } from "./outputs/output-files.ts";
import { StoredOutput, type OutputBounds, outputBounds } from "./outputs/outputs.ts";
import { purge } from "./upkeep/purge.ts";
import { setState, listTurns } from "./tables/running-turns.ts";
import { indexSome, search } from "./search/search.ts";
import { sessionView } from "./tables/session-view.ts";
import { createSession, findSession, forkSession, listSessions, session, updateSession } from "./tables/sessions.ts";
import type { Lease, PurgeRequest, Store } from "../store.ts";
import { recordShownHits, shownHits } from "./search/shown-hits.ts";
import { drafts, endTurn, recordNativeId, openTurns, saveDraft, startTurn, turn, turnsOf, usage } from "./tables/turns.ts";
import { saveTurnFiles, turnFiles } from "./tables/turn-files.ts";
import { verify } from "./upkeep/verify.ts";

export type StoreOptions = {
  /** ":memory:" keeps nothing. */
  path: string;
  /** Where whole outputs go; null keeps them in files without a name, which end with the process. */
  outputsDir: string | null;
  /** Below it other agents keep what they remember of a tree, by the tree's id: a purge takes it away. */
  agentsDir?: string;
  /** Where this process can be talked to while it holds a session. */
  socket?: () => string | null;
  /** Who writes; this process unless said otherwise. */
  holder?: Partial<LeaseHolder>;
  bounds?: Partial<OutputBounds>;
};

export async function openStore(options: StoreOptions): Promise<Store> {
  return storeOn(Db.open(options.path), options);
}

function storeOn(db: Db, options: StoreOptions): Store {
  const files = new OutputFiles(options.outputsDir);
  const bounds = { ...outputBounds, ...options.bounds };
  const leases = new Set<Lease>();
  let self: LeaseHolder | null = null;
  const holder = () => (self ??= { ...currentProcess(), ...options.holder, socket: options.socket?.() ?? null });
  const upkeep = new Upkeep(db);

  const on = withFaults(db);

  return {
    ...controlOn(on, holder),
    createSession: on(createSession),
    session: on(session),
    findSession: on(findSession),
    listSessions: on(listSessions),
    updateSession: on(updateSession),
    forkSession: on(forkSession),
    sessionView: on((_, id: string) => sessionView(db, holder(), id)),
    acquire: on((_, wanted: string) => {
      const lease = acquire(db, wanted, holder());
      leases.add(lease);
      return lease;
    }),
    release: on((_, lease: Lease) => {
      release(db, lease);
      leases.delete(lease);
    }),
    holder: on((_, wanted: string) => activeHolder(db, wanted, holder())),
    startTurn: on(startTurn),
    recordNativeId: on(recordNativeId),
    appendNode: on(appendNode),
    endTurn: on((_, ...params: Parameters<Store["endTurn"]>) => {
      const written = endTurn(db, ...params);
      upkeep.add(params[0].session);
      return written;
    }),
    saveDraft: on(saveDraft),
    saveTurnFiles: on(saveTurnFiles),
    openOutput: (lease, call, source) => new StoredOutput(db, files, lease, call, source, bounds),
    importSession: on(importSession),
    importedSession: on(importedSession),
    storedNodes: on(storedNodes),
    importNodes: on((_, ...params: Parameters<Store["importNodes"]>) => {
      const added = importNodes(db, ...params);
      upkeep.add(params[0].session);
      return added;
    }),
    importOutput: on((_, ...params: Parameters<Store["importOutput"]>) => importOutput(db, files, ...params)),
    node: on(node),
    findNode: on(findNode),
    path: on(path),
    children: on(children),
    treeNodes: on(treeNodes),
    sessionNodes: on(sessionNodes),
    turn: on(turn),
    turnsOf: on(turnsOf),
    openTurns: on(openTurns),
    drafts: on(drafts),
    turnFiles: on(turnFiles),
    events: on(events),
    readOutput: on((_, identifier: string) => readOutput(db, files, identifier)),
    search: on(search),
    shownHits: on(shownHits),
    recordShownHits: on(recordShownHits),
    sessionStamp: on(sessionStamp),
    description: on(description),
    saveDescription: on(saveDescription),
    usage: on(usage),
    purge: on((_, request: PurgeRequest) => purge(db, { outputs: files, agentsDir: options.agentsDir ?? null }, holder(), request)),
    verify: on((_, wanted: Parameters<Store["verify"]>[0]) => verify(db, files, holder(), wanted)),
    close: on(() => {
      upkeep.close();
      letGo(db, leases);
      files.close();
      db.close();
    }),
  };
}

/** What is said to running turns, and by them. */
function controlOn(on: ReturnType<typeof withFaults>, holder: () => LeaseHolder) {
  return {
    listTurns: on((db, endedSince: number | null) => listTurns(db, holder(), endedSince)),
    latestTurnsBy: on((db, ...params: Parameters<Store["latestTurnsBy"]>) => latestTurnsBy(db, holder(), ...params)),
    subSessions: on(subSessions),
    setState: on(setState),
    openAsk: on(openAsk),
    closeAsk: on(closeAsk),
    asks: on(asks),
    findAsk: on(findAsk),
    queueInput: on(queueInput),
    dropInput: on(dropInput),
    takeInputs: on(takeInputs),
    queue: on(queue),
  };
}

/** Runs on the database; what goes wrong there is told as a fault. */
function withFaults(db: Db) {
  return <Params extends unknown[], Result>(act: (db: Db, ...params: Params) => Result) =>
    async (...params: Params): Promise<Awaited<Result>> => {
      try {
        return await act(db, ...params);
      } catch (error) {
        throw storeFault(error, db.path);
      }
    };
}

/** A full disk must not keep a store from closing: the lease ends with the process anyway. */
function letGo(db: Db, leases: Set<Lease>): void {
  for (const lease of leases) {
    try {
      release(db, lease);
    } catch {
      continue;
    }
  }
  leases.clear();
}

/** What is done once whoever ended a turn has been answered: its nodes become searchable, the log is copied back. */
class Upkeep {
  readonly #db: Db;
  readonly #sessions = new Set<string>();
  #timer: Timer | null = null;

  constructor(db: Db) {
    this.#db = db;
  }

  add(session: string): void {
    this.#sessions.add(session);
    this.#timer ??= setTimeout(() => this.#run(), 0);
  }

  close(): void {
    if (!this.#timer) return;
    clearTimeout(this.#timer);
    this.#run();
  }

  #run(): void {
    this.#timer = null;
    const sessions = [...this.#sessions];
    this.#sessions.clear();
    try {
      for (const session of sessions) indexSome(this.#db, session);
      this.#db.settle();
    } catch {
      // A full disk or a busy file: the next search indexes what is missing, and says what is wrong.
    }
  }
}
