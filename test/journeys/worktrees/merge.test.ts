// Merging the work of a worktree into the project: a changed project, conflicts, a killed merge, and the removal afterwards.
import { afterAll, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { worktreeClean, worktreeInfo, worktreeMerge } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { git } from "../../support/team-journey.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";
import { readIn, runCommand, smallRepository } from "../../support/worktree-journey.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

test("merge shows the work, needs --yes without a terminal, and keeps uncommitted changes of the project", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  writeFileSync(join(skein.project, "a.txt"), "one\ntwo\nthree\nmine\n");
  writeFileSync(join(skein.project, "mine.txt"), "mine\n");
  await runCommand(skein, server, "echo agent > b.txt; sed -i 1s/one/ONE/ a.txt", ["-w", "feat", "work", "--session", "s"]);
  const index = git(skein.project, "ls-files", "-s");
  const unasked = await skein.run(["merge", "s"]);
  expect([unasked.code, unasked.out, unasked.err]).toEqual([
    1,
    expect.stringContaining("+ONE"),
    "nothing was changed: add --yes to merge 2 files\n",
  ]);
  expect(readIn(skein.project, "b.txt")).toEqual([null]);
  const listed = worktreeInfo.array().parse((await skein.run(["worktrees", "--json"])).json());
  expect(listed.map(({ name, state, changed_files }) => [name, state, changed_files])).toEqual([["feat", "unmerged", 2]]);
  const kept = worktreeClean.parse((await skein.run(["worktrees", "clean", "--json"])).json());
  expect([kept.removed, kept.skipped.map(({ name }) => name)]).toEqual([[], ["feat"]]);

  const merged = await skein.run(["merge", "s", "--yes", "--json"]);
  expect([merged.code, worktreeMerge.parse(merged.json()).merged]).toEqual([0, true]);
  expect(readIn(skein.project, "a.txt", "b.txt", "mine.txt")).toEqual(["ONE\ntwo\nthree\nmine\n", "agent\n", "mine\n"]);
  expect(git(skein.project, "ls-files", "-s")).toBe(index);
  const again = await skein.run(["merge", "feat", "--yes"]);
  expect([again.code, again.err]).toEqual([0, "the project already has all changes\n"]);

  await runCommand(skein, server, "echo more >> b.txt", ["--session", "s", "more"]);
  writeFileSync(join(skein.project, "a.txt"), "changed after the merge\n");
  expect((await skein.run(["merge", "feat", "-y", "--stat"])).out).toBe("M b.txt  +1 -0\n");
  expect(readIn(skein.project, "a.txt", "b.txt")).toEqual(["changed after the merge\n", "agent\nmore\n"]);
  const cleaned = await skein.run(["worktrees", "clean"]);
  expect([cleaned.code, cleaned.out]).toEqual([0, expect.stringContaining("removed feat")]);
  expect(existsSync(join(skein.project, ".skein", "worktrees", "feat"))).toBe(false);
  const gone = await skein.run(["run", "--session", "s", "go on"]);
  expect([gone.code, gone.err]).toEqual([2, expect.stringContaining("the worktree feat of this session was removed")]);
});

test("a conflict changes no file, and --update brings both sides into the worktree, where it is resolved", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const place = join(skein.project, ".skein", "worktrees", "feat");
  await runCommand(skein, server, "sed -i 1s/one/agent/ a.txt; echo agent > b.txt", ["-w", "feat", "work"]);
  writeFileSync(join(skein.project, "a.txt"), "mine\ntwo\nthree\n");
  const refused = await skein.run(["merge", "feat", "--yes"]);
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("nothing was merged: the project changed in the same lines")]);
  expect(refused.err).toContain("conflict a.txt\n");
  expect([...readIn(skein.project, "a.txt", "b.txt"), ...readIn(place, "a.txt")]).toEqual([
    "mine\ntwo\nthree\n",
    null,
    "agent\ntwo\nthree\n",
  ]);
  const updated = await skein.run(["merge", "feat", "--update"]);
  expect([updated.code, updated.err]).toEqual([1, expect.stringContaining(`conflict ${join(place, "a.txt")}`)]);
  expect(readIn(place, "a.txt")).toEqual(["<<<<<<< project\nmine\n=======\nagent\n>>>>>>> worktree\ntwo\nthree\n"]);
  expect(readIn(skein.project, "a.txt")).toEqual(["mine\ntwo\nthree\n"]);
  writeFileSync(join(place, "a.txt"), "both\ntwo\nthree\n");
  expect((await skein.run(["merge", "feat", "--yes"])).code).toBe(0);
  expect(readIn(skein.project, "a.txt", "b.txt")).toEqual(["both\ntwo\nthree\n", "agent\n"]);
});

test("unmerged work is removed only by name with --force, and purge leaves it alone", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const { session_id } = await runCommand(skein, server, "echo agent > b.txt", ["-w", "feat", "work"]);
  await skein.run(["delete", session_id]);
  expect((await skein.run(["purge", session_id])).code).toBe(0);
  const place = join(skein.project, ".skein", "worktrees", "feat");
  expect(readIn(place, "b.txt")).toEqual(["agent\n"]);
  const listed = await skein.run(["worktrees"]);
  expect(listed.out).toMatch(/feat +unmerged +1 file .*purged/);
  const unnamed = await skein.run(["worktrees", "clean", "--force", "--yes"]);
  expect([unnamed.code, unnamed.err]).toEqual([2, expect.stringContaining("unmerged work is removed only by name")]);
  const unasked = await skein.run(["worktrees", "clean", "feat", "--force"]);
  expect([unasked.code, unasked.err]).toEqual([2, expect.stringContaining("can't ask for confirmation without a terminal")]);
  const dry = await skein.run(["worktrees", "clean", "feat", "--force", "--dry-run"]);
  expect([dry.out, existsSync(place)]).toEqual([expect.stringContaining("would remove feat"), true]);
  expect((await skein.run(["merge", "feat", "--yes"])).code).toBe(0);
  expect(readIn(skein.project, "b.txt")).toEqual(["agent\n"]);
  await runCommand(skein, server, "echo more > c.txt", ["-w", "feat", "work"]);
  expect((await skein.run(["worktrees", "clean", "feat", "--force", "--yes"])).code).toBe(0);
  expect(existsSync(place)).toBe(false);
});
