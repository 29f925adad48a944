// File changes that a branch did not make, with the sessions that made them.
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { OtherChange } from "../../protocol/tree/file-changes.ts";
import type { Store } from "../../store/store.ts";
import { joinChanges, type CreditedChange } from "./file-history.ts";

export async function describeOthers(
  store: Store,
  snapshots: Snapshots,
  project: string,
  changes: readonly CreditedChange[],
): Promise<OtherChange[]> {
  if (changes.length === 0) return [];
  const credits = await creditsOf(store, changes);
  const described = await snapshots.describe(project, joinChanges(changes));
  return described.changes.map((change) => ({ ...change, ...credits.get(change.path)! }));
}

export type Credit = Pick<OtherChange, "by" | "unclear">;

/** The writers of each changed path. */
export async function creditsOf(store: Store, changes: readonly CreditedChange[]): Promise<Map<string, Credit>> {
  const credits = new Map<string, Credit>();
  for (const [bytes, group] of Map.groupBy(changes, ({ path }) => path)) {
    const sessions = new Set(group.flatMap(({ writers }) => (writers.length === 0 ? [null] : writers.map(({ session }) => session))));
    const by = await Promise.all([...sessions].map((session) => (session === null ? null : sessionName(store, session))));
    const isUnclear = group.some(({ writers, isUncertain }) => writers.length > 1 || isUncertain);
    credits.set(Buffer.from(bytes, "latin1").toString("utf8"), { by, unclear: isUnclear ? true : undefined });
  }
  return credits;
}

/** A purged session has no name any more. */
async function sessionName(store: Store, id: string): Promise<{ id: string; name: string | null }> {
  return { id, name: (await store.session(id))?.name ?? null };
}
