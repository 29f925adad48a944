// Files belong to the branch at every node: forks in the middle of a turn, work of other sessions in the same directory, and
// changes by hand.
import { afterAll, expect, test } from "bun:test";
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript, type Script } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

type PrintedNode = { id: string; author: string; parts: { kind: string; text?: string; name?: string }[] };
type PrintedSide = { files: { path: string }[] | null; other_files: { path: string; by: ({ name: string | null } | null)[] }[] };

async function runTurn(skein: TemporaryHome, script: Script | string[], args: string[]): Promise<Record<string, unknown>> {
  server.setScript(Array.isArray(script) ? shellScript(script) : script);
  const done = await skein.run(["run", "-m", wireModels.anthropic, "--json", ...args]);
  expect({ code: done.code, err: done.err }).toEqual({ code: 0, err: "" });
  return done.json();
}

async function nodesOf(skein: TemporaryHome, session: string): Promise<PrintedNode[]> {
  return ((await skein.run(["show", session, "--json"])).json() as { nodes: PrintedNode[] }).nodes;
}

async function compare(skein: TemporaryHome, a: string, b: string): Promise<{ a: PrintedSide; b: PrintedSide }> {
  return (await skein.run(["diff", a, b, "--json"])).json() as { a: PrintedSide; b: PrintedSide };
}

const pathsOf = (side: PrintedSide) => side.files?.map(({ path }) => path);
const othersOf = (side: PrintedSide) =>
  side.other_files.map(({ path, by }) => `${path}: ${by.map((session) => session?.name ?? "").join()}`);
const write = (path: string, content: string) => ({ calls: [{ name: "write", input: { path, content } }] });

/** The steps of the reproduction: read, "Now the change" with an edit, write, test, answer. */
const fiveSteps: Script = {
  steps: [
    { calls: [{ name: "read", input: { path: "hooks.js" } }] },
    { text: "Now the change", calls: [{ name: "edit", input: { path: "hooks.js", old_text: "one", new_text: "two" } }] },
    write("order.js", "ordered\n"),
    { calls: [{ input: { command: "cat hooks.js order.js" } }] },
  ],
  final: "done",
};

test("a node in the middle of a turn has the files of that moment, and a branch from it has no later changes", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(skein.project, "hooks.js"), "one\n");
  await runTurn(skein, fiveSteps, ["change it", "--session", "a"]);
  const nodes = await nodesOf(skein, "a");
  const change = nodes.find(({ parts }) => parts.some(({ text }) => text === "Now the change"))!;
  const edited = nodes.find(({ parts }) => parts.some(({ kind, name }) => kind === "result" && name === "edit"))!;
  const stat = async (...args: string[]) => (await skein.run(["files", "diff", ...args, "--stat"])).out;
  expect(await stat(change.id)).toBe("M hooks.js  +1 -1\nA order.js  +1 -0\n");
  expect(await stat(edited.id)).toBe("A order.js  +1 -0\n");
  expect(await stat(change.id, edited.id)).toBe("M hooks.js  +1 -1\n");

  const fork = (await runTurn(skein, [], ["hello", "--at", edited.id]))["session_id"] as string;
  const { a, b } = await compare(skein, "a", fork);
  expect({ a: pathsOf(a), b: pathsOf(b), others: [...a.other_files, ...b.other_files] }).toEqual({ a: ["order.js"], b: [], others: [] });

  expect((await skein.run(["files", "restore", change.id, "--yes"])).code).toBe(0);
  expect(readFileSync(join(skein.project, "hooks.js"), "utf8")).toBe("one\n");
});

test("a branch is credited only with its own changes, and those of others are named", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const inProject = (name: string) => join(skein.project, name);
  writeFileSync(inProject("base.txt"), "base\n");
  await runTurn(skein, ["true"], ["base", "--session", "main"]);
  const fork = await runTurn(skein, ["echo x > x.txt"], ["try", "--session", "main", "--fork"]);
  const id = fork["session_id"] as string;
  expect((await skein.run(["rename", id, "fork"])).code).toBe(0);
  writeFileSync(inProject("by-hand.txt"), "mine\n");
  await runTurn(skein, ["echo y > y.txt"], ["go on", "--session", "main"]);

  const { a, b } = await compare(skein, "main", "fork");
  expect({ main: pathsOf(a), fork: pathsOf(b) }).toEqual({ main: ["y.txt"], fork: ["x.txt"] });
  expect({ main: othersOf(a), fork: othersOf(b) }).toEqual({ main: ["by-hand.txt: ", "x.txt: fork"], fork: [] });
  const text = (await skein.run(["diff", "main", "fork"])).out;
  expect(text).toContain(
    "  A y.txt +1 -0\n  not by this branch:\n    A by-hand.txt +1 -0 (not by an agent)\n    A x.txt +1 -0 (by fork)\n",
  );

  const base = (await nodesOf(skein, "main"))[0]!.id;
  expect((await skein.run(["files", "diff", base, "main", "--stat"])).out).toBe(
    "A y.txt  +1 -0\nnot by this branch:\n  A by-hand.txt  +1 -0  not by an agent\n  A x.txt  +1 -0  by fork\n",
  );
  const restore = await skein.run(["files", "restore", base, "--dry-run", "--stat"]);
  expect(restore.out).toBe("D y.txt  +0 -1\nnot by this branch:\n  D by-hand.txt  +0 -1  not by an agent\n  D x.txt  +0 -1  by fork\n");

  expect((await skein.run(["graft", "main", "--into", "fork"])).err).toBe("");
  await runTurn(skein, [], ["go on", "--session", "fork"]);
  const request = server.main().at(-1)?.text ?? "";
  expect(request).toContain("added y.txt (+1 -0)");
  expect(request).not.toContain("by-hand.txt");
  expect(request).not.toContain("added x.txt");
});
