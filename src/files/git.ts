// Runs git on a shadow repository, which has its own objects and index and uses the project only as working tree.
// Ignores every configuration, hook, filter and attribute of the user and of the project.
import { accessSync, constants, statSync } from "node:fs";
import { join } from "node:path";
import type { ShellResult } from "../kit/process/command-shell.ts";
import { Fault } from "../protocol/api/error.ts";

/** Runs git in a sandbox of its own: tools can change the paths that git uses, but git can't leave these directories. */
export type GitRunner = (command: GitCommand) => Promise<ShellResult>;

export type GitCommand = {
  /** The arguments of git. */
  args: readonly string[];
  env: Record<string, string>;
  /** The working directory. Only `write` lets git change files there. */
  project: string;
  access: "read" | "write";
  /** The repository that git may write; null if it only reads the project's own. */
  repository: string | null;
  stdin?: Uint8Array;
  /** `pack` turns paths on stdin into a stream of their content for `git fast-import`, see snapshots/pack.ts. */
  source?: "pack";
  /** Reads at most this much output, then ends git. */
  maxBytes?: number;
  signal?: AbortSignal;
};

export type ShadowRepository = {
  git: GitRunner;
  /** The bare repository in skein's data directory. */
  dir: string;
  project: string;
};

export type GitOptions = Pick<GitCommand, "stdin" | "source" | "maxBytes" | "signal"> & {
  index?: string;
  /** Whether git changes files of the project. Default: "read". */
  access?: GitCommand["access"];
};

export async function runGit(shadow: ShadowRepository, args: readonly string[], options: GitOptions = {}): Promise<Buffer> {
  const { code, out, err } = await tryGit(shadow, args, options);
  if (code === 0 || out.length >= (options.maxBytes ?? Number.POSITIVE_INFINITY)) return out;
  if (code === null) throw new Fault("internal", `git ${args[0]} took too long`);
  const message = err.trim().split("\n").slice(-3).join("; ").slice(0, 500);
  throw new Fault("internal", `git ${args[0]} failed: ${message === "" ? `exit ${code}` : message}`);
}

/** Returns the exit code instead of throwing, for commands that answer with it. Null if it took too long. */
export function tryGit(shadow: ShadowRepository, args: readonly string[], options: GitOptions = {}): Promise<ShellResult> {
  const { index = `${shadow.dir}/index`, access = "read", ...limits } = options;
  return shadow.git({
    args: ["--no-optional-locks", ...gitSettings, ...args],
    env: environment(shadow, index),
    project: shadow.project,
    access,
    repository: shadow.dir,
    ...limits,
  });
}

/** Paths are bytes. Inside this module they are latin1 strings, which lose no byte. */
export function splitAtNul(bytes: Buffer): string[] {
  const text = bytes.toString("latin1");
  return text === "" ? [] : text.replace(/\0$/, "").split("\0");
}

/** The absolute path as bytes. */
export function absoluteBytes(shadow: ShadowRepository, path: string): Buffer {
  return Buffer.concat([Buffer.from(`${shadow.project}/`), Buffer.from(path, "latin1")]);
}

/** The file of the project's repository that excludes files; null if there is none that git can read without waiting. */
export function excludeFile(project: string): string | null {
  const file = join(project, ".git", "info", "exclude");
  try {
    accessSync(file, constants.R_OK);
    return statSync(file).isFile() ? file : null;
  } catch {
    return null;
  }
}

export function readablePath(path: string): string {
  return Buffer.from(path, "latin1").toString("utf8");
}

function environment(shadow: ShadowRepository, index: string): Record<string, string> {
  return {
    LC_ALL: "C",
    GIT_DIR: shadow.dir,
    GIT_WORK_TREE: shadow.project,
    GIT_INDEX_FILE: index,
    GIT_OBJECT_DIRECTORY: `${shadow.dir}/objects`,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_TERMINAL_PROMPT: "0",
    // Without this variable git would show the replacement of an object instead of the object.
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_NO_LAZY_FETCH: "1",
  };
}

export const gitSettings = Object.entries({
  "core.hooksPath": "/dev/null",
  "core.fsmonitor": "false",
  "core.attributesFile": "/dev/null",
  "core.excludesFile": "/dev/null",
  "core.autocrlf": "false",
  "core.fsync": "none",
  "core.compression": "1",
  "pack.compression": "1",
  "fastimport.unpackLimit": "0",
  "core.protectNTFS": "false",
  "core.quotePath": "false",
  "core.logAllRefUpdates": "false",
  "submodule.recurse": "false",
  "gc.auto": "0",
}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
