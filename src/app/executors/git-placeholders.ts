// Creates placeholder files in a repository, so that the sandbox can protect them. The last process that needs them
// removes them, because the other processes still need the protection.
import { appendFileSync, lstatSync, mkdirSync, readdirSync, readFileSync, realpathSync, rmdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processStartTime } from "../../kit/process/processes.ts";
import { readSafely } from "../../kit/files/safe-file.ts";
import type { NamedPaths } from "../../sandbox/git-config.ts";
import { createGitPlaceholders, createPlaceholder, writableRepositories } from "../../sandbox/git-paths.ts";

let holdCount = 0;

/** Returns the function that releases the placeholders of all repositories that tools can write in `directory`. */
export function holdGitPlaceholders(stateDir: string, directory: string): Release {
  const repositories = writableRepositories(directory).map((repository) => realpathSync(repository));
  // Holders are counted for the repository, because worktrees in several directories share it.
  return releaseAll(repositories.map((repository) => hold(stateDir, repository, () => createGitPlaceholders(repository))));
}

/** The same for paths that git's settings name. Also an existing path is held: it may be another session's placeholder. */
export function holdConfiguredPaths(stateDir: string, { hooks, includes }: NamedPaths): Release {
  return releaseAll([
    ...hooks.map((path) => hold(stateDir, path, () => createPlaceholder(path, "directory"))),
    ...includes.map((path) => hold(stateDir, path, () => createPlaceholder(path, "file"))),
  ]);
}

type Release = () => void;

function releaseAll(releases: Release[]): Release {
  return () => releases.forEach((release) => release());
}

/** `create` returns the paths that it created. Holders are counted for `key`. */
function hold(stateDir: string, key: string, create: () => string[]): Release {
  const holdDirectory = join(stateDir, "guards", Bun.hash(key).toString(16));
  const holdFile = join(holdDirectory, `${process.pid}-${processStartTime(process.pid)}-${(holdCount += 1)}`);
  try {
    mkdirSync(holdDirectory, { recursive: true, mode: 0o700 });
    writeFileSync(holdFile, "");
    const created = create();
    if (created.length > 0) appendFileSync(join(holdDirectory, "made"), created.map((path) => `${path}\n`).join(""));
  } catch {
    create(); // no hold file can be written, so the placeholders stay
    return () => {};
  }
  return () => {
    rmSync(holdFile, { force: true });
    if (hasOthers(holdDirectory)) return;
    for (const path of createdPaths(holdDirectory).toReversed()) removePlaceholder(path);
    // A process that started meanwhile relies on the removed files.
    if (hasOthers(holdDirectory)) create();
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

/** Removes a directory only if it is empty, and a file only if it still has the content of a placeholder. */
function removePlaceholder(path: string): void {
  try {
    if (lstatSync(path).isDirectory()) rmdirSync(path);
    else if (readSafely(path, { maxBytes: 2 })?.toString().replace(".\n", "") === "") rmSync(path);
  } catch {
    // The file is already removed, or can't be read.
  }
}
