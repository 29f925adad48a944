// Finds skein's directories and the project of a directory. All returned paths are absolute.
import { realpathSync } from "node:fs";
import { homedir } from "node:os";
import { dirname, join } from "node:path";
import { Fault, messageOf } from "../protocol/api/error.ts";
import { absolutePath } from "../kit/files/absolute-path.ts";
import { realPath, statPath } from "../kit/files/path-status.ts";

export type Paths = Readonly<{
  home: string;
  config: string;
  data: string;
  state: string;
  cache: string;
  /** The user's config file. */
  userConfig: string;
}>;

/** The XDG directories, with `skein/` in each. SKEIN_HOME moves all four. An empty variable counts as not set. */
export function findPaths(env: Record<string, string | undefined>, cwd: string): Paths {
  const home = absolutePath(env["HOME"] || homedir(), { cwd, home: cwd });
  const absolute = (path: string): string => absolutePath(path, { cwd, home });
  const root = env["SKEIN_HOME"] ? absolute(env["SKEIN_HOME"]) : null;
  const directory = (name: string, variable: string, fallback: string): string =>
    root === null ? join(env[variable] ? absolute(env[variable]) : join(home, fallback), "skein") : join(root, name);
  const config = directory("config", "XDG_CONFIG_HOME", ".config");
  return Object.freeze({
    home,
    config,
    data: directory("data", "XDG_DATA_HOME", ".local/share"),
    state: directory("state", "XDG_STATE_HOME", ".local/state"),
    cache: directory("cache", "XDG_CACHE_HOME", ".cache"),
    userConfig: join(config, "config.jsonc"),
  });
}

/**
 * The nearest ancestor with `.skein/` or `.git`, else the directory itself, as a real path. The home directory, `/` and
 * directories like /tmp count only if the search starts there. The search never goes above the home directory.
 */
export function findProject(directory: string, home: string): string {
  const start = realDirectory(directory);
  return hasProjectMarker(start) ? start : (enclosingProject(start, home) ?? start);
}

/** The nearest project above a directory; null if there is none. `directory` has no links. */
export function enclosingProject(directory: string, home: string): string | null {
  const top = realPath(home) ?? home;
  for (let current = directory; current !== top;) {
    const parent = dirname(current);
    if (parent === current || parent === top || dirname(parent) === parent) break;
    current = parent;
    if (hasProjectMarker(current)) return isWritableByAll(current) ? null : current;
  }
  return null;
}

export function realDirectory(directory: string): string {
  try {
    return realpathSync(directory);
  } catch (error) {
    const reason = directory.includes("\ufffd") ? "its path is not UTF-8" : messageOf(error);
    throw new Fault("file-unreadable", `can't use ${directory} as a directory: ${reason}`, { cause: error });
  }
}

function hasProjectMarker(directory: string): boolean {
  return statPath(join(directory, ".skein"))?.isDirectory() === true || statPath(join(directory, ".git")) !== undefined;
}

/** A directory like /tmp: every user can create files there, so a marker in it may be another user's. */
function isWritableByAll(directory: string): boolean {
  return ((statPath(directory)?.mode ?? 0) & 0o1002) === 0o1002;
}
