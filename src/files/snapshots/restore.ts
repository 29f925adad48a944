// Restores files of a snapshot. Never changes files that no snapshot has: ignored ones, big ones, other repositories.
import { existsSync, lstatSync, renameSync, rmSync } from "node:fs";
import { join } from "node:path";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { FileVersion } from "../../protocol/tree/file-changes.ts";
import { bigFileMode } from "./big-files.ts";
import { rawChanges, type RawChange } from "./snapshot-diff.ts";
import { absoluteBytes, readablePath, runGit, splitAtNul, type ShadowRepository } from "../git.ts";
import { copyIndex } from "./take-snapshot.ts";

/** Longer than the steps of a file's time, 10 ms at most. */
const fileTimeTickMs = 20;

export type RestorePlan = {
  /** The tree that can be restored from `now`. */
  to: string;
  /** Paths that stay as they are: they block a file of the snapshot, or are too big to be stored. */
  kept: string[];
};

export async function planRestore(shadow: ShadowRepository, now: string, target: string): Promise<RestorePlan> {
  const { raw } = await rawChanges(shadow, now, target, false);
  const deleted = new Set(raw.flatMap((change) => (change.kind === "deleted" ? [change.path] : [])));
  const kept: RawChange[] = [];
  for (const change of raw) {
    const isBig = change.before.mode === bigFileMode || change.after.mode === bigFileMode;
    if (isBig || (change.kind === "added" && (await isBlocked(shadow, change.path, deleted)))) kept.push(change);
  }
  if (kept.length === 0) return { to: target, kept: [] };
  const unchanged = kept.map(({ path, before }) => [path, before.mode === "000000" ? null : `${before.mode} ${before.id}`] as const);
  return { to: await replaceEntries(shadow, target, new Map(unchanged)), kept: kept.map((change) => readablePath(change.path)) };
}

/** The tree `base` with other versions of some files. Null removes the file. */
export async function replaceEntries(shadow: ShadowRepository, base: string, files: ReadonlyMap<string, FileVersion>): Promise<string> {
  const index = join(shadow.dir, `restore.${process.pid}`);
  const lines = [...files].map(([path, version]) => `${version ?? `0 ${"0".repeat(40)}`}\t${path}\0`);
  try {
    await runGit(shadow, ["read-tree", base], { index });
    await runGit(shadow, ["update-index", "-z", "--add", "--replace", "--index-info"], {
      index,
      stdin: Buffer.from(lines.join(""), "latin1"),
    });
    return (await runGit(shadow, ["write-tree"], { index })).toString().trim();
  } finally {
    rmSync(index, { force: true });
    rmSync(`${index}.lock`, { force: true });
  }
}

/** Changes the files from snapshot `now`, taken just before, to `to`. git refuses if a file changed meanwhile. */
export async function restoreTree(shadow: ShadowRepository, now: string, to: string): Promise<void> {
  const shared = join(shadow.dir, "index");
  const index = join(shadow.dir, `index.${process.pid}.restore`);
  try {
    if (existsSync(shared)) copyIndex(shared, index);
    await updateFiles(shadow, { index, now, to });
    renameSync(index, shared);
  } catch (error) {
    throw new Fault("file-unwritable", `the files could not be restored: ${messageOf(error)}`, { cause: error });
  } finally {
    rmSync(index, { force: true });
    rmSync(`${index}.lock`, { force: true });
  }
}

type FileUpdate = { index: string; now: string; to: string };

/**
 * git refuses a file that was changed in the same tick as its index, because the times can't tell whether its content is known.
 * Then the index is made again in a later tick, from the content of all files, which also finds a file that really changed.
 */
async function updateFiles(shadow: ShadowRepository, { index, now, to }: FileUpdate): Promise<void> {
  const update = () => runGit(shadow, ["read-tree", "-m", "-u", now, to], { index, access: "write" });
  try {
    await update();
  } catch (error) {
    if (!messageOf(error).includes("not uptodate")) throw error;
    await Bun.sleep(fileTimeTickMs);
    rmSync(index, { force: true });
    await runGit(shadow, ["read-tree", now], { index });
    await runGit(shadow, ["update-index", "-q", "--refresh"], { index });
    await update();
  }
}

/** Whether a path that no snapshot has is in the place of the file or of one of its directories. */
async function isBlocked(shadow: ShadowRepository, path: string, deleted: Set<string>): Promise<boolean> {
  const names = path.split("/");
  for (let depth = 1; depth <= names.length; depth++) {
    const prefix = names.slice(0, depth).join("/");
    const stat = lstatSync(absoluteBytes(shadow, prefix), { throwIfNoEntry: false });
    if (stat === undefined) return false;
    if (!stat.isDirectory()) return !deleted.has(prefix);
    if (depth === names.length) return hasUnrecorded(shadow, prefix);
  }
  return false;
}

async function hasUnrecorded(shadow: ShadowRepository, directory: string): Promise<boolean> {
  const others = splitAtNul(await runGit(shadow, ["ls-files", "-o", "-z", "--directory"]));
  return others.some((path) => path.startsWith(`${directory}/`));
}
