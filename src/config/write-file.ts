// Writes a small file whole or not at all: a temporary file beside it, then a rename.
import { mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";
import { Fault, messageOf } from "../protocol/error.ts";

export function writeWhole(path: string, text: string, modes: { file: number; directory: number }): void {
  const temporary = `${path}.${process.pid}-${crypto.randomUUID()}.tmp`;
  try {
    mkdirSync(dirname(path), { recursive: true, mode: modes.directory });
    writeFileSync(temporary, text, { mode: modes.file, flag: "wx", flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new Fault("file-unwritable", `can't write ${path}: ${messageOf(error)}`, { cause: error });
  }
}
