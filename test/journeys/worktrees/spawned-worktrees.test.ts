// Sub-sessions in worktrees of their own: their first files, the result that their parent gets, and the merge of their work.
import { afterAll, expect, test } from "bun:test";
import { join } from "node:path";
import { startModelServer, type ScriptSource } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels } from "../../support/temporary-home.ts";
import { readIn, smallRepository } from "../../support/worktree-journey.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

const spawn = (task: string, worktree: unknown) => ({ name: "spawn_session", input: { task, worktree } as never });

/** The parent changes a file, then gives two tasks to sub-sessions at once. */
function twoTasks(worktree: unknown = true): ScriptSource {
  const tasks = { left: shellScript(["cat a.txt; echo left > left.txt"]), right: shellScript(["cat a.txt; echo right > right.txt"]) };
  const parent = {
    steps: [{ calls: [{ input: { command: "echo four >> a.txt" } }] }, { calls: [spawn("left", worktree), spawn("right", worktree)] }],
    final: "both are back",
  };
  return ({ position: { prompt } }) => tasks[prompt as keyof typeof tasks] ?? parent;
}

const merges = () => [...(server.main().at(-1)?.text ?? "").matchAll(/its work is in ([^;]+); the user merges it: (skein merge \S+?)\]/g)];

test("sub-sessions with a worktree start with their parent's files of now, and their work waits for skein merge", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  server.setScript(twoTasks());
  const done = await skein.run(["run", "-m", wireModels.anthropic, "divide it", "--json"]);
  expect([done.code, done.err]).toEqual([0, ""]);
  const found = merges();
  expect(found).toHaveLength(2);
  const places = found.map(([, directory]) => directory!);
  expect(places.every((place) => place.startsWith(join(skein.project, ".skein", "worktrees")))).toBe(true);
  for (const place of places) expect(readIn(place, "a.txt")).toEqual(["one\ntwo\nthree\nfour\n"]);
  expect(
    places
      .flatMap((place) => readIn(place, "left.txt", "right.txt"))
      .filter((text) => text !== null)
      .toSorted(),
  ).toEqual(["left\n", "right\n"]);
  expect(readIn(skein.project, "left.txt", "right.txt")).toEqual([null, null]);

  for (const [, , command] of found) {
    const merged = await skein.run([...command!.split(" ").slice(1), "--yes"]);
    expect([merged.code, merged.err]).toEqual([0, expect.stringContaining("merged 1 file into")]);
  }
  expect(readIn(skein.project, "a.txt", "left.txt", "right.txt")).toEqual(["one\ntwo\nthree\nfour\n", "left\n", "right\n"]);
});

test("a sub-session without the parameter works in its parent's directory, and its result names no worktree", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  server.setScript(twoTasks(false));
  expect(await skein.run(["run", "-m", wireModels.anthropic, "divide it"])).toMatchObject({ code: 0 });
  expect(merges()).toEqual([]);
  expect(readIn(skein.project, "left.txt", "right.txt")).toEqual(["left\n", "right\n"]);
});

test("the model gets the reason why there is no worktree: a wrong value, or a run that stores nothing", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  server.setScript(twoTasks("feat"));
  expect(await skein.run(["run", "-m", wireModels.anthropic, "divide it"])).toMatchObject({ code: 0 });
  expect(server.main().at(-1)?.text).toContain('\\"worktree\\" must be');
  server.setScript(twoTasks());
  expect(await skein.run(["run", "-m", wireModels.anthropic, "divide it", "--ephemeral"])).toMatchObject({ code: 0 });
  expect(server.main().at(-1)?.text).toContain("a run with --ephemeral stores nothing, so it can have no worktree");
});
