// Reads versions of files from a shadow repository. Most are single objects of skein's own (object-files.ts) and need no
// git; those of a pack are read by one git process.
import { existsSync } from "node:fs";
import { readFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { Fault } from "../../protocol/api/error.ts";
import type { FileVersion } from "../../protocol/tree/file-changes.ts";
import { runGit, splitAtNul, type ShadowRepository } from "../git.ts";
import { bigFileBytes, bigFileMode } from "./big-files.ts";

const linkMode = "120000";

/** The content of each version; null for a link, and for a file that is too big to be stored. */
export async function readContents(shadow: ShadowRepository, versions: readonly FileVersion[]): Promise<(Buffer | null)[]> {
  const ids = versions.map(fileId);
  const contents = await Promise.all(ids.map((id) => (id === null ? null : readObject(shadow.dir, id))));
  const packed = [...new Set(ids.filter((id, index) => id !== null && contents[index] === null))] as string[];
  if (packed.length === 0) return contents;
  const fromPack = await readPacked(shadow, packed);
  return ids.map((id, index) => contents[index] ?? (id === null ? null : fromPack.get(id)!));
}

function fileId(version: FileVersion): string | null {
  if (version === null) return null;
  const [mode, id] = version.split(" ") as [string, string];
  return mode === bigFileMode || mode === linkMode ? null : id;
}

type InflateOptions = { chunkSize: number; maxOutputLength: number };

/** Other threads inflate, so that several versions are read at the same time. Most runs read no version, and node:zlib loads the streams of Node. */
async function inflateInBackground(bytes: Buffer, options: InflateOptions): Promise<Buffer> {
  const { inflate } = await import("node:zlib");
  return new Promise((resolve, reject) => inflate(bytes, options, (error, result) => (error === null ? resolve(result) : reject(error))));
}

const minChunkBytes = 1 << 16;

/** Null if it is not stored as a single object. */
async function readObject(shadowDir: string, id: string): Promise<Buffer | null> {
  const file = join(shadowDir, "objects", id.slice(0, 2), id.slice(2));
  if (!existsSync(file)) return null;
  const deflated = await readFile(file);
  // One chunk for the whole content is not copied again. A damaged object must not fill the memory.
  const chunkSize = Math.min(Math.max(deflated.length * 4, minChunkBytes), bigFileBytes + minChunkBytes);
  const bytes = await inflateInBackground(deflated, { chunkSize, maxOutputLength: 2 * bigFileBytes });
  const end = bytes.indexOf(0);
  const size = /^blob (\d+)$/.exec(bytes.toString("latin1", 0, end))?.[1];
  if (size === undefined || Number(size) !== bytes.length - end - 1) throw new Fault("internal", `the recorded file ${id} is damaged`);
  return bytes.subarray(end + 1);
}

async function readPacked(shadow: ShadowRepository, ids: readonly string[]): Promise<Map<string, Buffer>> {
  const stdin = Buffer.from(ids.map((id) => `${id}\n`).join(""));
  const output = await runGit(shadow, ["cat-file", "--batch"], { stdin });
  const contents = new Map<string, Buffer>();
  let position = 0;
  for (const id of ids) {
    const end = output.indexOf(10, position);
    const size = / blob (\d+)$/.exec(output.toString("latin1", position, end))?.[1];
    if (size === undefined) throw new Fault("internal", `the recorded file ${id} is not stored any more`);
    position = end + 1 + Number(size);
    contents.set(id, output.subarray(end + 1, position));
    position += 1;
  }
  return contents;
}

/** The full id of a tree from at least 7 digits; null if there is none. */
export async function findTree(shadow: ShadowRepository, id: string): Promise<string | null> {
  if (!/^[0-9a-f]{7,40}$/.test(id)) return null;
  return runGit(shadow, ["rev-parse", "--verify", "--quiet", `${id}^{tree}`]).then(
    (output) => output.toString().trim(),
    () => null,
  );
}

/** The version of a file in a tree; null if it is not there. */
export async function versionInTree(shadow: ShadowRepository, tree: string, path: string): Promise<FileVersion> {
  const [entry] = splitAtNul(
    await runGit(shadow, ["ls-tree", "-z", "--full-tree", tree, "--", Buffer.from(path, "latin1").toString("utf8")]),
  );
  const [, mode, type, id] = /^(\d+) (\w+) ([0-9a-f]+)\t/.exec(entry ?? "") ?? [];
  return type === "blob" || mode === bigFileMode ? `${mode} ${id}` : null;
}

/** git runs in the nearest directory that exists: a removed worktree keeps its recorded files. */
export function inExistingDirectory(shadow: ShadowRepository): ShadowRepository {
  let project = shadow.project;
  while (!existsSync(project)) project = dirname(project);
  return { ...shadow, project };
}
