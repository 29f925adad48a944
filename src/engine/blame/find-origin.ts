// Finds the file that was renamed to another: one whose content the same change removed, by removing or replacing the file,
// and that was the same or similar. A new file may be much longer or shorter than its origin, so it is compared by the lines
// of the shorter version. A renamed file may also replace an existing one, if it is more similar than that one.
import { basename } from "node:path";
import type { Snapshots } from "../../protocol/api/ports.ts";
import type { FileVersion } from "../../protocol/tree/file-changes.ts";
import type { CreditedChange } from "../files/file-history.ts";
import { countWordCharacters } from "./line-text.ts";
import { idOf, type ProjectHistory } from "./project-history.ts";

/** The share of equal lines from which a file counts as the same one. */
const minShare = 0.5;
/** Fewer letters and digits in the equal lines are a coincidence. */
const minCommonCharacters = 40;
/** Changed files that are compared with the new one. */
const maxCompared = 50;

type Origin = { path: string; version: FileVersion };

export async function findOrigin(
  snapshots: Snapshots,
  { project, bySpan, byPath }: ProjectHistory,
  change: CreditedChange,
): Promise<Origin | null> {
  if (change.before !== null && isRestored(byPath.get(change.path) ?? [], change)) return null;
  const name = basename(change.path);
  const others = (bySpan.get(change.span) ?? [])
    .filter(({ path, before, after }) => path !== change.path && before !== null && idOf(before) !== idOf(after))
    .toSorted((a, b) => rank(a, name) - rank(b, name));
  const same = others.find(({ before }) => idOf(before) === idOf(change.after));
  if (same !== undefined && (same.after === null || (await wasReplaced(snapshots, project, same))))
    return { path: same.path, version: same.before };
  // A file that stays is compared only with a new one: most changes change several files, and reading all of them is slow.
  const compared = others.filter(({ after }) => after === null || change.before === null).slice(0, maxCompared);
  const added = compared.length === 0 ? null : await readLines(snapshots, project, [change.after, change.before]);
  let best: { origin: Origin; likeness: Likeness } | null = null;
  for (const { path, before, after } of added === null ? [] : compared) {
    const [earlier = [], later = []] = await readLines(snapshots, project, [before, after]);
    const likeness = compareLines(added![0]!, earlier);
    const isGone = after === null || compareLines(earlier, later).ofLonger < minShare;
    if (isGone && likeness.ofLonger > (best?.likeness.ofLonger ?? 0)) best = { origin: { path, version: before }, likeness };
  }
  if (best === null || (best.likeness.characters < minCommonCharacters && best.likeness.ofLonger < minShare)) return null;
  const own = compareLines(added![0]!, added![1]!);
  const isOrigin =
    change.before === null
      ? best.likeness.ofShorter >= minShare
      : best.likeness.ofLonger >= minShare && best.likeness.ofLonger > own.ofLonger;
  return isOrigin ? best.origin : null;
}

/** The file stays, but with other content. One that only had a few letters, such as a brace, does not count. */
async function wasReplaced(snapshots: Snapshots, project: string, { before, after }: CreditedChange): Promise<boolean> {
  const [earlier = [], later = []] = await readLines(snapshots, project, [before, after]);
  const characters = earlier.reduce((sum, line) => sum + countWordCharacters(line), 0);
  return characters >= minCommonCharacters && compareLines(earlier, later).ofLonger < minShare;
}

/** A version that the path had before was restored, even if a removed file is similar to it. */
function isRestored(changes: readonly CreditedChange[], { span, after }: CreditedChange): boolean {
  return changes.some((earlier) => earlier.span < span && [idOf(earlier.before), idOf(earlier.after)].includes(idOf(after)));
}

/** Removed files come first, then files with the same name. */
function rank({ path, after }: CreditedChange, name: string): number {
  return (after === null ? 0 : 2) + (basename(path) === name ? 0 : 1);
}

async function readLines(snapshots: Snapshots, project: string, versions: readonly FileVersion[]): Promise<string[][]> {
  return (await snapshots.contents(project, versions)).map(wordLines);
}

/** The shares of the lines that both versions have, of the longer and of the shorter version, and their letters and digits. */
type Likeness = { ofLonger: number; ofShorter: number; characters: number };

/** Lines without a letter or digit do not count. */
function compareLines(linesA: readonly string[], linesB: readonly string[]): Likeness {
  const counts = new Map<string, number>();
  for (const line of linesA) counts.set(line, (counts.get(line) ?? 0) + 1);
  let [common, characters] = [0, 0];
  for (const line of linesB) {
    const left = counts.get(line) ?? 0;
    if (left === 0) continue;
    counts.set(line, left - 1);
    common += 1;
    characters += countWordCharacters(line);
  }
  const [shorter, longer] = [Math.min(linesA.length, linesB.length), Math.max(linesA.length, linesB.length)];
  return { ofLonger: common / Math.max(longer, 1), ofShorter: common / Math.max(shorter, 1), characters };
}

function wordLines(content: Buffer | null): string[] {
  if (content === null) return [];
  return content
    .toString("latin1")
    .split("\n")
    .filter((line) => countWordCharacters(line) > 0);
}
