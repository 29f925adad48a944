// A unified diff as rows for the page. Loads the parser with the view.
import { parsePatch } from "diff/lib/patch/parse.js";

export type DiffRow =
  | { kind: "hunk"; text: string }
  | { kind: "same" | "added" | "removed"; oldLine: number | null; newLine: number | null; text: string };

export type PatchFile = { path: string; rows: DiffRow[] };

/**
 * Files of a patch that has hunks. Binary files have none. A very long patch is cut in the middle of a file: that file is left
 * out, with any other that can't be parsed.
 */
export function patchFiles(patch: string): PatchFile[] {
  return patch
    .split(/^(?=diff --git )/m)
    .flatMap(parseFile)
    .filter(({ hunks }) => hunks.length > 0)
    .map(({ oldFileName, newFileName, hunks }) => ({
      path: plainName(newFileName === "/dev/null" ? oldFileName : newFileName),
      rows: hunks.flatMap(({ oldStart, newStart, oldLines, newLines, lines }) => [
        { kind: "hunk" as const, text: `lines ${newStart} to ${newStart + Math.max(newLines, 1) - 1}` },
        ...rowsOf(lines, { oldLine: oldLines === 0 ? oldStart + 1 : oldStart, newLine: newLines === 0 ? newStart + 1 : newStart }),
      ]),
    }));
}

function parseFile(section: string): ReturnType<typeof parsePatch> {
  try {
    return parsePatch(section);
  } catch {
    return [];
  }
}

function rowsOf(lines: readonly string[], start: { oldLine: number; newLine: number }): DiffRow[] {
  let { oldLine, newLine } = start;
  const rows: DiffRow[] = [];
  for (const line of lines) {
    const text = line.slice(1);
    if (line.startsWith("+")) rows.push({ kind: "added", oldLine: null, newLine: newLine++, text });
    else if (line.startsWith("-")) rows.push({ kind: "removed", oldLine: oldLine++, newLine: null, text });
    else if (!line.startsWith("\\")) rows.push({ kind: "same", oldLine: oldLine++, newLine: newLine++, text });
  }
  return rows;
}

function plainName(name: string | undefined): string {
  return (name ?? "").replace(/^[ab]\//, "");
}

/** Pairs of rows for two columns: removed lines stand beside the added lines that follow them. */
export function sideBySide(rows: readonly DiffRow[]): [old: DiffRow | null, fresh: DiffRow | null][] {
  const pairs: [DiffRow | null, DiffRow | null][] = [];
  for (let index = 0; index < rows.length;) {
    const row = rows[index]!;
    if (row.kind === "hunk" || row.kind === "same") {
      pairs.push([row, row]);
      index++;
      continue;
    }
    const removed = takeWhile(rows, index, "removed");
    const added = takeWhile(rows, index + removed.length, "added");
    for (let each = 0; each < Math.max(removed.length, added.length); each++) pairs.push([removed[each] ?? null, added[each] ?? null]);
    index += removed.length + added.length;
  }
  return pairs;
}

function takeWhile(rows: readonly DiffRow[], from: number, kind: DiffRow["kind"]): DiffRow[] {
  let end = from;
  while (rows[end]?.kind === kind) end++;
  return rows.slice(from, end);
}
