// A session belongs to the directory where it began. Used from another directory it works there, and the output says so.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, rmSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const server = startModelServer({ steps: [], final: "understood" });
afterAll(() => server.stop());

const model = ["-m", wireModels.anthropic];

/** A second project beside the one of the home. */
function addProject(skein: TemporaryHome): string {
  const other = join(skein.root, "other");
  mkdirSync(join(other, ".git"), { recursive: true });
  return other;
}

test("run --session from another directory says in one line where the session works, and in its own directory nothing", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const cwd = addProject(skein);
  const first = await skein.run(["run", "hello", "--session", "mine", ...model]);
  expect(first.err).not.toContain("works in");
  const again = await skein.run(["run", "more", "--session", "mine"], { cwd });
  expect(again.err).toContain(`  works in ${skein.project}, the directory of session mine\n`);
  const chat = await skein.run(["chat", "mine"], { cwd, stdin: "and more\n" });
  expect(chat.err).toContain(`  works in ${skein.project}, the directory of session mine\n`);
});

test("the first and the last line of a run name the session alike", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const named = await skein.run(["run", "hello", "--session", "mine", ...model]);
  expect(named.err.match(/session (\S+)$/gm)).toEqual(["session mine", "session mine"]);
  const unnamed = await skein.run(["run", "hello", ...model]);
  const [first, last] = unnamed.err.match(/session (\S+)$/gm) ?? [];
  expect([first, last]).toEqual([expect.stringMatching(/^session [0-9a-f]{8}$/), first]);
});

test("a fork of another project's session does not become the current session here", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const cwd = addProject(skein);
  await skein.run(["run", "hello", "--session", "mine", ...model]);
  const here = await skein.run(["run", "here", "--session", "here", ...model], { cwd });
  expect(here.code).toBe(0);
  const forked = await skein.run(["fork", "mine", "--name", "copy"], { cwd });
  expect([forked.code, forked.out]).toEqual([0, `forked mine as copy, in its own project ${skein.project}\n`]);
  expect(forked.err).toMatch(/^continue it: skein run --session [0-9a-f]{8} "..."\n$/);
  await skein.run(["run", "in a fork", "--session", "mine", "--fork"], { cwd });
  await skein.run(["chat", "mine"], { cwd, stdin: "/fork\n" });
  const next = await skein.run(["run", "go on", "-c"], { cwd });
  expect(next.err).toContain("· session here\n");
});

test("a session whose directory was deleted takes no turn, and its conversation can still be read", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const cwd = addProject(skein);
  await skein.run(["run", "hello", "--session", "gone", ...model], { cwd });
  rmSync(cwd, { recursive: true });
  const requests = server.requests.length;
  for (const args of [
    ["run", "more", "--session", "gone"],
    ["exec", "gone", "ls"],
  ]) {
    const refused = await skein.run(args);
    expect([refused.code, refused.out, refused.err]).toEqual([
      1,
      "",
      expect.stringMatching(/^skein: the directory of this session is gone: \/\S+\/other\n +create it again/),
    ]);
  }
  expect(server.requests).toHaveLength(requests);
  expect((await skein.run(["show", "gone"])).out).toContain("hello");
  mkdirSync(join(cwd, ".git"), { recursive: true });
  expect((await skein.run(["run", "more", "--session", "gone"])).code).toBe(0);
});

test("undo names the command of a turn that ran a command of the user", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await skein.run(["run", "hello", "--session", "mine", ...model]);
  await skein.run(["exec", "mine", "ls"]);
  expect((await skein.run(["undo", "mine"])).out).toStartWith('took back "!ls" in mine\n');
});

test("a misspelled agent of import is named, and no name is offered twice by auth login", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const wrong = await skein.run(["import", "cluade"]);
  expect([wrong.code, wrong.err]).toEqual([
    2,
    'skein: there is no file and no agent "cluade"\n       did you mean "skein import claude"?\n',
  ]);
  const login = await skein.run(["auth", "login", "nosuch"]);
  expect(login.err.match(/\bgemini\b/g)).toHaveLength(1);
});
