import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { readGitBranch } from "./git-branch.ts";

const root = mkdtempSync(join(tmpdir(), "git-branch-"));
afterAll(() => rmSync(root, { recursive: true }));

function project(name: string, head: string | null): string {
  const directory = join(root, name);
  mkdirSync(join(directory, ".git"), { recursive: true });
  if (head !== null) writeFileSync(join(directory, ".git", "HEAD"), head);
  return directory;
}

test("the branch, a detached commit and the branch of a worktree are read", () => {
  const main = project("main", "ref: refs/heads/feature/größe\n");
  expect(readGitBranch(main)).toBe("feature/größe");
  expect(readGitBranch(project("detached", `${"0123456789".repeat(4)}\n`))).toBe("01234567");
  const worktree = join(root, "worktree");
  mkdirSync(worktree);
  writeFileSync(join(worktree, ".git"), `gitdir: ${join(main, ".git")}\n`);
  expect(readGitBranch(worktree)).toBe("feature/größe");
});

test("a project without a readable repository has no branch", () => {
  const outside = join(root, "secret");
  writeFileSync(outside, "ref: refs/heads/stolen\n");
  const linked = project("linked", null);
  symlinkSync(outside, join(linked, ".git", "HEAD"));
  const pipe = project("pipe", null);
  Bun.spawnSync(["mkfifo", join(pipe, ".git", "HEAD")]);
  const toPipe = join(root, "to-pipe");
  mkdirSync(toPipe);
  writeFileSync(join(toPipe, ".git"), `gitdir: ${join(pipe, ".git")}\n`);
  const escape = project("escape", "ref: refs/heads/\u001b[31mred\n");
  const long = project("long", `ref: refs/heads/${"x".repeat(5000)}\n`);
  expect([linked, pipe, toPipe, escape, long, project("empty", ""), join(root, "none")].map(readGitBranch)).toEqual(Array(7).fill(null));
});
