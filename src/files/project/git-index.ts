// Reads the paths of gitlinks (submodules) from git's index file, without git. The file may be hostile.
import { readdirSync } from "node:fs";
import { readSafely, type SafeDirectory } from "../../kit/files/safe-file.ts";

const maxIndexBytes = 256 << 20;
const gitlinkMode = 0o160000;
/** Times, device, inode, mode, owner and size. */
const statBytes = 40;
const modeOffset = 24;
const extendedFlag = 0x4000;
/** Part of the flags: the length of the path. This value means that the path is at least as long. */
const longName = 0xfff;

type IndexEntry = { path: string; mode: number };

/** Paths have one character for each byte. Empty if there is no index, or none that can be read. */
export function readGitlinks(gitDir: SafeDirectory, owners: readonly number[]): string[] {
  const isRelevant = (mode: number, nameBytes: number) => mode === gitlinkMode || nameBytes === 0;
  const main = readEntries(gitDir, "index", { owners, isRelevant });
  // A split index has most entries in another file, and replaces them by entries without a name.
  const names = readdirSync(gitDir.path).filter((name) => name.startsWith("sharedindex."));
  const isUnknown = main.some(({ path, mode }) => path === "" && mode === gitlinkMode);
  const others = names.flatMap((name) => readEntries(gitDir, name, { owners, isRelevant: isUnknown ? () => true : isRelevant }));
  const gitlinks = [...main, ...others].filter(({ path, mode }) => path !== "" && (mode === gitlinkMode || isUnknown));
  return [...new Set(gitlinks.map(({ path }) => path))];
}

type ReadOptions = {
  owners: readonly number[];
  /** Other entries are left out: an index may have a hundred thousand. */
  isRelevant: (mode: number, nameBytes: number) => boolean;
};

function readEntries(gitDir: SafeDirectory, name: string, { owners, isRelevant }: ReadOptions): IndexEntry[] {
  try {
    const bytes = readSafely(name, { maxBytes: maxIndexBytes, owners, from: gitDir });
    if (bytes === null || bytes.toString("latin1", 0, 4) !== "DIRC") return [];
    return parseIndex(bytes, 20, isRelevant) ?? parseIndex(bytes, 32, isRelevant) ?? [];
  } catch {
    return []; // git can't read such a file either, or it belongs to another user
  }
}

/** Null if the entries do not fit ids of that length. */
function parseIndex(bytes: Buffer, idBytes: number, isRelevant: ReadOptions["isRelevant"]): IndexEntry[] | null {
  const version = bytes.readUInt32BE(4);
  const count = bytes.readUInt32BE(8);
  const entries: IndexEntry[] = [];
  let at = 12;
  let previous = "";
  for (let index = 0; index < count; index++) {
    const start = at;
    if (start + statBytes + idBytes + 2 > bytes.length) return null;
    const mode = bytes.readUInt32BE(start + modeOffset);
    if (!knownModes.has(mode & 0o170000)) return null;
    const flags = bytes.readUInt16BE(start + statBytes + idBytes);
    at += statBytes + idBytes + 2 + (version >= 3 && (flags & extendedFlag) !== 0 ? 2 : 0);
    let kept = "";
    if (version === 4) {
      const { value, end } = readNumber(bytes, at);
      kept = previous.slice(0, Math.max(0, previous.length - value));
      at = end;
    }
    const nameBytes = flags & longName;
    // In version 4 the flags have the length of the whole path, of which only the end is stored.
    const nul = version === 4 || nameBytes === longName ? bytes.indexOf(0, at) : at + nameBytes;
    if (nul === -1 || bytes[nul] !== 0) return null;
    if (version === 4) previous = kept + bytes.toString("latin1", at, nul);
    if (isRelevant(mode, nameBytes)) entries.push({ path: version === 4 ? previous : bytes.toString("latin1", at, nul), mode });
    // Before version 4 an entry is filled up with 1 to 8 zero bytes to a multiple of 8.
    at = version === 4 ? nul + 1 : start + Math.ceil((nul + 1 - start) / 8) * 8;
  }
  return entries;
}

/** Directory (of a sparse index), file, link, gitlink. */
const knownModes = new Set([0o040000, 0o100000, 0o120000, 0o160000]);

/** A number of variable length, as in git's packs. */
function readNumber(bytes: Buffer, start: number): { value: number; end: number } {
  let at = start;
  let value = bytes[at]! & 0x7f;
  while ((bytes[at]! & 0x80) !== 0 && at - start < 5) {
    at += 1;
    value = (value + 1) * 128 + (bytes[at]! & 0x7f);
  }
  return { value, end: at + 1 };
}
