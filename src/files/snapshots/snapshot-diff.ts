// What differs between two recorded trees: as a list of changes, and as a unified diff. Touches no file.
import type { FileChange } from "../../protocol/tree/file-changes.ts";
import { bigFileMode } from "./big-files.ts";
import { readablePath, runGit, splitAtNul, type ShadowRepository } from "../git.ts";

export type RawChange = {
  /** Bytes as latin1 text. */
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
    const counted = lines.get(path);
    const isBinary = !isBig && counted === null;
    const [added, removed] = isBig ? [0, 0] : (counted ?? [0, 0]);
    return { path: readablePath(path), kind, added, removed, ...(isBinary ? { binary: true } : {}), ...(isBig ? { big: true } : {}) };
  });
}

const mostPatchBytes = 16 << 20;

export async function patchBetween(shadow: ShadowRepository, from: string, to: string): Promise<string> {
  if (from === to) return "";
  const args = ["diff-tree", "-r", "-p", "--no-renames", "--no-ext-diff", "--no-textconv", "--no-color", "--submodule=short"];
  const bytes = await runGit(shadow, [...args, "--src-prefix=a/", "--dst-prefix=b/", from, to], { mostBytes: mostPatchBytes });
  const text = bytes
    .toString("utf8")
    .split(/^(?=diff --git )/m)
    .map(withoutBigLinks)
    .join("");
  return bytes.length < mostPatchBytes ? text : `${text}\n[the diff goes on; only its first ${mostPatchBytes >> 20} MB are shown]\n`;
}

export async function rawChanges(
  shadow: ShadowRepository,
  from: string,
  to: string,
  withLines: boolean,
): Promise<{ raw: RawChange[]; lines: Map<string, [number, number] | null> }> {
  const numbers = withLines ? ["--numstat"] : [];
  const tokens = splitAtNul(await runGit(shadow, ["diff-tree", "-r", "-z", "--no-renames", "--raw", ...numbers, from, to]));
  const raw: RawChange[] = [];
  const lines = new Map<string, [number, number] | null>();
  for (let at = 0; at < tokens.length; at++) {
    const token = tokens[at] as string;
    if (token.startsWith(":")) raw.push(rawChange(token, tokens[++at] as string));
    else {
      const [added = "", removed = "", ...path] = token.split("\t");
      lines.set(path.join("\t"), added === "-" ? null : [Number(added), Number(removed)]);
    }
  }
  return { raw, lines };
}

const kinds: Record<string, FileChange["kind"]> = { A: "added", D: "deleted" };

function rawChange(token: string, path: string): RawChange {
  const [beforeMode = "", afterMode = "", beforeId = "", afterId = "", letter = ""] = token.slice(1).split(" ");
  return {
    path,
    kind: kinds[letter] ?? "modified",
    before: { mode: beforeMode, id: beforeId },
    after: { mode: afterMode, id: afterId },
  };
}

function withoutBigLinks(section: string): string {
  const head = section.slice(0, section.indexOf("\n@@"));
  if (!head.includes(` ${bigFileMode}`)) return section;
  return section.replace(/^([+-])Subproject commit ([0-9a-f]{40})$/gm, "$1[a big file, kept only by its hash $2]");
}
