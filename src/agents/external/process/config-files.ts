// Files in an agent's own configuration directory. The agent can write there, so nothing in it is followed: a link that
// it left would lead our reading and writing out of its walls.
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

/** Makes the directory and what must stand in it before the agent starts. */
export function prepareConfigDir(adapter: Pick<Adapter, "files" | "transcript" | "repairTranscript">, launch: CliLaunch): void {
  const { configDir, directory, start } = launch;
  mkdirSync(configDir, { recursive: true, mode: 0o700 });
  for (const [path, text] of Object.entries(adapter.files(launch))) writeConfigFile(configDir, path, text);
  if (adapter.repairTranscript === undefined || start.how === "new") return;
  for (const path of new Bun.Glob(adapter.transcript(start.id, directory)).scanSync({ cwd: configDir, dot: true })) {
    const text = readConfigFile(configDir, path);
    const mended = text === null ? null : adapter.repairTranscript(text);
    if (mended !== null && mended !== text) writeConfigFile(configDir, path, mended);
  }
}

/** The path is relative to the directory, which must exist. Whatever stands in its way, but for a directory, goes. */
export function writeConfigFile(directory: string, path: string, text: string): void {
  within(directory, path, makeFolder, (file) => {
    const fresh = `${file}.${crypto.randomUUID()}`;
    writeFileSync(fresh, text, { mode: 0o600, flag: "wx" });
    renameSync(fresh, file);
  });
}

/** A file of the person's is used where it lies: a link to it, or, with null, nothing of what an earlier turn had linked. */
export function linkConfigFile(directory: string, path: string, target: string | null): void {
  within(directory, path, makeFolder, (link) => {
    if (target !== null && lstatSync(link, { throwIfNoEntry: false })?.isSymbolicLink() && readlinkSync(link) === target) return;
    rmSync(link, { force: true, recursive: true });
    if (target !== null) symlinkSync(target, link);
  });
}

const mostBytes = 64 << 20;

/** Null when there is no such file, or none that could be read whole. */
export function readConfigFile(directory: string, path: string): string | null {
  try {
    return within(directory, path, openFolder, (file) => {
      const opened = openSync(file, constants.O_RDONLY | constants.O_NOFOLLOW | constants.O_NONBLOCK);
      try {
        const found = fstatSync(opened);
        return found.isFile() && found.size <= mostBytes ? readFileSync(opened, "utf8") : null;
      } finally {
        closeSync(opened);
      }
    });
  } catch {
    return null;
  }
}

/** Goes down by directories that are held open, so that none can be exchanged for a link meanwhile. */
function within<T>(directory: string, path: string, open: (folder: string) => number, act: (file: string) => T): T {
  const names = path.split("/");
  const last = names.pop() ?? "";
  let place = directory;
  let folder = openFolder(place);
  try {
    for (const name of names) {
      const next = open(`${held(folder, place)}/${name}`);
      closeSync(folder);
      folder = next;
      place = `${place}/${name}`;
    }
    return act(`${held(folder, place)}/${last}`);
  } finally {
    closeSync(folder);
  }
}

/** Only Linux can name what stands in an open directory. */
function held(folder: number, place: string): string {
  return process.platform === "linux" ? `/proc/self/fd/${folder}` : place;
}

function openFolder(path: string): number {
  return openSync(path, constants.O_RDONLY | constants.O_DIRECTORY | constants.O_NOFOLLOW);
}

function makeFolder(path: string): number {
  try {
    return openFolder(path);
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    if (code !== "ENOENT" && code !== "ENOTDIR" && code !== "ELOOP") throw error;
    if (code !== "ENOENT") unlinkSync(path);
    mkdirSync(path, { mode: 0o700 });
    return openFolder(path);
  }
}
