import { expect, test } from "bun:test";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { removeOldTemps, removeScratchLeftovers, sessionTemps } from "./scratch-directory.ts";

test("old directories of ended processes are removed, with work directories that have no permissions", () => {
  const data = mkdtempSync(join(tmpdir(), "skein-scratch-"));
  const old = new Date(Date.now() - 2 * 86_400_000);
  const makeLeftover = (name: string): string => {
    const directory = join(data, "scratch", name);
    const copies = join(directory, "copies", "0a1b");
    const work = join(copies, "2c3d", "work", "work");
    mkdirSync(work, { recursive: true });
    chmodSync(work, 0);
    writeFileSync(join(copies, "nothing"), "", { mode: 0 });
    utimesSync(directory, old, old);
    return directory;
  };
  const ended = makeLeftover("1-0-abc");
  const recent = makeLeftover("2-0-def");
  utimesSync(recent, new Date(), new Date());
  removeScratchLeftovers(data);
  expect([existsSync(ended), existsSync(recent)]).toEqual([false, true]);
  utimesSync(recent, old, old);
  removeScratchLeftovers(data);
  expect(existsSync(data)).toBe(false);
  rmSync(data, { recursive: true, force: true });
});

test("temporary directories of sessions are removed a week after their last use", () => {
  const data = mkdtempSync(join(tmpdir(), "skein-temps-"));
  removeOldTemps(data); // there is none yet
  const makeTemp = (session: string, days: number): string => {
    const files = join(sessionTemps(data), session, "files");
    mkdirSync(files, { recursive: true });
    const usedAt = new Date(Date.now() - days * 86_400_000);
    utimesSync(files, usedAt, usedAt);
    return files;
  };
  const [old, recent] = [makeTemp("old", 8), makeTemp("recent", 6)];
  removeOldTemps(data);
  expect([existsSync(old), existsSync(recent)]).toEqual([false, true]);
  rmSync(data, { recursive: true, force: true });
});
