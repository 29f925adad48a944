// Runs git on the project's own repository, only to read it. The repository may be a stranger's: nothing in its
// configuration runs a program or reaches a network, and neither its size nor what it waits for holds anybody up.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { readAtMost, gitSettings } from "../git.ts";

export type ProjectGit = {
  project: string;
  /** Where programs are looked for. */
  path: string;
};

export type GitOutput = {
  bytes: Buffer;
  /** It was cut at a bound, or the time was up. */
  isCut: boolean;
};

export type GitReadLimits = { mostBytes: number; limitMs: number };

/** Null when there is no git, no repository, or one that can't be read. */
export async function readProjectGit(
  { project, path }: ProjectGit,
  args: readonly string[],
  bounds: GitReadLimits,
): Promise<GitOutput | null> {
  const git = Bun.which("git", { PATH: path });
  const repository = join(project, ".git");
  if (git === null || !git.startsWith("/") || !existsSync(repository)) return null;
  const child = Bun.spawn([git, "--no-pager", "--no-optional-locks", ...gitSettings, ...closed, ...args], {
    cwd: project,
    env: environment(project, repository, path),
    stdin: "ignore",
    stdout: "pipe",
    stderr: "ignore",
  });
  let isLate = false;
  const clock = setTimeout(() => {
    isLate = true;
    child.kill("SIGKILL");
  }, bounds.limitMs);
  try {
    const bytes = await readAtMost(child.stdout, bounds.mostBytes, () => child.kill("SIGKILL"));
    const code = await child.exited;
    const isCut = isLate || bytes.length >= bounds.mostBytes;
    return code === 0 || isCut ? { bytes, isCut } : null;
  } finally {
    clearTimeout(clock);
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

/** What a repository's own configuration could name that is run, fetched or waited for when it is read. */
const closed = Object.entries({
  "log.showSignature": "false",
  "log.mailmap": "false",
  "protocol.allow": "never",
  "core.sshCommand": "false",
  "core.untrackedCache": "false",
  "i18n.logOutputEncoding": "UTF-8",
}).flatMap(([key, value]) => ["-c", `${key}=${value}`]);
