import { afterEach, beforeEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { holdGitPlaceholders } from "./git-placeholders.ts";

let root = "";
const pathOf = (...names: string[]) => join(root, ...names);
const commondir = () => pathOf("project", ".git", "commondir");

beforeEach(() => {
  root = mkdtempSync(join(tmpdir(), "skein-guards-"));
  mkdirSync(pathOf("project", ".git", "objects"), { recursive: true });
  writeFileSync(pathOf("project", ".git", "HEAD"), "ref: refs/heads/main\n");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

const holdPlaceholders = () => holdGitPlaceholders(pathOf("state"), pathOf("project"));

test("a placeholder is removed when its last holder releases it", () => {
  const first = holdPlaceholders();
  const second = holdPlaceholders();
  expect(existsSync(commondir())).toBe(true);
  first();
  expect(existsSync(commondir())).toBe(true);
  second();
  expect(existsSync(commondir())).toBe(false);
});

test("a placeholder stays while another process holds it, and is removed after that process has died", async () => {
  const script = `const { holdGitPlaceholders } = await import(${JSON.stringify(join(import.meta.dir, "git-placeholders.ts"))});
    holdGitPlaceholders(${JSON.stringify(pathOf("state"))}, ${JSON.stringify(pathOf("project"))}); console.log("ready"); setTimeout(() => {}, 60_000);`;
  const other = Bun.spawn([process.execPath, "-e", script], { stdout: "pipe", stderr: "inherit" });
  await other.stdout.getReader().read();
  holdPlaceholders()();
  expect(existsSync(commondir())).toBe(true);
  other.kill("SIGKILL");
  await other.exited;
  holdPlaceholders()();
  expect(existsSync(commondir())).toBe(false);
});

test("a placeholder stays while a session in a linked worktree needs it", () => {
  Bun.spawnSync(["git", "init", "-q", pathOf("main")]);
  const identity = ["-c", "user.name=a", "-c", "user.email=a@b"];
  Bun.spawnSync(["git", "-C", pathOf("main"), ...identity, "commit", "-q", "--allow-empty", "-m", "first"]);
  Bun.spawnSync(["git", "-C", pathOf("main"), "worktree", "add", "-q", pathOf("linked")]);
  const placeholder = pathOf("main", ".git", "commondir");
  const releaseMain = holdGitPlaceholders(pathOf("state"), pathOf("main"));
  const releaseLinked = holdGitPlaceholders(pathOf("state"), pathOf("linked"));
  releaseMain();
  expect(existsSync(placeholder)).toBe(true);
  releaseLinked();
  expect(existsSync(placeholder)).toBe(false);
});

test("a placeholder that another program has changed is not removed", () => {
  const release = holdPlaceholders();
  writeFileSync(commondir(), "../elsewhere\n");
  release();
  expect(existsSync(commondir())).toBe(true);
});

test("a placeholder is also created if its holder can't be recorded, and then stays", () => {
  writeFileSync(pathOf("state"), "a file");
  holdPlaceholders()();
  expect(existsSync(commondir())).toBe(true);
});
