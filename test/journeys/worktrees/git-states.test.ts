// Worktrees of projects in unusual states: no commit, no git, a detached HEAD, a submodule, a worktree of git, a subdirectory.
import { afterAll, expect, test } from "bun:test";
import { existsSync, mkdirSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { git } from "../../support/team-journey.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { commitAll, readIn, runCommand, smallRepository } from "../../support/worktree-journey.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

test("without a commit, and without git, a worktree starts with all files of now, and its work can be merged", async () => {
  for (const hasGit of [true, false]) {
    using skein = temporaryHome(vendorEnv(server.url));
    rmSync(join(skein.project, ".git"), { recursive: true });
    if (hasGit) git(skein.project, "init", "-q");
    writeFileSync(join(skein.project, "a.txt"), "one\n");
    await runCommand(skein, server, "cat a.txt; echo two >> a.txt", ["-w", "feat", "work"]);
    expect(server.main().at(-1)?.text).toContain("one");
    expect(readIn(skein.project, "a.txt")).toEqual(["one\n"]);
    const merged = await skein.run(["merge", "feat", "--yes"]);
    expect([merged.code, ...readIn(skein.project, "a.txt")]).toEqual([0, "one\ntwo\n"]);
    expect(existsSync(join(skein.project, ".git"))).toBe(hasGit);
  }
});

test("a repository that git can't read is refused with the reason", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const refused = await skein.run(["run", "-m", wireModels.anthropic, "-w", "feat", "work"]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("git can't read the repository of")]);
});

test("a detached HEAD stays detached, and the worktree starts at its commit", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  writeFileSync(join(skein.project, "a.txt"), "second\n");
  commitAll(skein.project, "second");
  git(skein.project, "checkout", "-q", "HEAD~1");
  const head = git(skein.project, "rev-parse", "HEAD");
  await runCommand(skein, server, "cat a.txt; echo b > b.txt", ["-w", "feat", "work"]);
  expect(server.main().at(-1)?.text).toContain("one\\ntwo");
  expect((await skein.run(["merge", "feat", "--yes"])).code).toBe(0);
  expect([git(skein.project, "rev-parse", "HEAD"), git(skein.project, "branch", "--show-current")]).toEqual([head, ""]);
  expect(readIn(skein.project, "b.txt")).toEqual(["b\n"]);
});

test("a submodule is an empty directory in the worktree, and files in it never replace the project's submodule", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const inner = join(skein.root, "inner");
  mkdirSync(inner);
  smallRepository(inner);
  smallRepository(skein.project);
  git(skein.project, "-c", "protocol.file.allow=always", "submodule", "add", "-q", inner, "sub");
  commitAll(skein.project, "with a submodule");
  await runCommand(skein, server, "ls sub; echo x > sub/x.txt; echo b > b.txt", ["-w", "feat", "work"]);
  const merged = await skein.run(["merge", "feat", "--yes", "--stat"]);
  expect([merged.code, merged.out]).toEqual([0, "A b.txt  +1 -0\n"]);
  expect(merged.err).toContain("files in a submodule are not part of the work: sub");
  expect(readIn(skein.project, "sub/a.txt", "sub/x.txt", "b.txt")).toEqual(["one\ntwo\nthree\n", null, "b\n"]);
  expect(git(skein.project, "status", "--porcelain", "sub")).toBe("");
});

test("a project that is a worktree of git, and a directory inside of the project, keep their place", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  mkdirSync(join(skein.project, "pkg"));
  writeFileSync(join(skein.project, "pkg", "p.txt"), "p\n");
  commitAll(skein.project, "second");
  const other = join(skein.root, "other");
  git(skein.project, "worktree", "add", "-q", other);
  server.setScript(shellScript(["pwd; cat p.txt; echo q > q.txt"]));
  const options = { cwd: join(other, "pkg") };
  const done = await skein.run(["run", "-m", wireModels.anthropic, "-w", "feat", "work"], options);
  expect([done.code, server.main().at(-1)?.text]).toEqual([0, expect.stringContaining("/other/.skein/worktrees/feat/pkg")]);
  const merged = await skein.run(["merge", "feat", "--yes"], options);
  expect([merged.code, ...readIn(other, "pkg/q.txt"), ...readIn(skein.project, "pkg/q.txt")]).toEqual([0, "q\n", null]);
});

test("a project in a subdirectory of a repository has worktrees of that directory alone", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const inner = join(skein.project, "pkg");
  mkdirSync(join(inner, ".skein"), { recursive: true });
  writeFileSync(join(inner, "p.txt"), "p\n");
  commitAll(skein.project, "second");
  server.setScript(shellScript(["ls; echo q > q.txt"]));
  const done = await skein.run(["run", "-m", wireModels.anthropic, "-w", "feat", "work"], { cwd: inner });
  expect(done.code).toBe(0);
  const place = join(inner, ".skein", "worktrees", "feat");
  expect(readIn(place, "p.txt", "a.txt", "q.txt")).toEqual(["p\n", null, "q\n"]);
  const merged = await skein.run(["merge", "feat", "--yes"], { cwd: inner });
  expect([merged.code, ...readIn(inner, "q.txt")]).toEqual([0, "q\n"]);
});
