// Files that skein makes in a repository so that they can be guarded. They go with the last process that guards them:
// taken away earlier, the guard of every other process on this machine would be gone with them.
import { appendFileSync, mkdirSync, readdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { processStartTime } from "../../kit/process/processes.ts";
import { createGitPlaceholders } from "../../sandbox/git-paths.ts";

let guards = 0;

/** Gives back what ends it. */
export function holdGitPlaceholders(stateDir: string, directory: string): () => void {
  const folder = join(stateDir, "guards", Bun.hash(directory).toString(16));
  const own = join(folder, `${process.pid}-${processStartTime(process.pid)}-${(guards += 1)}`);
  try {
    mkdirSync(folder, { recursive: true, mode: 0o700 });
    writeFileSync(own, "");
    const made = createGitPlaceholders(directory);
    if (made.length > 0) appendFileSync(join(folder, "made"), made.map((path) => `${path}\n`).join(""));
  } catch {
    createGitPlaceholders(directory); // Where nobody can be told of it, it stays.
    return () => {};
  }
  return () => {
    rmSync(own, { force: true });
    if (hasOthers(folder)) return;
    for (const path of madeIn(folder)) takeAway(path);
    // Whoever came while we went has found what is gone now.
    if (hasOthers(folder)) createGitPlaceholders(directory);
    else rmSync(folder, { recursive: true, force: true });
  };
}

function hasOthers(folder: string): boolean {
  return readdirSync(folder).some((name) => {
    const [pid, started] = name.split("-");
    if (started === undefined) return false;
    const isThere = processStartTime(Number(pid)) === started;
    if (!isThere) rmSync(join(folder, name), { force: true });
    return isThere;
  });
}

function madeIn(folder: string): string[] {
  try {
    return readFileSync(join(folder, "made"), "utf8").split("\n").slice(0, -1);
  } catch {
    return [];
  }
}

/** Only what still says what its absence says. */
function takeAway(path: string): void {
  try {
    if (readFileSync(path, "utf8").replace(".\n", "") === "") rmSync(path);
  } catch {
    // It is gone, or somebody else's now.
  }
}
