// The recorded changes of one project's files, by path, for blame. Loaded once for each project that a file came from.
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { FileVersion } from "../../protocol/tree/file-changes.ts";
import type { Store } from "../../store/store.ts";
import { fileHistory, type CreditedChange } from "../files/file-history.ts";

export type ProjectHistory = {
  project: string;
  /** Later changes are not in it. */
  until: number;
  /** The changes of each path, in order of time. */
  byPath: ReadonlyMap<string, readonly CreditedChange[]>;
  /** All changes between two states, by `CreditedChange.span`. */
  bySpan: ReadonlyMap<number, readonly CreditedChange[]>;
};

/** `end` is the state at the time `to`, if it is known. */
export async function loadHistory(
  store: Store,
  snapshots: Snapshots,
  window: { project: string; to: number; end: string | null },
): Promise<ProjectHistory> {
  const { project, to, end } = window;
  const changes = await fileHistory(store, snapshots, { project, from: 0, to, end });
  return {
    project,
    until: to,
    byPath: Map.groupBy(changes, ({ path }) => path),
    bySpan: Map.groupBy(changes, ({ span }) => span),
  };
}

/** A step of a file's past: a change, and the path and version that it changed. */
export type Step = { change: CreditedChange; from: { path: string; version: FileVersion } };

type Origin = Step["from"];

/** The steps of a file before the span, in order of time. `findOrigin` returns the file that was renamed to this one. */
export async function stepsOf(
  history: ProjectHistory,
  file: { path: string; beforeSpan: number },
  findOrigin: (change: CreditedChange) => Promise<Origin | null>,
): Promise<Step[]> {
  const steps: Step[] = [];
  let { path, beforeSpan } = file;
  for (;;) {
    const change = lastChange(history, path, beforeSpan);
    if (change === undefined) return steps.toReversed();
    const origin = change.after === null ? null : await findOrigin(change);
    const from = origin ?? { path, version: change.before };
    steps.push({ change, from });
    path = from.path;
    beforeSpan = change.span;
  }
}

/** The last change of a path before the span. */
function lastChange({ byPath }: ProjectHistory, path: string, beforeSpan: number): CreditedChange | undefined {
  return byPath.get(path)?.findLast(({ span }) => span < beforeSpan);
}

/** The id of a version's content, without its mode. */
export function idOf(version: FileVersion): string | null {
  return version === null ? null : version.slice(version.indexOf(" ") + 1);
}
