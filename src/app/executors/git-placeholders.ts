// Creates placeholder files in a repository, so that the sandbox can protect them. The last process that needs them
// removes them, because the other processes still need the protection.
import { appendFileSync, mkdirSync, readFileSync, readdirSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processStartTime } from "../../kit/process/processes.ts";
import { createGitPlaceholders, writableRepositories } from "../../sandbox/git-paths.ts";

let holdCount = 0;

/** Returns the function that releases the placeholders of all repositories that tools can write in `directory`. */
export function holdGitPlaceholders(stateDir: string, directory: string): () => void {
  const releases = writableRepositories(directory).map((repository) => holdRepository(stateDir, realpathSync(repository)));
  return () => releases.forEach((release) => release());
}

/** Holders are counted for the repository, because worktrees in several directories share it. */
function holdRepository(stateDir: string, repository: string): () => void {
  const holdDirectory = join(stateDir, "guards", Bun.hash(repository).toString(16));
  const holdFile = join(holdDirectory, `${process.pid}-${processStartTime(process.pid)}-${(holdCount += 1)}`);
  try {
    mkdirSync(holdDirectory, { recursive: true, mode: 0o700 });
    writeFileSync(holdFile, "");
    const created = createGitPlaceholders(repository);
    if (created.length > 0) appendFileSync(join(holdDirectory, "made"), created.map((path) => `${path}\n`).join(""));
  } catch {
    createGitPlaceholders(repository); // no hold file can be written, so the placeholders stay
    return () => {};
  }
  return () => {
    rmSync(holdFile, { force: true });
    if (hasOthers(holdDirectory)) return;
    for (const path of createdPaths(holdDirectory)) removePlaceholder(path);
    // A process that started meanwhile relies on the removed files.
    if (hasOthers(holdDirectory)) createGitPlaceholders(repository);
    else rmSync(holdDirectory, { recursive: true, force: true });
  };
}

function hasOthers(holdDirectory: string): boolean {
  return readdirSync(holdDirectory).some((name) => {
    const [pid, started] = name.split("-");
    if (started === undefined) return false;
    const isAlive = processStartTime(Number(pid)) === started;
    if (!isAlive) rmSync(join(holdDirectory, name), { force: true });
    return isAlive;
  });
}

function createdPaths(holdDirectory: string): string[] {
  try {
    return readFileSync(join(holdDirectory, "made"), "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

/** Removes a file only if it still has the content of a placeholder. */
function removePlaceholder(path: string): void {
  try {
    if (readFileSync(path, "utf8").replace(".\n", "") === "") rmSync(path);
  } catch {
    // The file is already removed, or can't be read.
  }
}
