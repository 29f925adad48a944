// Reads the paths of gitlinks (submodules) from git's index file, without git. The file may be hostile.
import { readdirSync } from "node:fs";
import { readSafely, type SafeDirectory } from "../../kit/files/safe-file.ts";
import { messageOf } from "../../protocol/api/error.ts";

const maxIndexBytes = 512 << 20;
const gitlinkMode = 0o160000;
const directoryMode = 0o040000;
/** The bits of a mode that are the kind of a file. git ignores the others in a gitlink. */
const kindBits = 0o170000;
/** Times, device, inode, mode, owner and size. */
const statBytes = 40;
const modeOffset = 24;
const extendedFlag = 0x4000;
/** Part of the flags: the length of the path. This value means that the path is at least as long. */
const longName = 0xfff;

/** `kind` are the bits of the mode. */
type IndexEntry = { path: string; kind: number };

/** Paths have one character for each byte. `problem` says why there may be more of them; null if these are all. */
export type Gitlinks = { paths: string[]; problem: string | null };

/** No paths if there is no index, or none that git can read. */
export function readGitlinks(gitDir: SafeDirectory, owners: readonly number[]): Gitlinks {
  const isRelevant = (kind: number, nameBytes: number) => kind === gitlinkMode || kind === directoryMode || nameBytes === 0;
  const main = readEntries(gitDir, "index", { owners, isRelevant });
  // A split index has most entries in another file, and replaces them by entries without a name.
  const names = readdirSync(gitDir.path).filter((name) => name.startsWith("sharedindex."));
  const isUnknown = main.entries.some(({ path, kind }) => path === "" && kind === gitlinkMode);
  const others = names.map((name) => readEntries(gitDir, name, { owners, isRelevant: isUnknown ? () => true : isRelevant }));
  const all = [main, ...others];
  const entries = all.flatMap((file) => file.entries);
  const gitlinks = entries.filter(({ path, kind }) => path !== "" && (kind === gitlinkMode || isUnknown));
  const sparse = entries.some(({ kind }) => kind === directoryMode) ? "its index has directories instead of files" : null;
  const problem = all.map((file) => file.problem).find((text) => text !== null) ?? sparse;
  return { paths: [...new Set(gitlinks.map(({ path }) => path))], problem };
}

type ReadOptions = {
  owners: readonly number[];
  /** Other entries are left out: an index may have a hundred thousand. */
  isRelevant: (kind: number, nameBytes: number) => boolean;
};

type ReadEntries = { entries: IndexEntry[]; problem: string | null };

function readEntries(gitDir: SafeDirectory, name: string, { owners, isRelevant }: ReadOptions): ReadEntries {
  try {
    // git reads a file with several names, so it is read here, too.
    const bytes = readSafely(name, { maxBytes: maxIndexBytes, owners, from: gitDir, hasOtherNames: true });
    // git refuses a file with another beginning.
    if (bytes === null || bytes.toString("latin1", 0, 4) !== "DIRC") return { entries: [], problem: null };
    // Nothing in the file says how long its ids are. A hostile one may fit both lengths.
    const fitting = [20, 32].map((idBytes) => parseIndex(bytes, idBytes, isRelevant)).filter((entries) => entries !== null);
    return { entries: fitting.flat(), problem: fitting.length > 0 ? null : `the format of its ${name} is unknown` };
  } catch (error) {
    return { entries: [], problem: `its ${name} can't be checked: ${messageOf(error)}` };
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
    const kind = bytes.readUInt32BE(start + modeOffset) & kindBits;
    if (!knownKinds.has(kind)) return null;
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
    if (isRelevant(kind, nameBytes)) entries.push({ path: version === 4 ? previous : bytes.toString("latin1", at, nul), kind });
    // Before version 4 an entry is filled up with 1 to 8 zero bytes to a multiple of 8.
    at = version === 4 ? nul + 1 : start + Math.ceil((nul + 1 - start) / 8) * 8;
  }
  return entries;
}

/** Directory (of a sparse index), file, link, gitlink. */
const knownKinds = new Set([directoryMode, 0o100000, 0o120000, gitlinkMode]);

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
