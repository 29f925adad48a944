// Leaves a file for whoever empties a directory in the order of its names: whole or not at all, and after all that
// still lies there, also when the clock was set back. Until it is whole its name begins with a dot.
import { readdirSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const pattern = /^(\d{13})-(\d{4})-([0-9a-f]{12})\.json$/;

export function newDropId(): string {
  return crypto.randomUUID().slice(-12);
}

/** The id of a file that was left whole; null for any other name. */
export function dropIdOf(name: string): string | null {
  return pattern.exec(name)?.[3] ?? null;
}

export function dropFile(directory: string, id: string, text: string): void {
  const name = `${nextPlace(directory)}-${id}.json`;
  const temporary = join(directory, `.${name}`);
  try {
    writeFileSync(temporary, text, { mode: 0o600, flag: "wx" });
    renameSync(temporary, join(directory, name));
  } catch (error) {
    rmSync(temporary, { force: true });
    throw error;
  }
}

function nextPlace(directory: string): string {
  const now = placeOf(Date.now(), 0);
  const latest = readdirSync(directory)
    .filter((name) => pattern.test(name))
    .reduce((last, name) => (name > last ? name : last), "");
  if (latest < now) return now;
  const [, time, count] = pattern.exec(latest) ?? [];
  return Number(count) < 9999 ? placeOf(Number(time), Number(count) + 1) : placeOf(Number(time) + 1, 0);
}

function placeOf(time: number, count: number): string {
  return `${String(time).padStart(13, "0")}-${String(count).padStart(4, "0")}`;
}
