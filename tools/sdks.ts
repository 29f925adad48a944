// Installs the SDKs of test/real/sdks from its lock file, unless they are installed. Only tests need them, so they are
// no dependencies of skein. Runs no scripts of packages.
import { statSync } from "node:fs";
import { join } from "node:path";

const sdksDir = join(import.meta.dir, "../test/real/sdks");

/** npm writes this file last, so an interrupted install counts as missing. */
const installedMs = modifiedMs("node_modules/.package-lock.json");
if (installedMs === null || installedMs < modifiedMs("package-lock.json")!) {
  const command = ["npm", "ci", "--prefix", sdksDir, "--ignore-scripts", "--no-audit", "--no-fund", "--loglevel", "error"];
  const child = Bun.spawn(command, { cwd: sdksDir, stdin: "ignore", stdout: "inherit", stderr: "inherit", timeout: 300_000 });
  if ((await child.exited) !== 0) throw new Error(`failed: ${command.join(" ")}`);
}

function modifiedMs(file: string): number | null {
  return statSync(join(sdksDir, file), { throwIfNoEntry: false })?.mtimeMs ?? null;
}
