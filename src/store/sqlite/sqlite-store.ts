// Opens the SQLite store. Each method is a function of the same name in tables/, search/, outputs/ or upkeep/.
// `Db.bind` turns these functions into methods; this file contains no other logic.
import type { Lease, PurgeRequest, Store } from "../store.ts";
import { Db, later } from "./db.ts";
import { acquire, activeHolder, currentProcess, type LeaseHolder, release } from "./lease.ts";
import { OutputFiles, readOutput } from "./outputs/output-files.ts";
import { OutputTotal } from "./outputs/output-total.ts";
import { type OutputBounds, outputBounds, StoredOutput } from "./outputs/outputs.ts";
import { asks, closeAsk, findAsk, openAsk } from "./control/asks.ts";
import { dropInput, queue, queueInput, takeInputs } from "./control/inputs.ts";
import { children, findNode, node, path, sessionNodes, sessionNodesFrom, sessionPath, sessionPathEnd, treeNodes } from "./tables/nodes.ts";
import { findPendingTurn, pendingTurns, queueTurn, setPendingProblem, stopContinuing, withdrawTurn } from "./control/pending-turns.ts";
import { createSession, findSession, forkSession, listSessions, requireSession, session, updateSession } from "./tables/sessions.ts";
import { drafts, openTurns, turn, turnsOf } from "./tables/turns.ts";
import { appendNode, endTurn, recordNativeId, saveDraft, startTurn } from "./tables/write-turn.ts";

export type StoreOptions = {
  /** ":memory:" stores nothing on disk. */
  path: string;
  /** Directory of whole outputs. Null stores them in unlinked files, which the kernel deletes when the process ends. */
  outputsDir: string | null;
  /** Directory in which other agents store their data of a tree, by the tree's id. A purge removes that data. */
  agentsDir?: string;
  /** The socket on which this process serves the Api while it holds a session. */
  socket?: () => string | null;
  /** Overrides parts of this process's identity, for tests. */
  holder?: Partial<LeaseHolder>;
  bounds?: Partial<OutputBounds>;
  /** The longest wait for a locked store while no process writes to it. Default: 10 seconds. */
  lockLimitMs?: number;
};

// Functions whose only dependency is the database.
const sessionFunctions = { createSession, session, requireSession, findSession, listSessions, updateSession, forkSession };
const turnWrites = { startTurn, recordNativeId, appendNode, endTurn, saveDraft };
const controlFunctions = { asks, closeAsk, findAsk, openAsk, dropInput, queue, queueInput, takeInputs };
const pendingFunctions = { queueTurn, findPendingTurn, withdrawTurn, stopContinuing, setPendingProblem };
const nodeReads = { node, findNode, path, sessionPath, sessionPathEnd, children, treeNodes, sessionNodes, sessionNodesFrom };
const turnReads = { turn, turnsOf, openTurns, drafts };

// A turn sends its first request without these, so each is loaded at its first call.
const load = {
  files: () => import("./tables/turn-files.ts"),
  events: () => import("./tables/events.ts"),
  imports: () => import("./tables/imports.ts"),
  prompts: () => import("./tables/prompts.ts"),
  runningTurns: () => import("./tables/running-turns.ts"),
  search: () => import("./search/search.ts"),
  descriptions: () => import("./search/descriptions.ts"),
  shownHits: () => import("./search/shown-hits.ts"),
  spending: () => import("./tables/spending.ts"),
  subSessions: () => import("./tables/sub-sessions.ts"),
  worktrees: () => import("./worktrees/worktrees.ts"),
};

const loadedFunctions = {
  ...later(load.files, ["saveTurnFiles", "saveCallFiles", "turnFiles", "turnRecords", "projectRecords", "fileStates"]),
  ...later(load.events, ["events"]),
  ...later(load.imports, ["importSession", "importedSession", "storedNodes", "importNodes"]),
  ...later(load.prompts, ["prompts", "latestPrompts"]),
  ...later(load.runningTurns, ["setState"]),
  ...later(load.search, ["search"]),
  ...later(load.descriptions, ["sessionStamp", "description", "saveDescription"]),
  ...later(load.shownHits, ["shownHits", "recordShownHits"]),
  ...later(load.spending, ["usage", "usageSeries"]),
  ...later(load.subSessions, ["subSessions"]),
  ...later(load.worktrees, [
    "worktree",
    "worktreeAt",
    "listWorktrees",
    "addWorktree",
    "updateWorktree",
    "removeWorktree",
    "worktreeSessions",
  ]),
};

export async function openStore(options: StoreOptions): Promise<Store> {
  const db = await Db.open(options.path, options.lockLimitMs);
  const files = new OutputFiles(options.outputsDir);
  const bounds: OutputBounds = { ...outputBounds, ...options.bounds };
  const leases = new Set<Lease>();
  let cachedSelf: LeaseHolder | null = null;
  const self = () => (cachedSelf ??= { ...currentProcess(), ...options.holder, socket: options.socket?.() ?? null });
  const total = new OutputTotal({ db, files, self, directory: options.outputsDir, maxBytes: bounds.totalBytes });
  return {
    ...db.bind({ ...sessionFunctions, ...turnWrites, ...controlFunctions, ...pendingFunctions, ...nodeReads, ...turnReads }),
    ...db.bind(loadedFunctions),
    ...db.bind({
      acquire: async (_, session: string) => {
        const lease = await acquire(db, session, self());
        leases.add(lease);
        return lease;
      },
      release: async (_, lease: Lease) => {
        await release(db, lease);
        leases.delete(lease);
      },
      holder: (_, session: string) => activeHolder(db, session, self()),
      sessionView: async (_, id: string) => (await import("./tables/session-view.ts")).sessionView(db, self(), id),
      pendingTurns: (_, session: string | null) => pendingTurns(db, self(), session),
      interruptedSession: async (_, project: string) => (await load.runningTurns()).interruptedSession(db, self(), project),
      listTurns: async (_, endedSince: number | null) => (await load.runningTurns()).listTurns(db, self(), endedSince),
      latestTurnsBy: async (_, ...params: Parameters<Store["latestTurnsBy"]>) =>
        (await load.subSessions()).latestTurnsBy(db, self(), ...params),
      importOutput: async (_, ...params: Parameters<Store["importOutput"]>) => (await load.imports()).importOutput(db, files, ...params),
      readOutput: (_, identifier: string) => readOutput(db, files, identifier),
      purge: async (_, request: PurgeRequest) => {
        const { purge } = await import("./upkeep/purge.ts");
        return purge(db, { outputs: files, agentsDir: options.agentsDir ?? null }, self(), request);
      },
      verify: async (_, request: Parameters<Store["verify"]>[0]) => (await import("./upkeep/verify.ts")).verify(db, files, self(), request),
      close: async () => {
        await releaseAll(db, leases);
        files.close();
        await db.close();
      },
    }),
    openOutput: (lease, call, source) => new StoredOutput({ db, files, bounds, total, lease, call, source }),
  };
}

/** A full disk must not prevent the store from closing: the leases end with the process anyway. */
async function releaseAll(db: Db, leases: Set<Lease>): Promise<void> {
  for (const lease of leases) {
    try {
      await release(db, lease);
    } catch {
      continue;
    }
  }
  leases.clear();
}
