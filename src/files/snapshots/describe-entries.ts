// Counts the lines of given changes and prints them as one diff. The changes need not be those between two snapshots: the
// changes of one branch alone are a selection from many. Two trees with only these files are made for it.
import { rmSync } from "node:fs";
import { join } from "node:path";
import type { EntryChange, FileChange, FileVersion } from "../../protocol/tree/file-changes.ts";
import { runGit, type ShadowRepository } from "../git.ts";
import { diffTrees, patchBetween } from "./snapshot-diff.ts";

type Described = { changes: FileChange[]; patch: string };

export async function describeEntries(shadow: ShadowRepository, changes: readonly EntryChange[]): Promise<Described> {
  const merged = new Map<string, FileChange>();
  let patch = "";
  for (const round of splitIntoRounds(changes)) {
    const from = await writeTree(
      shadow,
      round.map(({ path, before }) => [path, before]),
    );
    const to = await writeTree(
      shadow,
      round.map(({ path, after }) => [path, after]),
    );
    for (const change of await diffTrees(shadow, from, to)) merged.set(change.path, mergeChanges(merged.get(change.path), change));
    patch += await patchBetween(shadow, from, to);
  }
  return { changes: [...merged.values()].toSorted((a, b) => (a.path < b.path ? -1 : 1)), patch };
}

/** A tree has one version of a file, and no file in the place of a directory. Changes that need another tree come in the next round. */
function splitIntoRounds(changes: readonly EntryChange[]): EntryChange[][] {
  const rounds: { changes: EntryChange[]; paths: Set<string>; directories: Set<string> }[] = [];
  const lastRound = new Map<string, number>();
  for (const change of changes) {
    const parents = parentsOf(change.path);
    let number = (lastRound.get(change.path) ?? -1) + 1;
    while (rounds[number] !== undefined && isBlocked(rounds[number]!, change.path, parents)) number += 1;
    const round = (rounds[number] ??= { changes: [], paths: new Set(), directories: new Set() });
    round.changes.push(change);
    round.paths.add(change.path);
    for (const parent of parents) round.directories.add(parent);
    lastRound.set(change.path, number);
  }
  return rounds.map((round) => round.changes);
}

function isBlocked({ paths, directories }: { paths: Set<string>; directories: Set<string> }, path: string, parents: string[]): boolean {
  return directories.has(path) || parents.some((parent) => paths.has(parent));
}

function parentsOf(path: string): string[] {
  const names = path.split("/");
  return names.slice(1).map((_, index) => names.slice(0, index + 1).join("/"));
}

let count = 0;

async function writeTree(shadow: ShadowRepository, files: [path: string, version: FileVersion][]): Promise<string> {
  const index = join(shadow.dir, `index.${process.pid}.diff${++count}`);
  const stdin = Buffer.from(files.flatMap(([path, version]) => (version === null ? [] : [`${version}\t${path}\0`])).join(""), "latin1");
  try {
    await runGit(shadow, ["update-index", "-z", "--add", "--replace", "--index-info"], { index, stdin });
    return (await runGit(shadow, ["write-tree"], { index })).toString().trim();
  } finally {
    rmSync(index, { force: true });
    rmSync(`${index}.lock`, { force: true });
  }
}

/** Merges two changes of one file. A file that was added and then deleted counts as deleted. */
function mergeChanges(earlier: FileChange | undefined, change: FileChange): FileChange {
  if (earlier === undefined) return change;
  const kind = earlier.kind === "added" && change.kind === "modified" ? "added" : change.kind;
  return { ...change, kind, added: earlier.added + change.added, removed: earlier.removed + change.removed };
}
