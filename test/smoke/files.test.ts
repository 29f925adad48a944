// Files belong to the branch. Changes that a turn makes with bash are recorded, shown and restored. The user's git
// repository is not touched.
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filesDiff, filesRestore, result } from "../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../support/temporary-home.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

async function runTurn(skein: TemporaryHome, commands: string[], args: string[]) {
  server.setScript(shellScript(commands));
  const done = await skein.run(["run", "-m", wireModels.anthropic, "--json", ...args]);
  expect({ code: done.code, err: done.err }).toEqual({ code: 0, err: "" });
  return result.parse(done.json());
}

function initRepository(skein: TemporaryHome): (...args: string[]) => string {
  rmSync(join(skein.project, ".git"), { recursive: true });
  const env = { PATH: skein.env["PATH"] ?? "", HOME: skein.home };
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: skein.project, env }).stdout.toString();
  git("init", "-q");
  return git;
}

const changesOf = (diff: { changes: { path: string; kind: string }[] }) => diff.changes.map(({ kind, path }) => `${kind} ${path}`);

test("a file that only bash changed appears in the diff and can be restored, and the restore can be undone", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const git = initRepository(skein);
  const inProject = (name: string) => join(skein.project, name);
  writeFileSync(inProject("a.txt"), "one\n");
  writeFileSync(inProject(".gitignore"), ".env\n.skein/\n");
  git("add", ".");
  git("commit", "-qm", "one");
  writeFileSync(inProject(".env"), "SECRET=journey-secret\n");
  const before = { index: readFileSync(inProject(".git/index"), "latin1"), status: git("status", "--porcelain"), refs: git("show-ref") };

  const first = await runTurn(skein, ["echo two > b.txt"], ["first", "--session", "s"]);
  const second = await runTurn(skein, ["echo changed > a.txt; rm b.txt; echo three > c.txt"], ["second", "--session", "s"]);
  expect(readFileSync(inProject(".git/index"), "latin1")).toBe(before.index);
  expect(git("show-ref")).toBe(before.refs);
  expect(git("status", "--porcelain")).toBe(` M a.txt\n?? c.txt\n`);

  const between = filesDiff.parse((await skein.run(["files", "diff", first.node_id as string, "s", "--json"])).json());
  expect(changesOf(between)).toEqual(["modified a.txt", "deleted b.txt", "added c.txt"]);
  expect(between.patch).toContain("-one\n+changed\n");
  expect((await skein.run(["files", "diff", second.node_id as string])).out).toBe("nothing changed\n");
  expect((await skein.run(["files", "diff", first.node_id as string, "--stat"])).out).toBe(
    "M a.txt  +1 -1\nD b.txt  +0 -1\nA c.txt  +1 -0\n",
  );

  const refused = await skein.run(["files", "restore", first.node_id as string]);
  expect({ code: refused.code, out: refused.out }).toEqual({ code: 2, out: "" });
  const dry = filesRestore.parse((await skein.run(["files", "restore", first.node_id as string, "--dry-run", "--json"])).json());
  expect({ restored: dry.restored, a: readFileSync(inProject("a.txt"), "utf8") }).toEqual({ restored: false, a: "changed\n" });

  const restored = await skein.run(["files", "restore", first.node_id as string, "--yes"]);
  expect(restored.code).toBe(0);
  expect({
    a: readFileSync(inProject("a.txt"), "utf8"),
    b: readFileSync(inProject("b.txt"), "utf8"),
    c: existsSync(inProject("c.txt")),
  }).toEqual({
    a: "one\n",
    b: "two\n",
    c: false,
  });
  expect(readFileSync(inProject(".env"), "utf8")).toBe("SECRET=journey-secret\n");
  const undo = /undo with: skein (files restore snapshot:[0-9a-f]{12})\n$/.exec(restored.out)?.[1] ?? "";
  expect((await skein.run([...undo.split(" "), "--yes"])).code).toBe(0);
  expect({
    a: readFileSync(inProject("a.txt"), "utf8"),
    b: existsSync(inProject("b.txt")),
    c: readFileSync(inProject("c.txt"), "utf8"),
  }).toEqual({
    a: "changed\n",
    b: false,
    c: "three\n",
  });
  expect(readFileSync(inProject(".git/index"), "latin1")).toBe(before.index);
});

test("a prompt's node has the files from before its turn, and a turn without tools has those of the turn before", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(skein.project, "a"), "1\n");
  const first = await runTurn(skein, ["echo 2 > a"], ["first", "--session", "s"]);
  const withoutTools = await runTurn(skein, [], ["talk", "--session", "s", "--tool-level", "none"]);
  writeFileSync(join(skein.project, "a"), "3\n");
  const [header, prompt] = readFileSync(first.transcript_path as string, "utf8")
    .split("\n")
    .slice(0, 2)
    .map((line) => JSON.parse(line) as { id: string });
  expect(header).toBeDefined();
  const sincePrompt = filesDiff.parse((await skein.run(["files", "diff", prompt?.id as string, first.node_id as string, "--json"])).json());
  expect(sincePrompt.patch).toContain("-1\n+2\n");
  expect((await skein.run(["files", "diff", withoutTools.node_id as string])).out).toContain("-2\n+3\n");
});

test("a graft includes the file changes of its branch, also those by bash", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(skein.project, "a.txt"), "one\n");
  await runTurn(skein, ["true"], ["first", "--session", "main"]);
  const branch = await runTurn(skein, ["echo grafted-line > a.txt"], ["try", "--resume", "main", "--fork"]);
  expect((await skein.run(["graft", branch.session_id, "--into", "main"])).err).toBe("");
  await runTurn(skein, [], ["go on", "--resume", "main"]);
  const request = server.main().at(-1)?.text ?? "";
  expect(request).toContain("modified a.txt (+1 -1)");
  expect(request).toContain("+grafted-line");
});

test("without git a turn runs normally and reports once that files are not recorded", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript(["true"]));
  const done = await skein.run(["run", "-m", wireModels.anthropic, "--json", "go"], { env: { PATH: "/nonexistent" } });
  expect(done.err).toMatch(/^skein: (warning: )?the files of .* are not recorded: git is not installed\n$/);
  expect(result.parse(done.json()).status).toBe("ok");
});

test("files diff refuses unknown nodes and nodes without recorded files in one line", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const unknownNode = await skein.run(["files", "diff", "nobody"]);
  expect({ code: unknownNode.code, out: unknownNode.out }).toEqual({ code: 2, out: "" });
  const withoutTools = await runTurn(skein, [], ["talk", "--tool-level", "none"]);
  const withoutFiles = await skein.run(["files", "diff", withoutTools.node_id as string]);
  expect({ code: withoutFiles.code, out: withoutFiles.out }).toEqual({ code: 2, out: "" });
  expect(withoutFiles.err).toMatch(/^skein: no files were recorded for [0-9a-f]{8} or anything before it\n/);
  const wrong = await skein.run(["files", "restore", "snapshot:1234567", "--yes"]);
  expect({ code: wrong.code, out: wrong.out }).toEqual({ code: 2, out: "" });
});
