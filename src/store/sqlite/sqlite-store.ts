// Opens the SQLite store. Each method is a function of the same name in tables/, search/, outputs/ or upkeep/.
// `Db.bind` turns these functions into methods; this file contains no other logic.
import type { Lease, PurgeRequest, Store } from "../store.ts";
import { Db } from "./db.ts";
import { acquire, activeHolder, currentProcess, type LeaseHolder, release } from "./lease.ts";
import { OutputFiles, readOutput } from "./outputs/output-files.ts";
import { OutputTotal } from "./outputs/output-total.ts";
import { type OutputBounds, outputBounds, StoredOutput } from "./outputs/outputs.ts";
import { description, saveDescription, sessionStamp } from "./search/descriptions.ts";
import { search } from "./search/search.ts";
import { recordShownHits, shownHits } from "./search/shown-hits.ts";
import { asks, closeAsk, findAsk, openAsk } from "./control/asks.ts";
import { events } from "./tables/events.ts";
import { importedSession, importNodes, importOutput, importSession, storedNodes } from "./tables/imports.ts";
import { dropInput, queue, queueInput, takeInputs } from "./control/inputs.ts";
import { children, findNode, node, path, sessionNodes, sessionNodesFrom, sessionPath, sessionPathEnd, treeNodes } from "./tables/nodes.ts";
import { findPendingTurn, pendingTurns, queueTurn, setPendingProblem, stopContinuing, withdrawTurn } from "./control/pending-turns.ts";
import { interruptedSession, listTurns, setState } from "./tables/running-turns.ts";
import { sessionView } from "./tables/session-view.ts";
import { latestPrompts, prompts } from "./tables/prompts.ts";
import { createSession, findSession, forkSession, listSessions, requireSession, session, updateSession } from "./tables/sessions.ts";
import { usage, usageSeries } from "./tables/spending.ts";
import { latestTurnsBy, subSessions } from "./tables/sub-sessions.ts";
import { fileStates, projectRecords, saveCallFiles, saveTurnFiles, turnFiles, turnRecords } from "./tables/turn-files.ts";
import { drafts, openTurns, turn, turnsOf } from "./tables/turns.ts";
import {
  addWorktree,
  listWorktrees,
  removeWorktree,
  updateWorktree,
  worktree,
  worktreeAt,
  worktreeSessions,
} from "./worktrees/worktrees.ts";
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
const turnWrites = { startTurn, recordNativeId, appendNode, endTurn, saveDraft, saveTurnFiles, saveCallFiles, setState };
const controlWrites = { openAsk, closeAsk, queueInput, dropInput, takeInputs };
const pendingFunctions = { queueTurn, findPendingTurn, withdrawTurn, stopContinuing, setPendingProblem };
const importFunctions = { importSession, importedSession, storedNodes, importNodes };
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
const searchFunctions = { search, shownHits, recordShownHits, sessionStamp, description, saveDescription };

export async function openStore(options: StoreOptions): Promise<Store> {
  const db = await Db.open(options.path, options.lockLimitMs);
  const files = new OutputFiles(options.outputsDir);
  const bounds: OutputBounds = { ...outputBounds, ...options.bounds };
  const leases = new Set<Lease>();
  let cachedSelf: LeaseHolder | null = null;
  const self = () => (cachedSelf ??= { ...currentProcess(), ...options.holder, socket: options.socket?.() ?? null });
  const total = new OutputTotal({ db, files, self, directory: options.outputsDir, maxBytes: bounds.totalBytes });
  return {
    ...db.bind({ ...sessionFunctions, ...turnWrites, ...controlWrites, ...pendingFunctions, ...importFunctions, ...worktreeFunctions }),
    ...db.bind({ ...nodeReads, ...turnReads, ...fileReads, ...searchFunctions }),
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
      sessionView: (_, id: string) => sessionView(db, self(), id),
      pendingTurns: (_, session: string | null) => pendingTurns(db, self(), session),
      interruptedSession: (_, project: string) => interruptedSession(db, self(), project),
      listTurns: (_, endedSince: number | null) => listTurns(db, self(), endedSince),
      latestTurnsBy: (_, ...params: Parameters<Store["latestTurnsBy"]>) => latestTurnsBy(db, self(), ...params),
      importOutput: (_, ...params: Parameters<Store["importOutput"]>) => importOutput(db, files, ...params),
      readOutput: (_, identifier: string) => readOutput(db, files, identifier),
      // Both are loaded at their first call, because a run needs neither.
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
