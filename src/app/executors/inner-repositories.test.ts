import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findInnerRepositories, uncheckedIndex } from "./inner-repositories.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-inner-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const owners = [process.getuid?.() ?? 0];

function git(args: string[], stdin = ""): void {
  const env = { PATH: process.env["PATH"] ?? "", HOME: root, GIT_CONFIG_NOSYSTEM: "1" };
  const { exitCode, stderr } = Bun.spawnSync(["git", "-C", root, ...args], { env, stdin: Buffer.from(stdin) });
  if (exitCode !== 0) throw new Error(stderr.toString());
}

/** Adds gitlinks to repositories without settings. */
function addRepositories(count: number): void {
  const names = Array.from({ length: count }, (_, number) => `m${number}`);
  for (const name of names) {
    mkdirSync(join(root, name, ".git"), { recursive: true });
    writeFileSync(join(root, name, ".git/HEAD"), "ref: refs/heads/main\n");
  }
  git(["update-index", "--add", "--index-info"], names.map((name) => `160000 ${"1".repeat(40)}\t${name}\n`).join(""));
}

test("an index with more repositories than are looked at counts as unchecked", () => {
  git(["init", "-q"]);
  addRepositories(3);
  const few = findInnerRepositories([root], [], owners, 4);
  expect([few.size, few.get(root)?.get(uncheckedIndex)]).toEqual([4, undefined]);
  expect(findInnerRepositories([root], [], owners, 3).get(root)?.get(uncheckedIndex)).toBe("it names more than 3 repositories");
});
