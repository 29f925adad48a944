// The native launcher as a file that can be executed. Its bytes are in native-launcher.json, built from launcher.c by
// `bun tools/native-launcher.ts`.
import { chmodSync, mkdirSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import built from "./native-launcher.json";

/**
 * The launcher's path in a private directory that no tool can write. Null if there is none for this machine, or if the
 * directory can't be written. The file is compared at each call, because the launcher starts outside of the sandbox.
 */
export function installNativeLauncher(directory: string): string | null {
  const encoded = process.platform === "linux" ? (built.programs as Record<string, string | undefined>)[process.arch] : undefined;
  if (encoded === undefined) return null;
  const bytes = Buffer.from(encoded, "base64");
  // Two versions of skein may share the directory.
  const path = join(directory, `launcher-${Bun.hash(bytes).toString(16)}`);
  try {
    if (readFileSync(path).equals(bytes)) return path;
  } catch {
    // It is missing, and written below.
  }
  try {
    mkdirSync(directory, { recursive: true, mode: 0o700 });
    replaceFile(path, bytes);
    return path;
  } catch {
    return null;
  }
}

/** A launcher that another process is just starting stays as it is. */
function replaceFile(path: string, bytes: Buffer): void {
  const temporary = `${path}.${process.pid}`;
  try {
    writeFileSync(temporary, bytes, { mode: 0o700 });
    chmodSync(temporary, 0o700);
    renameSync(temporary, path);
  } finally {
    rmSync(temporary, { force: true });
  }
}
