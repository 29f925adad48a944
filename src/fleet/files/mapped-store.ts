// The shared store as one machine sees it: paths of sessions are mapped in both directions. It also reports the recorded
// states of a session's files, before the store has them, so that a checkpoint is never older than the conversation says.
import type { CallFiles, FileRecord, TurnFiles } from "../../protocol/tree/file-changes.ts";
import type { NewNode } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Lease, RecordsOfNode, Store } from "../../store/store.ts";
import type { PathMap } from "./fleet-paths.ts";

export type FileStateHooks = {
  /** Called after calls that changed files. Must not throw and not wait. */
  onState: (lease: Lease, project: string, tree: string) => void;
  /** Called at the end of a turn. Resolves when the state is stored for other machines. */
  onEnd: (lease: Lease, project: string, tree: string) => Promise<void>;
};

/** `create` gives the place of a new session without a parent; null keeps the one that it has. */
export type MappedStoreOptions = {
  paths: PathMap;
  hooks: FileStateHooks | null;
  create: ((session: { id: string; directory: string; project: string }) => { directory: string; project: string }) | null;
};

export function mapStore(store: Store, { paths, hooks, create }: MappedStoreOptions): Store {
  const { toLocal, toShared } = paths;
  const local = <S extends Pick<Session, "directory" | "project">>(session: S): S => ({
    ...session,
    directory: toLocal(session.directory),
    project: toLocal(session.project),
  });
  const shared = <S extends Pick<Session, "directory" | "project">>(session: S): S => ({
    ...session,
    directory: toShared(session.directory),
    project: toShared(session.project),
  });
  const localOrNull = (session: Session | null): Session | null => (session === null ? null : local(session));
  const filterOf = <F extends { project?: string | null }>(filter: F): F =>
    filter.project == null ? filter : { ...filter, project: toShared(filter.project) };
  return {
    ...store,
    async createSession(session) {
      if (create === null || session.parentSession !== null) return local(await store.createSession(shared(session)));
      const id = session.id ?? Bun.randomUUIDv7();
      return local(await store.createSession({ ...session, id, ...create({ ...session, id }) }));
    },
    session: async (id) => localOrNull(await store.session(id)),
    requireSession: async (id) => local(await store.requireSession(id)),
    findSession: async (name, project) => local(await store.findSession(name, project === null ? null : toShared(project))),
    listSessions: async (filter) => (await store.listSessions(filterOf(filter))).map(local),
    updateSession: async (id, change) => local(await store.updateSession(id, change)),
    interruptedSession: async (project) => localOrNull(await store.interruptedSession(toShared(project))),
    forkSession: async (from, node, { place, ...fork }) =>
      local(await store.forkSession(from, node, place === undefined ? fork : { ...fork, place: shared(place) })),
    async sessionView(id) {
      const view = await store.sessionView(id);
      return { ...view, session: local(view.session) };
    },
    importSession: async (session, tree) => local(await store.importSession(shared(session), tree)),
    importedSession: async (agent, nativeId) => localOrNull(await store.importedSession(agent, nativeId)),
    worktreeSessions: async (key) => (await store.worktreeSessions(key)).map(local),
    listTurns: async (endedSince) => (await store.listTurns(endedSince)).map((turn) => ({ ...turn, session: local(turn.session) })),
    latestTurnsBy: async (agent, filter) =>
      (await store.latestTurnsBy(agent, filterOf(filter))).map((turn) => ({ ...turn, session: local(turn.session) })),
    search: (query, filter) => store.search(query, filterOf(filter)),
    usage: (by, project) => store.usage(by, project === null ? null : toShared(project)),
    ...mapFileRecords(store, paths, hooks),
  };
}

function mapFileRecords(store: Store, { toLocal, toShared }: PathMap, hooks: FileStateHooks | null) {
  const localRecord = (record: FileRecord): FileRecord => ({
    ...record,
    project: toLocal(record.project),
    paths: record.paths?.map(toLocal) ?? null,
  });
  const shareRecords = (lease: Lease, records: CallFiles[]): CallFiles[] => {
    for (const { project, after } of records) if (after !== null) hooks?.onState(lease, project, after);
    return records.map((record) => ({ ...record, project: toShared(record.project), paths: record.paths?.map(toShared) ?? null }));
  };
  return {
    async saveTurnFiles(lease: Lease, turn: string, files: TurnFiles) {
      if (files.after !== null) await hooks?.onEnd(lease, files.project, files.after);
      else hooks?.onState(lease, files.project, files.before);
      await store.saveTurnFiles(lease, turn, { ...files, project: toShared(files.project) });
    },
    saveCallFiles: (lease: Lease, turn: string, ...records: CallFiles[]) =>
      store.saveCallFiles(lease, turn, ...shareRecords(lease, records)),
    appendNode: (lease: Lease, turn: string | null, node: NewNode, files?: RecordsOfNode) =>
      store.appendNode(lease, turn, node, files && ((id) => shareRecords(lease, files(id)))),
    async turnFiles(turns: string[]) {
      const files = await store.turnFiles(turns);
      return new Map([...files].map(([turn, entry]) => [turn, { ...entry, project: toLocal(entry.project) }]));
    },
    turnRecords: async (turns: string[]) => (await store.turnRecords(turns)).map(localRecord),
    projectRecords: async (project: string, window: { from: number; to: number }) =>
      (await store.projectRecords(toShared(project), window)).map(localRecord),
    fileStates: (project: string) => store.fileStates(toShared(project)),
  } satisfies Partial<Store>;
}
