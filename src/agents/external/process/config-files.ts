// Reads and writes files in a CLI's configuration directory. The CLI can write there too, so no link is followed: it
// could lead skein to files outside of the CLI's sandbox.
import {
  closeSync,
  constants,
  fstatSync,
  lstatSync,
  mkdirSync,
  openSync,
  readFileSync,
  readlinkSync,
  renameSync,
  rmSync,
  symlinkSync,
  unlinkSync,
  writeFileSync,
} from "node:fs";
import type { Adapter, CliLaunch } from "../adapters/adapter.ts";

/** Creates the directory and the files that the CLI needs at its start. */
export function prepareConfigDir({ files, transcriptRepair }: Pick<Adapter, "files" | "transcriptRepair">, launch: CliLaunch): void {
  const { configDir, start } = launch;
  mkdirSync(configDir, { recursive: true, mode: 0o700 });
  for (const [path, text] of Object.entries(files(launch))) writeConfigFile(configDir, path, text);
  if (transcriptRepair === undefined || start.how === "new") return;
  for (const path of new Bun.Glob(transcriptRepair.glob(start.id)).scanSync({ cwd: configDir, dot: true })) {
    const text = readConfigFile(configDir, path);
    const repaired = text === null ? null : transcriptRepair.repair(text);
    if (repaired !== null && repaired !== text) writeConfigFile(configDir, path, repaired);
  }
}

/** The last model in the CLI's own record of a session; null if there is none. The id and the record are the CLI's own words. */
export function readRecordedModel(directory: string, record: NonNullable<Adapter["modelRecord"]>, sessionId: string): string | null {
  if (!/^[\w-]{1,100}$/.test(sessionId)) return null;
  for (const path of new Bun.Glob(record.glob(sessionId)).scanSync({ cwd: directory, dot: true })) {
    const model = [...(readConfigFile(directory, path) ?? "").matchAll(record.model)].at(-1)?.[1];
    if (model !== undefined && /^[\w./:@-]{1,100}$/.test(model)) return model;
  }
  return null;
}

/** `path` is relative to the directory, which must exist. Replaces files and links on the path, but no directory. */
export function writeConfigFile(directory: string, path: string, text: string): void {
  withFile(directory, path, makeDirectory, (file) => {
    const fresh = `${file}.${crypto.randomUUID()}`;
    writeFileSync(fresh, text, { mode: 0o600, flag: "wx" });
    renameSync(fresh, file);
  });
}

/** Links a file of the user into the directory. With null it removes the link of an earlier turn. */
export function linkConfigFile(directory: string, path: string, target: string | null): void {
  withFile(directory, path, makeDirectory, (link) => {
    if (target !== null && lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(link) === target) return;
    rmSync(link, { force: true, recursive: true });
    if (target !== null) symlinkSync(target, link);
  });
}

const maxFileBytes = 64 << 20;

/** Returns null if the file is missing, is no regular file, or is larger than 64 MB. */
export function readConfigFile(directory: string, path: string): string | null {
  try {
    return withFile(directory, path, openDirectory, (file) => {
      const fd = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const stat = fstatSync(fd);
        return stat.isFile() && stat.size <= maxFileBytes ? readFileSync(fd, "utf8") : null;
      } finally {
        closeSync(fd);
      }
    });
  } catch {
    return null;
  }
}

/** Opens each directory on the path in turn, so that none can be replaced by a link meanwhile. */
function withFile<T>(directory: string, path: string, open: (directory: string) => number, act: (file: string) => T): T {
  const names = path.split("/");
  const last = names.pop() ?? "";
  let current = directory;
  let fd = openDirectory(current);
  try {
    for (const name of names) {
      const next = open(`${pathOf(fd, current)}/${name}`);
      closeSync(fd);
      fd = next;
      current = `${current}/${name}`;
    }
    return act(`${pathOf(fd, current)}/${last}`);
  } finally {
    closeSync(fd);
  }
}

/** Only Linux has paths through an open directory. */
function pathOf(fd: number, directory: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${fd}` : directory;
}

function openDirectory(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

function makeDirectory(path: string): number {
  try {
    return openDirectory(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR" && code !== "ELOOP") throw error;
    if (code !== "ENOENT") unlinkSync(path);
    mkdirSync(path, { mode: 0o700 });
    return openDirectory(path);
  }
}
