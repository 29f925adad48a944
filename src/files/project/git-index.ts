// Reads the paths of gitlinks (submodules) from git's index file, without git. The file may be hostile.
import { readdirSync } from "node:fs";
import { readSafely, type SafeDirectory } from "../../kit/files/safe-file.ts";

const maxIndexBytes = 256 << 20;
const gitlinkMode = 0o160000;
/** Times, device, inode, mode, owner and size. */
const statBytes = 40;
const modeOffset = 24;
const extendedFlag = 0x4000;

type IndexEntry = { path: string; mode: number };

/** Paths have one letter for each byte. Empty if there is no index, or none that can be read. */
export function readGitlinks(gitDir: SafeDirectory, owners: readonly number[]): string[] {
  const main = readEntries(gitDir, "index", owners);
  // A split index has most entries in another file, and replaces them by entries without a name.
  const isSplit = main.some(({ path }) => path === "");
  const names = readdirSync(gitDir.path).filter((name) => name.startsWith("sharedindex."));
  const others = names.flatMap((name) => readEntries(gitDir, name, owners));
  const isUnknown = isSplit && main.some(({ path, mode }) => path === "" && mode === gitlinkMode);
  const gitlinks = [...main, ...others].filter(({ path, mode }) => path !== "" && (mode === gitlinkMode || isUnknown));
  return [...new Set(gitlinks.map(({ path }) => path))];
}

function readEntries(gitDir: SafeDirectory, name: string, owners: readonly number[]): IndexEntry[] {
  try {
    const bytes = readSafely(name, { maxBytes: maxIndexBytes, owners, from: gitDir });
    if (bytes === null || bytes.toString("latin1", 0, 4) !== "DIRC") return [];
    return parseIndex(bytes, 20) ?? parseIndex(bytes, 32) ?? [];
  } catch {
    return []; // git can't read such a file either, or it belongs to another user
  }
}

/** Null if the entries do not fit ids of that length. */
function parseIndex(bytes: Buffer, idBytes: number): IndexEntry[] | null {
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
    const nul = bytes.indexOf(0, at);
    if (nul === -1) return null;
    const path = kept + bytes.toString("latin1", at, nul);
    previous = path;
    entries.push({ path, mode });
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
