// Files of the hub: hub.json, the token, and the lock that only one hub holds. Only this user can read them, and
// they are written atomically.
import { parseJson } from "../kit/text/json.ts";
import { replaceFile } from "../kit/files/replace-file.ts";
import { closeSync, mkdirSync, openSync, readFileSync, rmSync } from "node:fs";
import { join } from "node:path";
import { loadLibc } from "../kit/process/libc.ts";
import { processStartTime } from "../kit/process/processes.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";
import type { HubStateJson } from "../protocol/schema/printed.ts";

export type HubFile = HubStateJson & {
  /** Start time of its process as the system prints it. Another process may have the pid by now. */
  process_start: string;
};

export function hubPaths(state: string) {
  const pathOf = (name: string) => join(state, name);
  return { file: pathOf("hub.json"), token: pathOf("hub.token"), log: pathOf("hub.log"), lock: pathOf("hub.lock") };
}

/** Null if there is no file, or if its process has exited. */
export function readHubFile(state: string): HubFile | null {
  let text: string;
  try {
    text = readFileSync(hubPaths(state).file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Fault("file-unreadable", `can't read ${hubPaths(state).file}: ${messageOf(error)}`, { cause: error });
  }
  // The file is written atomically, so a broken one is not ours.
  const file = parseJson(text) as Partial<HubFile> | null;
  if (typeof file?.pid !== "number" || typeof file.socket !== "string") return null;
  return processStartTime(file.pid) === file.process_start ? (file as HubFile) : null;
}

export function writePrivateFile(path: string, text: string): void {
  try {
    replaceFile(path, text, { file: 0o600, directory: 0o700 });
  } catch (error) {
    throw new Fault("file-unwritable", `can't write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

export function removeHubFiles(state: string): void {
  const { file, token } = hubPaths(state);
  for (const path of [file, token]) rmSync(path, { force: true });
}

/** The lock is held until it is released or this process ends. Null: another hub holds it. */
export async function takeHubLock(state: string): Promise<{ release: () => void } | null> {
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const file = openSync(hubPaths(state).lock, "a", 0o600);
  const libc = await loadLibc();
  // If files can't be locked, only hub.json shows whether a hub runs.
  const hasLock = libc === null ? readHubFile(state) === null : libc.lock(file);
  if (!hasLock) closeSync(file);
  return hasLock ? { release: () => closeSync(file) } : null;
}
