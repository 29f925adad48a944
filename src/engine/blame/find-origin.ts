// Finds the file that was renamed to another: one that the same change removed, with the same or similar content. A renamed
// file may replace an existing one; then it must be more similar than the replaced one.
import { basename } from "node:path";
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { FileVersion } from "../../protocol/tree/file-changes.ts";
import type { CreditedChange } from "../files/file-history.ts";
import { countWordCharacters } from "./line-text.ts";
import { idOf, type ProjectHistory } from "./project-history.ts";

/** The share of equal lines from which a removed file counts as the origin. */
const minSimilarity = 0.5;
/** Removed files that are compared with the new one. */
const maxCompared = 50;

export async function findOrigin(
  snapshots: Snapshots,
  { project, bySpan }: ProjectHistory,
  change: CreditedChange,
): Promise<{ path: string; version: FileVersion } | null> {
  const name = basename(change.path);
  const removed = (bySpan.get(change.span) ?? [])
    .filter(({ before, after }) => before !== null && after === null)
    .toSorted((a, b) => Number(basename(b.path) === name) - Number(basename(a.path) === name));
  const same = removed.find(({ before }) => idOf(before) === idOf(change.after));
  if (same !== undefined) return { path: same.path, version: same.before };
  if (removed.length === 0) return null;
  const compared = removed.slice(0, maxCompared);
  const versions = [change.after, change.before, ...compared.map(({ before }) => before)];
  const [added = null, ...contents] = await snapshots.contents(project, versions);
  const [ownScore = 0, ...scores] = contents.map((content) => (added === null || content === null ? 0 : similarity(added, content)));
  const best = scores.indexOf(Math.max(...scores));
  return scores[best]! < minSimilarity || scores[best]! <= ownScore
    ? null
    : { path: compared[best]!.path, version: compared[best]!.before };
}

/** The share of lines that both have, of the longer one. Lines without a letter or digit do not count. */
function similarity(a: Buffer, b: Buffer): number {
  const [linesA, linesB] = [wordLines(a), wordLines(b)];
  const counts = new Map<string, number>();
  for (const line of linesA) counts.set(line, (counts.get(line) ?? 0) + 1);
  let common = 0;
  for (const line of linesB) {
    const left = counts.get(line) ?? 0;
    if (left === 0) continue;
    counts.set(line, left - 1);
    common += 1;
  }
  return common / Math.max(linesA.length, linesB.length, 1);
}

function wordLines(content: Buffer): string[] {
  return content
    .toString("latin1")
    .split("\n")
    .filter((line) => countWordCharacters(line) > 0);
}
