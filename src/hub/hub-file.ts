// What the hub leaves for those who look for it: hub.json, the token beside it, the lock that only one hub holds.
// All of it can be read by this user alone, and is there whole or not at all.
import { isRecord } from "../kit/text/json.ts";
import { closeSync, mkdirSync, openSync, readFileSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { loadLibc } from "../kit/process/libc.ts";
import { processStartTime } from "../kit/process/processes.ts";
import { Fault, messageOf } from "../protocol/api/error.ts";

export type HubFile = {
  url: string;
  socket: string;
  pid: number;
  version: string;
  protocol: number;
  started_at: string;
  token_file: string;
  /** When its process began, in the system's own words: another one may have the pid by now. */
  process_start: string;
};

export type HubPaths = { file: string; token: string; log: string; lock: string };

export function hubPaths(state: string): HubPaths {
  const at = (name: string) => join(state, name);
  return { file: at("hub.json"), token: at("hub.token"), log: at("hub.log"), lock: at("hub.lock") };
}

/** Null when there is none, or when what it names is gone. */
export function readHubFile(state: string): HubFile | null {
  let text: string;
  try {
    text = readFileSync(hubPaths(state).file, "utf8");
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return null;
    throw new Fault("file-unreadable", `can't read ${hubPaths(state).file}: ${messageOf(error)}`, { cause: error });
  }
  const found = hubFileIn(text);
  return found !== null && processStartTime(found.pid) === found.process_start ? found : null;
}

/** It is written whole: anything else was not written by us. */
function hubFileIn(text: string): HubFile | null {
  try {
    const found: unknown = JSON.parse(text);
    return isRecord(found) && typeof found["pid"] === "number" && typeof found["socket"] === "string" ? (found as HubFile) : null;
  } catch {
    return null;
  }
}

export function writePrivateFile(path: string, text: string): void {
  const temporary = `${path}.${process.pid}.tmp`;
  try {
    writeFileSync(temporary, text, { mode: 0o600, flush: true });
    renameSync(temporary, path);
  } catch (error) {
    rmSync(temporary, { force: true });
    throw new Fault("file-unwritable", `can't write ${path}: ${messageOf(error)}`, { cause: error });
  }
}

export function removeHubFiles(state: string): void {
  const { file, token } = hubPaths(state);
  for (const path of [file, token]) rmSync(path, { force: true });
}

/** Held until it is released or this process ends, however it ends. Null: another hub holds it. */
export async function takeHubLock(state: string): Promise<{ release: () => void } | null> {
  mkdirSync(state, { recursive: true, mode: 0o700 });
  const file = openSync(hubPaths(state).lock, "a", 0o600);
  const libc = await loadLibc();
  // Where files can't be locked, hub.json alone says who is there.
  const isOurs = libc === null ? readHubFile(state) === null : libc.lock(file);
  if (!isOurs) closeSync(file);
  return isOurs ? { release: () => closeSync(file) } : null;
}
