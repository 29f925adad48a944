// Finds the call that wrote each recorded change of a project's files, in order of time. Diffs, grafts and exports credit a
// branch with it. It reads recorded states only, never the project.
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { EntryChange, FileRecord } from "../../protocol/tree/file-changes.ts";
import type { Store } from "../../store/store.ts";
import { spansOf, writersOf } from "./timeline.ts";

export type CreditedChange = EntryChange & {
  /** Time of the first state with the change. */
  at: number;
  /** Counts the pairs of states in order of time. Changes of one pair have the same number. */
  span: number;
  /** The calls that can have made it. Empty: it was not made by an agent. Several: it is not known which of them. */
  writers: FileRecord[];
  /** The writers may be wrong, because a process was killed in one of these calls. */
  isUncertain: boolean;
};

/** `start` and `end` are the states at those times, if they are known. */
export type HistoryWindow = { project: string; from: number; to: number; start?: string | null; end?: string | null };

export async function fileHistory(store: Store, snapshots: Snapshots, window: HistoryWindow): Promise<CreditedChange[]> {
  const { project, from, to, start = null, end = null } = window;
  const records = await store.projectRecords(project, { from, to });
  const boundaries = {
    start: start === null ? null : { tree: start, at: from },
    end: end === null ? null : { tree: end, at: to },
  };
  const spans = spansOf(records, boundaries).filter(({ until }) => (start !== null || until > from) && until <= to);
  const isBelow = await readParents(
    store,
    spans.flatMap(({ running }) => (running.length > 1 ? running : [])),
  );
  const entries = await snapshots.entries(
    project,
    spans.map((span) => [span.from, span.to]),
  );
  return spans.flatMap((span, index) =>
    entries[index]!.map((change) => ({
      ...change,
      at: span.until,
      span: index,
      writers: writersOf(change.path, span, isBelow),
      isUncertain: span.hasLostCall,
    })),
  );
}

/** Reads the parents of the records' sessions, so that the work of a sub-session is not credited to the call that spawned it. */
async function readParents(store: Store, records: readonly FileRecord[]): Promise<(session: string, parent: string) => boolean> {
  const parents = new Map<string, string | null>();
  const pending = [...new Set(records.map(({ session }) => session))];
  for (let session = pending.pop(); session !== undefined; session = pending.pop()) {
    if (parents.has(session)) continue;
    const parent = (await store.session(session))?.parentSession ?? null;
    parents.set(session, parent);
    if (parent !== null) pending.push(parent);
  }
  return (session, ancestor) => {
    for (let parent = parents.get(session) ?? null; parent !== null; parent = parents.get(parent) ?? null)
      if (parent === ancestor) return true;
    return false;
  };
}

/** Joins changes of one path that follow each other. Drops those that end where they began. */
export function joinChanges(changes: readonly EntryChange[]): EntryChange[] {
  const joined: EntryChange[] = [];
  const latest = new Map<string, EntryChange>();
  for (const { path, before, after } of changes) {
    const earlier = latest.get(path);
    if (earlier !== undefined && earlier.after === before) {
      earlier.after = after;
      continue;
    }
    const change = { path, before, after };
    latest.set(path, change);
    joined.push(change);
  }
  return joined.filter(({ before, after }) => before !== after);
}
