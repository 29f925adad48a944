// Writes a file completely or not at all: a temporary file beside it, then a rename or a link.
import { chmodSync, existsSync, linkSync, mkdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { dirname } from "node:path";

type Modes = {
  file: number;
  directory: number;
  /** False for a file that may be lost with the machine's power, such as a cache: the disk needs some milliseconds. Default: true. */
  isFlushed?: boolean;
};

/** An existing file gets exactly the given mode; for a new one the umask applies. */
export function replaceFile(path: string, text: string, modes: Modes): void {
  writeTemporary(path, text, modes, (temporary) => {
    if (existsSync(path)) chmodSync(temporary, modes.file);
    renameSync(temporary, path);
  });
}

/** Leaves a file alone that exists already, or that another process creates at the same time. */
export function createFile(path: string, text: string, modes: Modes): void {
  writeTemporary(path, text, modes, (temporary) => {
    try {
      linkSync(temporary, path);
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== "EEXIST") throw error;
    }
    rmSync(temporary);
  });
}

function writeTemporary(path: string, text: string, modes: Modes, publish: (temporary: string) => void): void {
  const temporary = `${path}.${process.pid}-${crypto.randomUUID()}.tmp`;
  mkdirSync(dirname(path), { recursive: true, mode: modes.directory });
  try {
    writeFileSync(temporary, text, { mode: modes.file, flag: "wx", flush: modes.isFlushed ?? true });
    publish(temporary);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}
