// `skein undo` takes the last turn back with its files, and `skein redo` puts it back.
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { result, undoReport } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

async function runTurn(skein: TemporaryHome, command: string, args: string[]) {
  server.setScript(shellScript([command]));
  const done = await skein.run(["run", "-m", wireModels.anthropic, "--json", ...args]);
  expect({ code: done.code, err: done.err }).toEqual({ code: 0, err: "" });
  return result.parse(done.json());
}

async function step(skein: TemporaryHome, ...args: string[]) {
  const done = await skein.run([...args, "--json"]);
  expect({ code: done.code, err: done.err }).toEqual({ code: 0, err: "" });
  return undoReport.parse(done.json());
}

test("undo restores the files and the conversation of each turn, one after the other, and redo puts them back", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const read = (name: string) => (existsSync(join(skein.project, name)) ? readFileSync(join(skein.project, name), "utf8") : null);
  writeFileSync(join(skein.project, "a.txt"), "zero\n");
  const first = await runTurn(skein, "echo one > a.txt", ["the first task", "--session", "s"]);
  const second = await runTurn(skein, "echo two > a.txt; echo new > b.txt", ["the second task", "--session", "s"]);
  writeFileSync(join(skein.project, "mine.txt"), "by hand\n");

  const dry = await step(skein, "undo", "--dry-run");
  expect([dry.dry_run, dry.changes.map(({ path, kind }) => `${kind} ${path}`), read("a.txt")]).toEqual([
    true,
    ["modified a.txt", "deleted b.txt"],
    "two\n",
  ]);
  const printed = await skein.run(["undo"]);
  expect([printed.code, printed.out, printed.err]).toEqual([
    0,
    'took back "the second task" in s\nM a.txt  +1 -1\nD b.txt  +0 -1\n',
    "put it back with: skein redo\n",
  ]);
  expect([read("a.txt"), read("b.txt"), read("mine.txt")]).toEqual(["one\n", null, "by hand\n"]);
  const twice = await step(skein, "undo", "s");
  expect([twice.session.tip, twice.session.task, twice.prompt, read("a.txt")]).toEqual([null, null, "the first task", "zero\n"]);
  const empty = await skein.run(["undo"]);
  expect([empty.code, empty.err]).toEqual([2, expect.stringContaining("there is no turn to undo in this session")]);

  const redone = await step(skein, "redo");
  expect([redone.session.tip, redone.session.task, read("a.txt"), read("b.txt")]).toEqual([
    first.node_id!,
    "the first task",
    "one\n",
    null,
  ]);
  await step(skein, "redo", "s");
  expect([read("a.txt"), read("b.txt"), read("mine.txt")]).toEqual(["two\n", "new\n", "by hand\n"]);
  const again = await skein.run(["redo"]);
  expect([again.code, again.err]).toEqual([2, expect.stringContaining("there is no undo to take back in this session")]);
  const request = await runTurn(skein, "true", ["the third task", "--session", "s"]);
  expect(request.session_id).toBe(second.session_id);
  expect(server.main().at(-1)?.text).toContain("the second task");
});

test("undo leaves a file that was changed by hand since as it is, and a new message ends the redo", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await runTurn(skein, "echo agent > a.txt; echo agent > b.txt", ["write both", "--session", "s"]);
  writeFileSync(join(skein.project, "a.txt"), "person\n");
  const undone = await step(skein, "undo");
  expect([undone.files, undone.changes.map(({ path }) => path), undone.kept]).toEqual(["changed", ["b.txt"], ["a.txt"]]);
  expect([readFileSync(join(skein.project, "a.txt"), "utf8"), existsSync(join(skein.project, "b.txt"))]).toEqual(["person\n", false]);
  await runTurn(skein, "true", ["something else", "--session", "s"]);
  expect(server.main().at(-1)?.text).not.toContain("write both");
  expect((await skein.run(["redo"])).err).toContain("there is no undo to take back");
});

test("undo of a turn without tools moves the conversation only", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  await runTurn(skein, "true", ["talk", "--session", "s", "--tool-level", "none"]);
  const undone = await skein.run(["undo"]);
  expect([undone.code, undone.out]).toEqual([0, 'took back "talk" in s\nno files changed\n']);
  const empty = await skein.run(["undo", "nobody"]);
  expect([empty.code, empty.err]).toEqual([2, expect.stringContaining('there is no session "nobody"')]);
});
