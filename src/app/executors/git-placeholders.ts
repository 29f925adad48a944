// Creates placeholder files in a repository, so that the sandbox can protect them. The last process that needs them
// removes them, because the other processes still need the protection.
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processStartTime } from "../../kit/process/processes.ts";
import { createGitPlaceholders } from "../../sandbox/git-paths.ts";

let holdCount = 0;

/** Returns the function that releases the placeholders. */
export function holdGitPlaceholders(stateDir: string, directory: string): () => void {
  const holdDirectory = join(stateDir, "guards", Bun.hash(directory).toString(16));
  const holdFile = join(holdDirectory, `${process.pid}-${processStartTime(process.pid)}-${(holdCount += 1)}`);
  try {
    mkdirSync(holdDirectory, { recursive: true, mode: 0o700 });
    writeFileSync(holdFile, "");
    const created = createGitPlaceholders(directory);
    if (created.length > 0) appendFileSync(join(holdDirectory, "made"), created.map((path) => `${path}\n`).join(""));
  } catch {
    createGitPlaceholders(directory); // no hold file can be written, so the placeholders stay
    return () => {};
  }
  return () => {
    rmSync(holdFile, { force: true });
    if (hasOthers(holdDirectory)) return;
    for (const path of createdPaths(holdDirectory)) removePlaceholder(path);
    // A process that started meanwhile relies on the removed files.
    if (hasOthers(holdDirectory)) createGitPlaceholders(directory);
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
