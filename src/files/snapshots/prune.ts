// Removes old objects of a shadow repository that no recorded state needs: those of purged sessions, and of states that
// were taken and never recorded. An object that was written or used again lately always stays.
import { existsSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { runGit, type ShadowRepository } from "../git.ts";

/** Another process may hold a younger object in memory without having recorded it. */
const minAgeMs = 7 * 86_400_000;
const dayMs = 86_400_000;

export type PruneOptions = {
  /** Ids of all recorded states of the project. */
  keep: readonly string[];
  olderThanMs: number;
  /** Does nothing if the repository was pruned in the last 24 hours. */
  isDaily: boolean;
};

export async function pruneObjects(shadow: ShadowRepository, { keep, olderThanMs, isDaily }: PruneOptions): Promise<void> {
  if (!existsSync(join(shadow.dir, "HEAD")) || !existsSync(shadow.project)) return;
  const stamp = join(shadow.dir, "pruned");
  const prunedAt = statSync(stamp, { throwIfNoEntry: false })?.mtimeMs ?? 0;
  if (isDaily && Date.now() - prunedAt < dayMs) return;
  // Written first: a removal that is killed each time must not delay every run of the day.
  writeFileSync(stamp, "");
  // These files name trees without recording them. git takes the next snapshot instead.
  for (const name of ["tree", "kept-tree.json"]) rmSync(join(shadow.dir, name), { force: true });
  const refs = join(shadow.dir, "packed-refs");
  const ids = await storedIds(shadow, keep);
  writeFileSync(refs, ids.map((id) => `${id} refs/keep/${id}\n`).join(""));
  try {
    const before = Math.floor((Date.now() - Math.max(olderThanMs, minAgeMs)) / 1000);
    await runGit(shadow, ["prune", `--expire=@${before}`]);
  } finally {
    rmSync(refs, { force: true });
  }
}

/** git would fail for an id that is no longer stored. */
async function storedIds(shadow: ShadowRepository, ids: readonly string[]): Promise<string[]> {
  const wanted = [...new Set(ids)].filter((id) => /^[0-9a-f]{40}$/.test(id)).toSorted();
  if (wanted.length === 0) return [];
  const stdin = Buffer.from(wanted.map((id) => `${id}\n`).join(""));
  const lines = (await runGit(shadow, ["cat-file", "--batch-check=%(objectname) %(objecttype)"], { stdin })).toString().split("\n");
  return lines.filter((line) => line.endsWith(" tree")).map((line) => line.slice(0, 40));
}
