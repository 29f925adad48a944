// Finds programs that skein runs outside of the sandbox. A program in a directory that tools or other users can write is never
// used, because one of them could have put it there. Starts nothing.
import { accessSync, constants, existsSync, readlinkSync, type Stats } from "node:fs";
import { tmpdir } from "node:os";
import { basename, delimiter, dirname, isAbsolute, join, resolve, sep } from "node:path";
import { isTooBroad, realPath, statPath } from "../files/path-status.ts";

type Environment = Readonly<Record<string, string | undefined>>;

export type ProgramSearch = {
  /** The user's PATH. */
  path: string;
  /** Real paths of directories that tools can write: the project, the working directory, added ones, the temp directory. */
  untrusted: readonly string[];
};

export type ProgramMatch = {
  /** Absolute path; null if there is no trusted one. */
  path: string | null;
  /** The first program of that name that was refused, with the reason. */
  refused: { path: string; reason: string } | null;
};

export type ProgramSearchOptions = {
  env: Environment;
  home: string;
  /** Projects and working directories. Tools can't write those that contain the home directory. */
  directories: readonly string[];
  /** Directories that the user opened for tools. */
  writable?: readonly string[];
};

const systemDirectories = ["/usr/bin", "/bin", "/usr/sbin", "/sbin"];
/** The owner of files whose real owner has no number in our user namespace. */
const overflowUid = 65_534;

export function createProgramSearch({ env, home, directories, writable = [] }: ProgramSearchOptions): ProgramSearch {
  const projects = [...new Set(directories)].filter((directory) => !isTooBroad(directory, home));
  const untrusted = [...projects, env["TMPDIR"] || tmpdir(), ...writable].map((path) => realPath(path) ?? path);
  return { path: searchPath(env), untrusted: [...new Set(untrusted)] };
}

/** The directories to search for programs: PATH, or a default without it. */
export function searchPath(env: Environment): string {
  return env["PATH"] ?? "/usr/local/bin:/usr/bin:/bin";
}

/** Programs of the system come first, so that PATH can't replace them. */
export function findSystemProgram(name: string, search: ProgramSearch): ProgramMatch {
  return findProgram(name, { ...search, path: [...systemDirectories, search.path].join(delimiter) });
}

/** `name` is looked up in PATH. An absolute path is only checked. */
export function findProgram(name: string, search: ProgramSearch): ProgramMatch {
  let refused: ProgramMatch["refused"] = null;
  for (const path of candidates(name, search)) {
    if (!isExecutable(path)) continue;
    const reason = reasonToRefuse(path, search.untrusted);
    if (reason === null) return { path, refused };
    refused ??= { path, reason };
  }
  return { path: null, refused };
}

function candidates(name: string, { path }: ProgramSearch): string[] {
  if (isAbsolute(name)) return [name];
  // A relative path would depend on the working directory, which may be a project.
  if (name.includes(sep)) return [];
  return [...new Set(path.split(delimiter))].flatMap((directory) => (isAbsolute(directory) ? [join(directory, name)] : []));
}

/** PATH for a program that runs outside of the sandbox: without relative entries and without those that are refused. */
export function trustedPath({ path, untrusted }: ProgramSearch): string {
  const entries = path.split(delimiter).filter((directory) => isAbsolute(directory));
  return entries.filter((directory) => reasonToRefuse(join(directory, "program"), untrusted) === null).join(delimiter);
}

/**
 * The environment of a program that runs outside of the sandbox, with the trusted PATH. Variables that name a directory where
 * tools can write are left out: LD_LIBRARY_PATH, NODE_PATH and others make a program load code from there.
 */
export function trustedEnvironment(env: Environment, search: ProgramSearch): Record<string, string> {
  const isTrusted = (value: string) =>
    value.split(delimiter).every((entry) => !isAbsolute(entry) || rootOf(realPath(entry) ?? entry, search.untrusted) === undefined);
  const kept = Object.entries(env).flatMap(([name, value]) => (value !== undefined && isTrusted(value) ? [[name, value] as const] : []));
  return { ...Object.fromEntries(kept), PATH: trustedPath(search) };
}

/** Null if the program may run outside. Checks its name in PATH, every link that the name leads to, and the file. */
export function reasonToRefuse(path: string, untrusted: readonly string[]): string | null {
  for (const link of new Set([path, ...linkChain(path)])) {
    const root = rootOf(link, untrusted);
    if (root !== undefined) return `it is in ${root}, where tools can write`;
    const open = parentsOf(link).find(isOpenDirectory);
    if (open !== undefined) return `other users can write ${open}`;
  }
  const file = statPath(path);
  return file !== undefined && isForOthers(file) ? `other users can write ${path}` : null;
}

/** The real path of a path, and of each link after it. A link inside of a chain could be changed after this check. */
function linkChain(path: string, rest = maxLinks): string[] {
  const link = join(realPath(dirname(path)) ?? dirname(path), basename(path));
  const target = readLink(link);
  return [link, ...(target === null || rest === 0 ? [] : linkChain(resolve(dirname(link), target), rest - 1))];
}

/** The limit of the kernel. */
const maxLinks = 40;

function readLink(path: string): string | null {
  try {
    return readlinkSync(path);
  } catch {
    return null;
  }
}

function rootOf(path: string, untrusted: readonly string[]): string | undefined {
  return untrusted.find((directory) => directory !== sep && `${path}${sep}`.startsWith(directory + sep));
}

function parentsOf(path: string): string[] {
  const parent = dirname(path);
  return parent === path ? [] : [parent, ...parentsOf(parent)];
}

/** Whether other users can add or replace entries. In a sticky directory they can only add. `distance` is 0 for the directory of the program itself. */
function isOpenDirectory(path: string, distance: number): boolean {
  const directory = statPath(path);
  if (directory === undefined) return false;
  return distance > 0 && (directory.mode & sticky) !== 0 ? isForeign(directory) : isForOthers(directory);
}

const sticky = 0o1000;

function isForOthers(status: Stats): boolean {
  return (status.mode & 0o002) !== 0 || isForeign(status);
}

function isForeign({ uid }: Stats): boolean {
  return ![0, process.getuid?.() ?? 0, overflowUid].includes(uid);
}

function isExecutable(path: string): boolean {
  try {
    // Most directories of PATH lack the program. Neither an exception nor a status is made for each of them.
    if (!existsSync(path) || !statPath(path)?.isFile()) return false;
    accessSync(path, constants.X_OK);
    return true;
  } catch {
    return false;
  }
}
