import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, mkdtempSync, renameSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createGuardWatch, type GuardWatch } from "./guard-watch.ts";

let root = "";
let config = "";
let guards: GuardWatch;
const lost: string[] = [];

beforeEach(() => {
  lost.length = 0;
  root = mkdtempSync(join(tmpdir(), "skein-guard-watch-"));
  mkdirSync(join(root, "hooks"));
  config = join(root, "config");
  writeFileSync(config, "");
  guards = createGuardWatch([config, join(root, "hooks")]);
});
afterEach(() => {
  guards.close();
  rmSync(root, { recursive: true, force: true });
});

async function untilLost(): Promise<void> {
  while (lost.length === 0) await Bun.sleep(5);
}

test("a file that another one replaces is reported once", async () => {
  guards.start((path) => lost.push(path));
  expect(guards.findLost()).toBe(null);
  writeFileSync(`${config}.lock`, "new");
  renameSync(`${config}.lock`, config);
  await untilLost();
  rmSync(join(root, "hooks"), { recursive: true });
  await Bun.sleep(20);
  expect(lost).toEqual([config]);
  expect(guards.findLost()).toBe(config);
});

test("a directory that is moved away is reported", async () => {
  guards.start((path) => lost.push(path));
  renameSync(join(root, "hooks"), join(root, "old"));
  mkdirSync(join(root, "hooks"));
  await untilLost();
  expect(lost).toEqual([join(root, "hooks")]);
});

test("a change before the start is reported at the start", () => {
  rmSync(config);
  guards.start((path) => lost.push(path));
  expect(lost).toEqual([config]);
});

test("a change of the content alone is no loss, because the mount stays", async () => {
  guards.start((path) => lost.push(path));
  appendFileSync(config, "[a]\n");
  writeFileSync(join(root, "other"), "");
  await Bun.sleep(50);
  expect(lost).toEqual([]);
});

test("a directory that is created again counts as replaced, though it may get the inode of the removed one", () => {
  rmSync(join(root, "hooks"), { recursive: true });
  mkdirSync(join(root, "hooks"));
  expect(guards.findLost()).toBe(join(root, "hooks"));
});
