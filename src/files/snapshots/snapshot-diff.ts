// Compares two snapshots: as a list of changes, and as a unified diff. Reads no file of the project.
import type { EntryChange, FileChange, FileVersion } from "../../protocol/tree/file-changes.ts";
import { bigFileMode } from "./big-files.ts";
import { readablePath, runGit, splitAtNul, type ShadowRepository } from "../git.ts";

export type RawChange = {
  /** Bytes as a latin1 string. */
  path: string;
  kind: FileChange["kind"];
  before: Entry;
  after: Entry;
};
type Entry = { mode: string; id: string };

export async function diffTrees(shadow: ShadowRepository, from: string, to: string): Promise<FileChange[]> {
  if (from === to) return [];
  const { raw, lines } = await rawChanges(shadow, from, to, true);
  return raw.map(({ path, kind, before, after }) => {
    const isBig = before.mode === bigFileMode || after.mode === bigFileMode;
    const counts = lines.get(path);
    const isBinary = !isBig && counts === null;
    const [added, removed] = isBig ? [0, 0] : (counts ?? [0, 0]);
    return { path: readablePath(path), kind, added, removed, ...(isBinary ? { binary: true } : {}), ...(isBig ? { big: true } : {}) };
  });
}

const maxPatchBytes = 16 << 20;

export async function patchBetween(shadow: ShadowRepository, from: string, to: string): Promise<string> {
  if (from === to) return "";
  const args = ["diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"];
  const bytes = await runGit(shadow, [...args, "--src-prefix=a/", "--dst-prefix=b/", from, to], { maxBytes: maxPatchBytes });
  const text = bytes
    .toString("utf8")
    .split(/^(?=diff --git )/m)
    .map(describeBigFiles)
    .join("");
  return bytes.length < maxPatchBytes ? text : `${text}\n[the diff is longer; only its first ${maxPatchBytes >> 20} MB are shown]\n`;
}

export async function rawChanges(
  shadow: ShadowRepository,
  from: string,
  to: string,
  withLines: boolean,
): Promise<{ raw: RawChange[]; lines: Map<string, [number, number] | null> }> {
  const numstat = withLines ? ["--numstat"] : [];
  const tokens = splitAtNul(await runGit(shadow, ["diff-tree", "-r", "-z", "--no-renames", "--raw", ...numstat, from, to]));
  const raw: RawChange[] = [];
  const lines = new Map<string, [number, number] | null>();
  for (let index = 0; index < tokens.length; index++) {
    const token = tokens[index] as string;
    if (token.startsWith(":")) raw.push(toRawChange(token, tokens[++index] as string));
    else {
      const [added = "", removed = "", ...path] = token.split("\t");
      lines.set(path.join("\t"), added === "-" ? null : [Number(added), Number(removed)]);
    }
  }
  return { raw, lines };
}

/** Two ids of 40 digits, a space and a newline. */
const pairLineLength = 82;

/** The changed files of each pair of trees. One process compares all pairs. */
export async function entriesBetween(shadow: ShadowRepository, pairs: readonly (readonly [string, string])[]): Promise<EntryChange[][]> {
  const results = pairs.map((): EntryChange[] => []);
  const different = [...pairs.entries()].filter(([, [from, to]]) => from !== to);
  if (different.length === 0) return results;
  const stdin = Buffer.from(different.map(([, pair]) => `${pair.join(" ")}\n`).join(""));
  const tokens = splitAtNul(await runGit(shadow, ["diff-tree", "--stdin", "-r", "-z", "--no-renames", "--raw"], { stdin }));
  let position = -1;
  for (let index = 0; index < tokens.length; index++) {
    // A line with the ids of both trees precedes the changes of each pair.
    const token = (tokens[index] as string).replace(/^(?:[0-9a-f]{40} [0-9a-f]{40}\n)+/, (lines) => {
      position += lines.length / pairLineLength;
      return "";
    });
    if (token === "") continue;
    const { path, before, after } = toRawChange(token, tokens[++index] as string);
    results[different[position]![0]]!.push({ path, before: versionOf(before), after: versionOf(after) });
  }
  return results;
}

function versionOf({ mode, id }: Entry): FileVersion {
  return mode === "000000" ? null : `${mode} ${id}`;
}

const kinds: Record<string, FileChange["kind"]> = { A: "added", D: "deleted" };

function toRawChange(token: string, path: string): RawChange {
  const [beforeMode = "", afterMode = "", beforeId = "", afterId = "", letter = ""] = token.slice(1).split(" ");
  return {
    path,
    kind: kinds[letter] ?? "modified",
    before: { mode: beforeMode, id: beforeId },
    after: { mode: afterMode, id: afterId },
  };
}

/** Big files are stored as links to commits; see big-files.ts. */
function describeBigFiles(section: string): string {
  const head = section.slice(0, section.indexOf("\n@@"));
  if (!head.includes(` ${bigFileMode}`)) return section;
  return section.replace(/^([+-])Subproject commit ([0-9a-f]{40})$/gm, "$1[a big file, stored only as its hash $2]");
}
