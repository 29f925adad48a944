import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { holdGitPlaceholders } from "./git-placeholders.ts";

let root = "";
const at = (...names: string[]) => join(root, ...names);
const commondir = () => at("project", ".git", "commondir");

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "skein-guards-"));
  mkdirSync(at("project", ".git", "objects"), { recursive: true });
  writeFileSync(at("project", ".git", "HEAD"), "ref: refs/heads/main\n");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const guard = () => holdGitPlaceholders(at("state"), at("project"));

test("what was made goes with the last that guards it, whoever made it", () => {
  const first = guard();
  const second = guard();
  expect(existsSync(commondir())).toBe(true);
  first();
  expect(existsSync(commondir())).toBe(true);
  second();
  expect(existsSync(commondir())).toBe(false);
});

test("another process that guards it keeps it, until that one is dead", async () => {
  const script = `const { holdGitPlaceholders } = await import(${JSON.stringify(join(import.meta.dir, "git-placeholders.ts"))});
    holdGitPlaceholders(${JSON.stringify(at("state"))}, ${JSON.stringify(at("project"))}); console.log("on guard"); setTimeout(() => {}, 60_000);`;
  const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  await other.stdout.getReader().read();
  guard()();
  expect(existsSync(commondir())).toBe(true);
  other.kill("SIGKILL");
  await other.exited;
  guard()();
  expect(existsSync(commondir())).toBe(false);
});

test("what somebody else wrote there stays", () => {
  const leave = guard();
  writeFileSync(commondir(), "../elsewhere\n");
  leave();
  expect(existsSync(commondir())).toBe(true);
});

test("where nothing can be noted it is made all the same, and stays", () => {
  writeFileSync(at("state"), "a file");
  guard()();
  expect(existsSync(commondir())).toBe(true);
});
