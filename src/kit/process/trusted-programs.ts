// Finds programs that skein runs outside of the sandbox. A program in a place that tools or other users can write is never
// used, because one of them could have put it there. Starts nothing.
import { accessSync, constants, type Stats } from "node:fs";
import { delimiter, dirname, join, sep } from "node:path";
import { realPath, statPath } from "../files/path-status.ts";

export type ProgramSearch = {
  /** The user's PATH. */
  path: string;
  /** Directories that tools can write: the project, the working directory, added directories, the temp directory. */
  untrusted: readonly string[];
};

export type ProgramMatch = {
  /** Absolute path; null if there is no trusted one. */
  path: string | null;
  /** The first program of that name that was refused, with the reason. */
  refused: { path: string; reason: string } | null;
};

const systemDirectories = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
/** The owner of files whose real owner has no number in our user namespace. */
const overflowUid = 65_534;

/** Programs of the system come first, so that PATH can't replace them. */
export function findSystemProgram(name: string, search: ProgramSearch): ProgramMatch {
  return findProgram(name, { ...search, path: [...systemDirectories, search.path].join(delimiter) });
}

export function findProgram(name: string, search: ProgramSearch): ProgramMatch {
  let refused: ProgramMatch["refused"] = null;
  for (const directory of search.path.split(delimiter)) {
    if (!directory.startsWith(sep)) continue;
    const path = join(directory, name);
    if (!isExecutable(path)) continue;
    const reason = reasonToRefuse(path, search.untrusted);
    if (reason === null) return { path, refused };
    refused ??= { path, reason };
  }
  return { path: null, refused };
}

/** PATH for a program that runs outside of the sandbox: without relative entries and without those that are refused. */
export function trustedPath({ path, untrusted }: ProgramSearch): string {
  const entries = path.split(delimiter).filter((directory) => directory.startsWith(sep));
  return entries.filter((directory) => reasonToRefuse(join(directory, "program"), untrusted) === null).join(delimiter);
}

/** Null if the program may run outside. Checks its name in PATH and the file that the name leads to. */
export function reasonToRefuse(path: string, untrusted: readonly string[]): string | null {
  const real = realPath(path) ?? join(realPath(dirname(path)) ?? dirname(path), "program");
  const roots = untrusted.map((directory) => realPath(directory) ?? directory).filter((directory) => directory !== sep);
  for (const place of new Set([path, real])) {
    const root = roots.find((directory) => place.startsWith(directory + sep));
    if (root !== undefined) return `it is in ${root}, where tools can write`;
    const directory = statPath(dirname(place));
    if (directory !== undefined && isForOthers(directory)) return `other users can write ${dirname(place)}`;
  }
  const file = statPath(real);
  return file !== undefined && isForOthers(file) ? `other users can write ${real}` : null;
}

function isForOthers({ mode, uid }: Stats): boolean {
  return (mode & 0o002) !== 0 || ![0, process.getuid?.() ?? 0, overflowUid].includes(uid);
}

function isExecutable(path: string): boolean {
  try {
    // Most directories of PATH lack the program, and an exception for each would be slow.
    if (!statPath(path)?.isFile()) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
