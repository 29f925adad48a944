// Writes a file completely or not at all: a temporary file beside it, then a rename. An existing file gets exactly the
// given mode; for a new one the umask applies.
import { chmodSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

export function replaceFile(path: string, text: string, modes: { file: number; directory: number }): void {
  const temporary = `${path}.${process.pid}-${crypto.randomUUID()}.tmp`;
  mkdirSync(dirname(path), { recursive: true, mode: modes.directory });
  try {
    writeFileSync(temporary, text, { mode: modes.file, flag: "wx", flush: true });
    if (existsSync(path)) chmodSync(temporary, modes.file);
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
