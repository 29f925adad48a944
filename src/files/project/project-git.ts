// Reads the project's own repository with git. The repository is not trusted: its configuration can run no program
// and use no network. Output size and time are limited.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readAtMost, gitSettings } from "../git.ts";

export type ProjectGit = {
  project: string;
  /** The PATH in which git is searched. */
  path: string;
};

export type GitOutput = {
  bytes: Buffer;
  /** The output was cut at the size or time limit. */
  isCut: boolean;
};

export type GitReadLimits = { maxBytes: number; limitMs: number };

/** Null if there is no git, no repository, or one that git can't read. */
export async function readProjectGit(
  { project, path }: ProjectGit,
  args: readonly string[],
  limits: GitReadLimits,
): Promise<GitOutput | null> {
  const git = Bun.which("git", { PATH: path });
  const repository = join(project, ".git");
  if (git === null || !git.startsWith("/") || !existsSync(repository)) return null;
  const child = Bun.spawn([git, "--no-pager", "--no-optional-locks", ...gitSettings, ...safeSettings, ...args], {
    cwd: project,
    env: environment(project, repository, path),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  let isLate = false;
  const timer = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, limits.limitMs);
  try {
    const bytes = await readAtMost(child.stdout, limits.maxBytes, () => child.kill("SIGKILL"));
    const code = await child.exited;
    const isCut = isLate || bytes.length >= limits.maxBytes;
    return code === 0 || isCut ? { bytes, isCut } : null;
  } finally {
    clearTimeout(timer);
  }
}

function environment(project: string, repository: string, path: string): Record<string, string> {
  return {
    PATH: path,
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
