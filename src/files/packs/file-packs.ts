// Moves states of a project's files between machines as git packs: a full pack for a fresh machine, a thin pack for the
// changes since an earlier state. A received pack is hostile input: git checks every object before it is stored.
import { lastLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { bigFileMode } from "../snapshots/big-files.ts";
import { replaceEntries } from "../snapshots/restore.ts";
import { prepareShadow } from "../snapshots/shadow.ts";
import { readablePath, runGit, splitAtNul, tryGit, type ShadowRepository } from "../git.ts";

/** Larger packs are refused on both sides: a row of the database must hold them. */
export const maxPackBytes = 64 << 20;

/** `commit` contains `tree`: the recorded files, without files too large for a snapshot. Its parent is `base`; the first has none. */
export type FilePack = { commit: string; base: string | null; tree: string; bytes: Uint8Array };

/** Without `base` the pack has all files; with it only the changes since that commit, which the receiver must have. */
export async function createFilePack(
  shadow: ShadowRepository,
  { tree: recorded, base, message }: { tree: string; base: string | null; message: string },
): Promise<FilePack> {
  const tree = await withoutBigFiles(shadow, recorded);
  const commit = await commitTree(shadow, { tree, parent: base, message });
  const bytes = await runGit(shadow, ["pack-objects", "--revs", "--thin", "--delta-base-offset", "--stdout", "-q"], {
    stdin: Buffer.from(`${commit}\n${base === null ? "" : `^${base}\n`}`),
    maxBytes: maxPackBytes + 1,
  });
  if (bytes.length > maxPackBytes) {
    throw new Fault("too-long", `the files of ${shadow.project} are larger than ${maxPackBytes >> 20} MB as a pack`, {
      hint: "ignore large files in .gitignore; ignored files stay on this machine",
    });
  }
  return { commit, base, tree, bytes };
}

/**
 * Stores the objects of a pack. Throws `file-unreadable` if one of them is broken, dangerous to check out or not in the pack, and
 * if the pack does not end in this commit and tree.
 */
export async function receiveFilePack(shadow: ShadowRepository, { commit, base, tree, bytes }: FilePack): Promise<void> {
  prepareShadow(shadow);
  for (const id of [commit, tree, ...(base === null ? [] : [base])])
    if (!isObjectId(id)) throw damaged(`${id.slice(0, 40)} is not the id of an object`);
  if (bytes.length > maxPackBytes) throw damaged("it is too large");
  const args = ["index-pack", "--stdin", "--fix-thin", "--strict", `--max-input-size=${maxPackBytes}`];
  const { code, err } = await tryGit(shadow, args, { stdin: bytes });
  if (code !== 0) throw damaged(lastLine(err));
  const stored = (await runGit(shadow, ["cat-file", "-p", commit])).toString();
  const [first = "", second = ""] = stored.split("\n");
  const expectedParent = base === null ? !second.startsWith("parent ") : second === `parent ${base}`;
  if (first !== `tree ${tree}` || !expectedParent) throw damaged("its last commit has another tree or parent than announced");
}

export function isObjectId(text: string): boolean {
  return /^[0-9a-f]{40}$/.test(text);
}

/** The paths of files that are too large for a snapshot. A pack does not contain them. */
export async function filesLeftOut(shadow: ShadowRepository, tree: string): Promise<string[]> {
  return (await bigFilesOf(shadow, tree)).map(readablePath);
}

/** The tree without links to files that are not stored: git would check such a link out as an empty directory. */
async function withoutBigFiles(shadow: ShadowRepository, tree: string): Promise<string> {
  const paths = await bigFilesOf(shadow, tree);
  return paths.length === 0 ? tree : replaceEntries(shadow, tree, new Map(paths.map((path) => [path, null])));
}

async function bigFilesOf(shadow: ShadowRepository, tree: string): Promise<string[]> {
  const lines = splitAtNul(await runGit(shadow, ["ls-tree", "-r", "-z", tree]));
  return lines.filter((line) => line.startsWith(bigFileMode)).map((line) => line.slice(line.indexOf("\t") + 1));
}

type NewCommit = { tree: string; parent: string | null; message: string };

/** The author is skein, because neither machine's user made the commit. */
export async function commitTree(shadow: ShadowRepository, { tree, parent, message }: NewCommit): Promise<string> {
  const author = ["-c", "user.name=skein", "-c", "user.email=skein@localhost", "-c", "commit.gpgSign=false"];
  const parents = parent === null ? [] : ["-p", parent];
  const id = await runGit(shadow, [...author, "commit-tree", tree, ...parents], { stdin: Buffer.from(`${message}\n`) });
  return id.toString().trim();
}

function damaged(why: string): Fault {
  return new Fault("file-unreadable", `a pack of files was refused: ${why}`);
}
