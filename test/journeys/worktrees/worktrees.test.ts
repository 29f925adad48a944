// Sessions that work in worktrees: their files, their place in the project's lists, forks, and deleted directories.
import { afterAll, expect, test } from "bun:test";
import { existsSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { git } from "../../support/team-journey.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { readIn, runCommand, smallRepository } from "../../support/worktree-journey.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

test("a session in a worktree starts at the last commit, and changes neither files nor repository of the project", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  writeFileSync(join(skein.project, "a.txt"), "by hand\n");
  const before = [git(skein.project, "status", "--porcelain"), git(skein.project, "rev-parse", "HEAD")];
  const command =
    "cat a.txt; echo agent > b.txt; echo no > ../../../escaped.txt; echo port $SKEIN_PORT $SKEIN_WORKTREE; git log --oneline | wc -l";
  await runCommand(skein, server, command, ["-w", "feat", "write b", "--session", "s"]);
  const place = join(skein.project, ".skein", "worktrees", "feat");
  expect(readIn(place, "a.txt", "b.txt")).toEqual(["one\ntwo\nthree\n", "agent\n"]);
  expect(readIn(skein.project, "a.txt", "b.txt", "escaped.txt")).toEqual(["by hand\n", null, null]);
  expect([git(skein.project, "status", "--porcelain"), git(skein.project, "rev-parse", "HEAD")]).toEqual(before);
  const request = server.main().at(-1)?.text ?? "";
  expect(request).toContain("one\\ntwo\\nthree");
  expect(request).toMatch(/port 2\d{4} feat/);

  const listed = (await skein.run(["list", "--json"])).json();
  expect(JSON.stringify(listed)).toContain('"worktree":{"name":"feat"');
  await runCommand(skein, server, "echo more >> b.txt; pwd", ["go on", "--continue"]);
  expect(server.main().at(-1)?.text).toContain(place);
  const undone = await skein.run(["undo", "s"]);
  expect([undone.code, undone.out]).toEqual([0, expect.stringContaining("M b.txt")]);
  expect(readIn(place, "b.txt")).toEqual(["agent\n"]);
});

test("--with-changes starts with the uncommitted files, and a worktree of that name is used again", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  writeFileSync(join(skein.project, "a.txt"), "by hand\n");
  writeFileSync(join(skein.project, "new.txt"), "new\n");
  await runCommand(skein, server, "echo agent > b.txt", ["-w", "feat", "--with-changes", "write b"]);
  const place = join(skein.project, ".skein", "worktrees", "feat");
  expect(readIn(place, "a.txt", "new.txt", "b.txt")).toEqual(["by hand\n", "new\n", "agent\n"]);
  const second = await runCommand(skein, server, "cat b.txt", ["-w", "feat", "read b"]);
  expect(second.stderr).toContain("worktree feat exists, so the session continues in it");
  expect(server.main().at(-1)?.text).toContain("agent");
});

test("a fork in a worktree starts with the files of its node, and its base is what the project had there", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const first = await runCommand(skein, server, "echo 1 > n.txt", ["one", "--session", "s"]);
  await runCommand(skein, server, "echo 2 > n.txt", ["two", "--session", "s"]);
  const forked = await skein.run(["fork", "s", "--at", first.node_id!, "-w", "other", "--json"]);
  expect([forked.code, forked.err]).toEqual([0, ""]);
  const place = join(skein.project, ".skein", "worktrees", "other");
  expect([...readIn(place, "n.txt"), ...readIn(skein.project, "n.txt")]).toEqual(["1\n", "2\n"]);
  expect(git(place, "status", "--porcelain")).toBe("");
  const { id } = forked.json() as { id: string };
  await runCommand(skein, server, "echo fork > f.txt", ["--session", id, "go on"]);
  const twice = await skein.run(["fork", id, "-w", "third", "--json"]);
  expect([twice.code, twice.err]).toEqual([0, ""]);
  const third = join(skein.project, ".skein", "worktrees", "third");
  expect(readIn(third, "n.txt", "f.txt")).toEqual(["1\n", "fork\n"]);
  expect(git(third, "status", "--porcelain")).toBe("?? f.txt");
});

test("a deleted worktree directory is created again with the files that were recorded last", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const { session_id } = await runCommand(skein, server, "echo agent > b.txt", ["-w", "feat", "write b"]);
  const place = join(skein.project, ".skein", "worktrees", "feat");
  rmSync(place, { recursive: true });
  const again = await runCommand(skein, server, "cat b.txt", ["--session", session_id, "read b"]);
  expect(again.stderr).toContain("skein created it again with its last recorded files");
  expect([existsSync(join(place, "a.txt")), ...readIn(place, "b.txt")]).toEqual([true, "agent\n"]);
});

test("a worktree without a name has the end of the session's id, and --ephemeral can't have one", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const { session_id } = await runCommand(skein, server, "pwd", ["-w", "--", "where are you"]);
  expect(server.main().at(-1)?.text).toContain(`.skein/worktrees/${session_id.slice(-8)}`);
  const refused = await skein.run(["run", "-m", wireModels.anthropic, "-w", "x", "--ephemeral", "task"]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("--ephemeral and --worktree exclude each other")]);
  const unnamed = await runCommand(skein, server, "pwd", ["-w", "a task of words"]);
  expect(unnamed.session_id).not.toBe(session_id);
});
