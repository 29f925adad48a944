// skein blame with the real program: lines of turns, of a person and of a merged worktree, and every kind of bad input.
import { afterAll, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { blameReport } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";
import { commitAll, runCommand, smallRepository } from "../../support/worktree-journey.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

test("blame names the turn of each line, also after a merge whose worktree was removed", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  await runCommand(skein, server, "echo 'the first line of an agent' >> a.txt", ["add a line", "--session", "first"]);
  commitAll(skein.project, "second");
  appendFileSync(join(skein.project, "a.txt"), "a line by hand\n");
  commitAll(skein.project, "third");
  await runCommand(skein, server, "echo 'this line was written in a worktree' >> a.txt", [
    "-w",
    "feat",
    "work aside",
    "--session",
    "aside",
  ]);
  expect((await skein.run(["merge", "aside", "--yes"])).code).toBe(0);
  expect((await skein.run(["worktrees", "clean"])).code).toBe(0);
  const printed = await skein.run(["blame", "a.txt", "--json"]);
  const { lines, turns, ...file } = blameReport.parse(printed.json());
  expect(file).toEqual({ project: skein.project, path: "a.txt", node: null });
  const names = new Map(turns.map(({ id, session_name: name, agent, prompt }) => [id, `${name} ${agent} ${prompt}`]));
  expect(lines.map(({ turns: [id] }) => (id === undefined ? null : names.get(id)!))).toEqual([
    null,
    null,
    null,
    "first native add a line",
    null,
    "aside native work aside",
  ]);
  const text = await skein.run(["blame", "a.txt:4-5"]);
  expect(text.out).toMatch(/^[0-9a-f]{8} native +4  the first line of an agent\nnot by an agent +5  a line by hand\n\n[0-9a-f]{8}  1 line/);
  const earlier = await skein.run(["blame", "a.txt", "--at", "first", "--json"]);
  expect(blameReport.parse(earlier.json()).lines.map(({ line }) => line)).toEqual([1, 2, 3, 4]);
});

test("bad input ends with one clear line", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  smallRepository(skein.project);
  const refusal = async (...args: string[]) => {
    const { code, out, err } = await skein.run(["blame", ...args]);
    expect([code, out]).toEqual([2, ""]);
    return err.split("\n")[0]!;
  };
  expect(await refusal("a.txt")).toContain("no files were recorded");
  writeFileSync(join(skein.project, "binary"), "a\0b\n");
  writeFileSync(join(skein.project, "gone.txt"), "one\n");
  writeFileSync(join(skein.project, ".env"), "ignored\n");
  mkdirSync(join(skein.project, "folder"));
  symlinkSync("a.txt", join(skein.project, "link"));
  await runCommand(skein, server, "echo x >> a.txt; echo two >> gone.txt", ["change it"]);
  rmSync(join(skein.project, "gone.txt"));
  expect(await refusal("/etc/passwd")).toContain("/etc/passwd is outside of the project");
  expect(await refusal("../x")).toContain("outside of the project");
  expect(await refusal("binary")).toContain("binary is a binary file");
  expect(await refusal("gone.txt")).toContain("gone.txt was deleted, not by an agent");
  expect(await refusal(".env")).toContain(".env was never recorded");
  expect(await refusal("nothing")).toContain("nothing was never recorded");
  expect(await refusal("folder")).toContain("folder is a directory");
  expect(await refusal("link")).toContain("link is a symbolic link");
  expect(await refusal("a.txt:99")).toContain("a.txt has 4 lines, so there is no line 99");
  expect(await refusal("a.txt:0")).toContain("there are no lines 0");
  expect(await refusal("a.txt", "--at", "snapshot:1234567")).toContain("no writers");
});
