// Copies a tree or a commit from one repository of skein to another. Only objects that the target lacks are copied, so a tree
// of 50,000 files with few changes is copied in one small pack.
import { Fault } from "../../protocol/api/error.ts";
import { readablePath, runGit, splitAtNul, tryGit, type ShadowRepository } from "../git.ts";
import { bigFileMode } from "../snapshots/big-files.ts";
import { run } from "./commits.ts";

const maxPackBytes = 512 << 20;

export type CopiedTree = {
  tree: string;
  /** Files that are too big for snapshots, so that only their hash is known. They are not in the tree. */
  leftOut: string[];
};

/**
 * Copies a recorded tree of files. The content of a big file is taken from the target's own objects, or its version in
 * `base` is used. `index` is a path for a temporary index.
 */
export async function copyTree(
  from: ShadowRepository,
  to: ShadowRepository,
  { tree, base, index }: { tree: string; base: string; index: string },
): Promise<CopiedTree> {
  const entries = (await listTree(from, tree)).map(parseEntry);
  const known = await knownObjects(to, [...new Set(entries.map(({ id }) => id))]);
  const missing = entries.filter(({ mode, id }) => mode !== bigFileMode && !known.has(id)).map(({ id }) => id);
  await copyObjects(from, to, { stdin: [...new Set(missing)].map((id) => `${id}\n`).join(""), args: [] });
  const big = entries.filter(({ mode }) => mode === bigFileMode);
  const inBase = big.length === 0 ? new Map() : new Map((await listTree(to, base)).map(parseEntry).map((entry) => [entry.path, entry]));
  const leftOut: string[] = [];
  const lines = entries.flatMap(({ mode, id, path }) => {
    if (mode !== bigFileMode) return [`${mode} ${id}\t${path}\0`];
    const old = inBase.get(path);
    if (known.has(id)) return [`${old?.mode ?? "100644"} ${id}\t${path}\0`];
    leftOut.push(readablePath(path));
    return old === undefined ? [] : [`${old.mode} ${old.id}\t${path}\0`];
  });
  await runGit(to, ["update-index", "-z", "--add", "--index-info"], { index, stdin: Buffer.from(lines.join(""), "latin1") });
  return { tree: await run(to, ["write-tree"], { index }), leftOut };
}

/** Copies a commit with the history that the target lacks. `known` is a commit of the target. */
export async function copyCommit(from: ShadowRepository, to: ShadowRepository, commit: string, known: string): Promise<void> {
  if ((await tryGit(to, ["cat-file", "-e", `${commit}^{tree}`])).code === 0) return;
  const hasKnown = (await tryGit(from, ["cat-file", "-e", `${known}^{commit}`])).code === 0;
  await copyObjects(from, to, { stdin: `${commit}\n${hasKnown ? `^${known}\n` : ""}`, args: ["--revs", "--thin"] });
}

async function copyObjects(
  from: ShadowRepository,
  to: ShadowRepository,
  { stdin, args }: { stdin: string; args: string[] },
): Promise<void> {
  if (stdin === "") return;
  const pack = ["pack-objects", "--quiet", "--stdout", ...args];
  const bytes = await runGit(from, pack, { stdin: Buffer.from(stdin), maxBytes: maxPackBytes });
  if (bytes.length >= maxPackBytes) throw new Fault("internal", `the files have more than ${maxPackBytes >> 20} MB of changes`);
  await runGit(to, ["index-pack", "--fix-thin", "--stdin"], { stdin: bytes });
}

type TreeEntry = { mode: string; id: string; path: string };

async function listTree(repository: ShadowRepository, tree: string): Promise<string[]> {
  return splitAtNul(await runGit(repository, ["ls-tree", "-r", "-z", "--full-tree", tree]));
}

/** `<mode> <type> <id>\t<path>` */
function parseEntry(line: string): TreeEntry {
  const tab = line.indexOf("\t");
  const [mode = "", , id = ""] = line.slice(0, tab).split(" ");
  return { mode, id, path: line.slice(tab + 1) };
}

async function knownObjects(repository: ShadowRepository, ids: readonly string[]): Promise<Set<string>> {
  const stdin = Buffer.from(ids.map((id) => `${id}\n`).join(""));
  const lines = (await runGit(repository, ["cat-file", "--batch-check=%(objectname)"], { stdin })).toString().split("\n");
  return new Set(lines.filter((line) => /^[0-9a-f]+$/.test(line)));
}
