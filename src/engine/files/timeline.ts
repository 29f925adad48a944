// The recorded states of a project in order of time, and the calls that ran between two of them. Pure.
// A change between two states was made by a call that ran then. If none ran, no agent made it.
import type { FileRecord } from "../../protocol/tree/file-changes.ts";

/** Two recorded states without another one between them. */
export type Span = {
  from: string;
  to: string;
  /** The time of `to`. */
  until: number;
  /** The calls that ran between the two states. */
  running: FileRecord[];
  /** Whether a call of a killed process ran. The end of that call is not recorded, so others may have made the changes. */
  hasLostCall: boolean;
};

/** A recorded state and its time. */
export type TimedState = { tree: string; at: number };

/** The states at the start and at the end of the time that is looked at; null if they are not known. */
export type Boundaries = { start: TimedState | null; end: TimedState | null };

type Moment = { at: number; order: number; kind: "start" | "end"; record: FileRecord | null; tree: string | null };

/** `records` are in order of their start. */
export function spansOf(records: readonly FileRecord[], { start, end }: Boundaries): Span[] {
  const spans: Span[] = [];
  const running = new Set<FileRecord>();
  /** Calls that ran at any time since the last known state. */
  let seen = new Set<FileRecord>();
  let last: string | null = null;
  const reach = (tree: string, until: number): void => {
    if (last !== null && last !== tree) {
      const hasLostCall = [...seen].some(({ endedAt }) => endedAt === null);
      spans.push({ from: last, to: tree, until, running: [...seen], hasLostCall });
    }
    last = tree;
    seen = new Set(running);
  };
  for (const { kind, record, tree, at } of momentsOf(records, { start, end })) {
    const isInside = (start === null || at >= start.at) && (end === null || at <= end.at);
    if (tree !== null && isInside) reach(tree, at);
    if (record === null) continue;
    if (kind === "start") {
      running.add(record);
      seen.add(record);
    } else {
      running.delete(record);
      if (tree !== null && isInside) seen.delete(record);
    }
  }
  return spans;
}

function momentsOf(records: readonly FileRecord[], { start, end }: Boundaries): Moment[] {
  const boundaries = [
    ...(start === null ? [] : [{ ...start, order: Number.NEGATIVE_INFINITY, kind: "start" as const, record: null }]),
    ...(end === null ? [] : [{ ...end, order: Number.POSITIVE_INFINITY, kind: "end" as const, record: null }]),
  ];
  const moments = records.flatMap((record, order): Moment[] => [
    { at: record.startedAt, order, kind: "start", record, tree: record.before },
    { at: record.endedAt ?? lostAt(records, order), order, kind: "end", record, tree: record.after },
  ]);
  return [...boundaries, ...moments].toSorted((a, b) => a.at - b.at || a.order - b.order || (a.kind === "start" ? -1 : 1));
}

/** A call without an end still runs, or its process was killed before the session's next call. */
function lostAt(records: readonly FileRecord[], order: number): number {
  const { session, turn } = records[order]!;
  return records.slice(order + 1).find((later) => later.session === session && later.turn !== turn)?.startedAt ?? Number.POSITIVE_INFINITY;
}

/**
 * The calls that can have made a change of `path`: none if no agent made it, several if the records can't tell.
 * `isBelow` says whether the first session was started by a turn of the second.
 */
export function writersOf(path: string, span: Span, isBelow: (session: string, parent: string) => boolean): FileRecord[] {
  const candidates = span.running.filter(({ paths }) => paths === null || paths.includes(path));
  const named = candidates.filter(({ paths }) => paths !== null);
  const narrowed = named.length > 0 ? named : candidates;
  return narrowed.filter(({ session }) => !narrowed.some((other) => other.session !== session && isBelow(other.session, session)));
}
