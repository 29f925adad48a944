// Snapshots of projects' files, as a port for the engine. One snapshot of a project runs at a time, and all requests
// during it share the next one: a hundred sub-sessions that start together cost two snapshots.
import { messageOf } from "../../protocol/api/error.ts";
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { FileState } from "../../protocol/tree/file-changes.ts";
import { yieldToEventLoop } from "../../kit/flow/time-slice.ts";
import { describeEntries } from "./describe-entries.ts";
import { diffTrees, entriesBetween, patchBetween } from "./snapshot-diff.ts";
import type { ShadowRepository } from "../git.ts";
import { KeptTree, OutdatedError } from "./kept-tree.ts";
import { readKeptTree, writeKeptTree } from "./kept-tree-file.ts";
import { findStored, loadKeptTree } from "./load-kept-tree.ts";
import { pruneObjects } from "./prune.ts";
import { findTree, inExistingDirectory, readContents, versionInTree } from "./read-contents.ts";
import { planRestore, replaceEntries, restoreTree } from "./restore.ts";
import { shadowRepository, type ShadowLocation } from "./shadow.ts";
import { excludesOf, takeSnapshot } from "./take-snapshot.ts";

export type SnapshotsOptions = ShadowLocation & {
  /** Directories that are too big for snapshots, such as the home directory. */
  tooBig: readonly string[];
  /** Absolute paths that are never stored: directories of skein, and secrets that tools can't read. */
  leaveOut: readonly string[];
  warn: (message: string) => void;
};

export function createSnapshots(options: SnapshotsOptions): Snapshots {
  const warned = new Set<string>();
  const innerRepositories = new Map<string, string[]>();
  const shadow = (project: string) => shadowRepository(options, project);

  const memory = createTreeMemory((project) => {
    const stored = readStored(shadow(project), options.leaveOut);
    if (stored !== null) innerRepositories.set(project, stored.innerRepositories);
    return stored?.tree ?? null;
  });

  /** git takes the snapshot and updates the shadow's index. */
  async function takeWithGit(project: string): Promise<string> {
    const areRulesChanged = memory.forget(project);
    const signal = AbortSignal.timeout(maxSnapshotMs);
    const snapshot = await takeSnapshot(shadow(project), { leaveOut: options.leaveOut, areRulesChanged, signal });
    innerRepositories.set(project, snapshot.innerRepositories);
    memory.load(project, loadKeptTree(shadow(project), snapshot));
    return snapshot.tree;
  }

  async function read(project: string): Promise<FileState> {
    if (options.tooBig.includes(project)) return unknownState;
    try {
      return (await memory.read(project)) ?? { id: await takeWithGit(project), stored: null };
    } catch (error) {
      if (!warned.has(project)) options.warn(`the files of ${project} are not recorded: ${messageOf(error)}`);
      warned.add(project);
      return unknownState;
    }
  }

  const queue = createSnapshotQueue(read);
  return {
    take: (project) => queue.take(project),
    read: (project, withinMs = 0) => queue.next(project, withinMs).state,
    isFast: async (project) => memory.has(project),
    async save(project) {
      const tree = await memory.get(project);
      if (tree?.isChanged && tryToWrite(tree))
        storeTree(shadow(project), tree, { leaveOut: options.leaveOut, inner: innerRepositories.get(project) ?? [] });
    },
    find: async (project, id) => findTree(shadow(project), id),
    changes: async (project, from, to) => diffTrees(shadow(project), from, to),
    patch: async (project, from, to) => patchBetween(shadow(project), from, to),
    entries: async (project, pairs) => entriesBetween(inExistingDirectory(shadow(project)), pairs),
    contents: async (project, versions) => readContents(inExistingDirectory(shadow(project)), versions),
    versionOf: async (project, state, path) => versionInTree(inExistingDirectory(shadow(project)), state, path),
    describe: async (project, changes) => describeEntries(shadow(project), changes),
    replace: async (project, base, files) => replaceEntries(shadow(project), base, files),
    async planRestore(project, now, target) {
      await takeWithGit(project);
      return planRestore(shadow(project), now, target);
    },
    async prune(project, prune) {
      await queue.settle(project);
      memory.forget(project);
      await pruneObjects(shadow(project), prune);
    },
    innerRepositories: async (project) => innerRepositories.get(project) ?? [],
    async restore(project, now, to) {
      await takeWithGit(project);
      return restoreTree(shadow(project), now, to);
    },
  };
}

/** `begin` starts it, if no other snapshot of the project runs. `taken` is shared by all who wait until it is stored. */
type WaitingSnapshot = { state: Promise<FileState>; begin: () => void; taken: Promise<string | null> | null };

/** All requests during a snapshot share the next one. It begins with the first of them that can't wait. */
function createSnapshotQueue(read: (project: string) => Promise<FileState>) {
  const running = new Map<string, Promise<unknown>>();
  const waiting = new Map<string, WaitingSnapshot>();
  function next(project: string, withinMs: number): WaitingSnapshot {
    const snapshot = waiting.get(project) ?? addWaiting(project);
    if (withinMs === 0) snapshot.begin();
    else setTimeout(snapshot.begin, withinMs);
    return snapshot;
  }
  function addWaiting(project: string): WaitingSnapshot {
    const { promise: due, resolve: begin } = Promise.withResolvers<void>();
    const state = Promise.all([running.get(project), due]).then(() => {
      waiting.delete(project);
      return read(project);
    });
    const snapshot = { state, begin, taken: null };
    waiting.set(project, snapshot);
    running.set(project, state);
    return snapshot;
  }
  async function idWhenStored(project: string, { id, stored }: FileState): Promise<string | null> {
    // git reports why nothing can be stored.
    return (await stored) === false ? (await next(project, 0).state).id : id;
  }
  return {
    next,
    take(project: string): Promise<string | null> {
      const snapshot = next(project, 0);
      return (snapshot.taken ??= snapshot.state.then((state) => idWhenStored(project, state)));
    },
    settle: async (project: string) => void (await running.get(project)),
  };
}

const unknownState: FileState = { id: null, stored: null };

/** The tree that an earlier process stored; null if there is none for these rules. */
function readStored(shadow: ShadowRepository, leaveOut: readonly string[]): { tree: KeptTree; innerRepositories: string[] } | null {
  const excludes = excludesOf(shadow.project, leaveOut);
  const stored = process.platform === "linux" ? readKeptTree(shadow, excludes) : null;
  if (stored === null) return null;
  const tree = new KeptTree(shadow, stored, { excludes, findStored: (paths) => findStored(shadow, excludes, paths) });
  tree.isChanged = false;
  return { tree, innerRepositories: stored.innerRepositories };
}

function storeTree(shadow: ShadowRepository, tree: KeptTree, { leaveOut, inner }: { leaveOut: readonly string[]; inner: string[] }): void {
  try {
    writeKeptTree(shadow, tree.content, { excludes: excludesOf(shadow.project, leaveOut), innerRepositories: inner });
    tree.isChanged = false;
  } catch {
    // Without the file git takes the first snapshot of the next process, which only costs time.
  }
}

/** False if the objects can't be written, for example because the disk is full. */
function tryToWrite(tree: KeptTree | undefined): boolean {
  try {
    tree?.writeObjects();
    return true;
  } catch {
    return false;
  }
}

/** Projects whose files stay in memory. One process works in few projects at a time. */
const maxKeptTrees = 4;

/** A turn waits at most this long for a snapshot. */
const maxSnapshotMs = 30_000;

/** The last snapshots of some projects, in memory. `readStored` returns the one that an earlier process stored. */
function createTreeMemory(readStored: (project: string) => KeptTree | null) {
  const kept = new Map<string, KeptTree>();
  const loading = new Map<string, Promise<KeptTree | null>>();
  const known = new Set<string>();
  /** Writes when all is done that waits for the state: usually, when a command has been started. */
  async function writeSoon(project: string, tree: KeptTree): Promise<boolean> {
    await yieldToEventLoop();
    const isWritten = tryToWrite(tree);
    if (!isWritten && kept.get(project) === tree) kept.delete(project);
    return isWritten;
  }
  return {
    get: async (project: string): Promise<KeptTree | null> => (await loading.get(project)) ?? kept.get(project) ?? null,
    has: (project: string): boolean => kept.has(project) || loading.has(project),
    forget(project: string): boolean {
      tryToWrite(kept.get(project));
      return kept.delete(project);
    },
    load(project: string, tree: Promise<KeptTree | null>): void {
      // Without it git takes the next snapshot too, which only costs time.
      loading.set(
        project,
        tree.catch(() => null),
      );
    },
    /** Returns null if git must take the snapshot. */
    async read(project: string): Promise<FileState | null> {
      const loaded = await loading.get(project);
      loading.delete(project);
      const added = loaded ?? (known.has(project) ? null : readStored(project));
      known.add(project);
      if (added !== null) kept.set(project, added); // a Map is in order of insertion: the latest is last
      for (const oldest of [...kept.keys()].slice(0, -maxKeptTrees)) this.forget(oldest);
      const tree = kept.get(project);
      if (tree === undefined) return null;
      try {
        const id = await tree.read();
        return { id, stored: tree.isWritten ? null : writeSoon(project, tree) };
      } catch (error) {
        // git skips files that it can't read, and reports other problems better.
        if (error instanceof OutdatedError || (error instanceof Error && "code" in error)) return null;
        throw error;
      }
    },
  };
}
