// Puts a file into a directory that another process empties in the order of file names. The file is written completely
// or not at all, and sorts after all files there, even if the clock was set back. While it is written its name begins
// with a dot.
import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const pattern = /^(\d{13})-(\d{4})-([0-9a-f]{12})\.json$/;

export function newDropId(): string {
  return crypto.randomUUID().slice(-12);
}

/** The id of a complete file; null for other names. */
export function dropIdOf(name: string): string | null {
  return pattern.exec(name)?.[3] ?? null;
}

export function dropFile(directory: string, id: string, text: string): void {
  const name = `${nextPrefix(directory)}-${id}.json`;
  const temporary = join(directory, `.${name}`);
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
    renameSync(temporary, join(directory, name));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function nextPrefix(directory: string): string {
  const now = prefixOf(Date.now(), 0);
  const names = readdirSync(directory).filter((name) => pattern.test(name));
  const latest = names.toSorted().at(-1) ?? "";
  if (latest < now) return now;
  const [, time, count] = pattern.exec(latest) ?? [];
  return Number(count) < 9999 ? prefixOf(Number(time), Number(count) + 1) : prefixOf(Number(time) + 1, 0);
}

function prefixOf(time: number, count: number): string {
  return `${String(time).padStart(13, "0")}-${String(count).padStart(4, "0")}`;
}
