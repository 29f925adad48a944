// Reads the project's own repository with git. The repository is not trusted: its configuration can run no program
// and use no network. Output size and time are limited.
import { existsSync } from "node:fs";
import { join } from "node:path";
import type { ShellResult } from "../../kit/process/command-shell.ts";
import { gitSettings, type GitCommand, type GitRunner } from "../git.ts";

export type ProjectGit = { project: string; git: GitRunner };

export type GitOutput = {
  bytes: Buffer;
  /** The output was cut at the size or time limit. */
  isCut: boolean;
};

export type GitReadLimits = { maxBytes: number; limitMs: number };

/** Null if there is no git, no repository, or one that git can't read. */
export async function readProjectGit(
  { project, git }: ProjectGit,
  args: readonly string[],
  limits: GitReadLimits,
): Promise<GitOutput | null> {
  if (!existsSync(join(project, ".git"))) return null;
  const result = await tryProjectGit({ project, git }, args, limits).catch(() => null);
  if (result === null) return null;
  const isCut = result.code === null || result.out.length >= limits.maxBytes;
  return result.code === 0 || isCut ? { bytes: result.out, isCut } : null;
}

/** Reads without any write access, also to the repository. The code is null if it took too long. */
export function tryProjectGit(
  { project, git }: ProjectGit,
  args: readonly string[],
  { stdin, ...limits }: GitReadLimits & { stdin?: Uint8Array },
): Promise<ShellResult> {
  return git({
    ...projectGitCommand(project, args),
    project,
    access: "read",
    repository: null,
    maxBytes: limits.maxBytes,
    signal: AbortSignal.timeout(limits.limitMs),
    ...(stdin && { stdin }),
  });
}

/** The arguments and variables with which git runs no program of the project's repository. */
export function projectGitCommand(project: string, args: readonly string[]): Pick<GitCommand, "args" | "env"> {
  return {
    args: ["--no-pager", "--no-optional-locks", ...gitSettings, ...safeSettings, ...args],
    env: environment(project, join(project, ".git")),
  };
}

function environment(project: string, repository: string): Record<string, string> {
  return {
    LC_ALL: "C",
    GIT_DIR: repository,
    GIT_WORK_TREE: project,
    GIT_CONFIG_NOSYSTEM: "1",
    GIT_CONFIG_GLOBAL: "/dev/null",
    GIT_ATTR_NOSYSTEM: "1",
    GIT_LITERAL_PATHSPECS: "1",
    GIT_TERMINAL_PROMPT: "0",
    GIT_NO_LAZY_FETCH: "1",
    GIT_NO_REPLACE_OBJECTS: "1",
    GIT_ALLOW_PROTOCOL: "none",
  };
}

/** Turns off the settings with which a repository could run, fetch or wait for something when it is read. */
const safeSettings = Object.entries({
  "log.showSignature": "false",
  "log.mailmap": "false",
  "protocol.allow": "never",
  "core.sshCommand": "false",
  "core.untrackedCache": "false",
  "i18n.logOutputEncoding": "UTF-8",
}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
