// Files belong to the branch: what a turn changed with bash is recorded, shown, and brought back, and the user's
// repository does not notice.
import { afterAll, expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { filesDiff, filesRestore, result } from "../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../src/scripted-model/model-server.ts";
import { shellScript } from "../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../support/temporary-home.ts";

const server = startModelServer(shellScript(["true"]), { chunkDelayMs: 0 });
afterAll(() => server.stop());

async function ran(skein: TemporaryHome, commands: string[], args: string[]) {
  server.setScript(shellScript(commands));
  const done = await skein.run(["run", "-m", wireModels.anthropic, "--json", ...args]);
  expect({ code: done.code, err: done.err }).toEqual({ code: 0, err: "" });
  return result.parse(done.json());
}

function repository(skein: TemporaryHome): (...args: string[]) => string {
  rmSync(join(skein.project, ".git"), { recursive: true });
  const env = { PATH: skein.env["PATH"] ?? "", HOME: skein.home };
  const git = (...args: string[]) =>
    Bun.spawnSync(["git", "-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: skein.project, env }).stdout.toString();
  git("init", "-q");
  return git;
}

const changed = (found: { changes: { path: string; kind: string }[] }) => found.changes.map(({ kind, path }) => `${kind} ${path}`);

test("a file changed only by bash appears in the diff, comes back, and the restore is undone", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const git = repository(skein);
  const at = (name: string) => join(skein.project, name);
  writeFileSync(at("a.txt"), "one\n");
  writeFileSync(at(".gitignore"), ".env\n.skein/\n");
  git("add", ".");
  git("commit", "-qm", "one");
  writeFileSync(at(".env"), "SECRET=walk-secret\n");
  const before = { index: readFileSync(at(".git/index"), "latin1"), status: git("status", "--porcelain"), refs: git("show-ref") };

  const first = await ran(skein, ["echo two > b.txt"], ["first", "--session", "s"]);
  const second = await ran(skein, ["echo changed > a.txt; rm b.txt; echo three > c.txt"], ["second", "--session", "s"]);
  expect(readFileSync(at(".git/index"), "latin1")).toBe(before.index);
  expect(git("show-ref")).toBe(before.refs);
  expect(git("status", "--porcelain")).toBe(` M a.txt\n?? c.txt\n`);

  const between = filesDiff.parse((await skein.run(["files", "diff", first.node_id as string, "s", "--json"])).json());
  expect(changed(between)).toEqual(["modified a.txt", "deleted b.txt", "added c.txt"]);
  expect(between.patch).toContain("-one\n+changed\n");
  expect((await skein.run(["files", "diff", second.node_id as string])).out).toBe("nothing changed\n");
  expect((await skein.run(["files", "diff", first.node_id as string, "--stat"])).out).toBe(
    "M a.txt  +1 -1\nD b.txt  +0 -1\nA c.txt  +1 -0\n",
  );

  const refused = await skein.run(["files", "restore", first.node_id as string]);
  expect({ code: refused.code, out: refused.out }).toEqual({ code: 2, out: "" });
  const dry = filesRestore.parse((await skein.run(["files", "restore", first.node_id as string, "--dry-run", "--json"])).json());
  expect({ restored: dry.restored, a: readFileSync(at("a.txt"), "utf8") }).toEqual({ restored: false, a: "changed\n" });

  const restored = await skein.run(["files", "restore", first.node_id as string, "--yes"]);
  expect(restored.code).toBe(0);
  expect({ a: readFileSync(at("a.txt"), "utf8"), b: readFileSync(at("b.txt"), "utf8"), c: existsSync(at("c.txt")) }).toEqual({
    a: "one\n",
    b: "two\n",
    c: false,
  });
  expect(readFileSync(at(".env"), "utf8")).toBe("SECRET=walk-secret\n");
  const undo = /undo with: skein (files restore snapshot:[0-9a-f]{12})\n$/.exec(restored.out)?.[1] ?? "";
  expect((await skein.run([...undo.split(" "), "--yes"])).code).toBe(0);
  expect({ a: readFileSync(at("a.txt"), "utf8"), b: existsSync(at("b.txt")), c: readFileSync(at("c.txt"), "utf8") }).toEqual({
    a: "changed\n",
    b: false,
    c: "three\n",
  });
  expect(readFileSync(at(".git/index"), "latin1")).toBe(before.index);
});

test("the state before a prompt is the prompt's own, and a turn without tools keeps what was before it", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(skein.project, "a"), "1\n");
  const first = await ran(skein, ["echo 2 > a"], ["first", "--session", "s"]);
  const talk = await ran(skein, [], ["talk", "--session", "s", "--tool-level", "none"]);
  writeFileSync(join(skein.project, "a"), "3\n");
  const [header, prompt] = readFileSync(first.transcript_path as string, "utf8")
    .split("\n")
    .slice(0, 2)
    .map((line) => JSON.parse(line) as { id: string });
  expect(header).toBeDefined();
  const sincePrompt = filesDiff.parse((await skein.run(["files", "diff", prompt?.id as string, first.node_id as string, "--json"])).json());
  expect(sincePrompt.patch).toContain("-1\n+2\n");
  expect((await skein.run(["files", "diff", talk.node_id as string])).out).toContain("-2\n+3\n");
});

test("a graft tells what its branch did to files, also what only bash did", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  writeFileSync(join(skein.project, "a.txt"), "one\n");
  await ran(skein, ["true"], ["first", "--session", "main"]);
  const branch = await ran(skein, ["echo grafted-line > a.txt"], ["try", "--resume", "main", "--fork"]);
  expect((await skein.run(["graft", branch.session_id, "--into", "main"])).err).toBe("");
  await ran(skein, [], ["go on", "--resume", "main"]);
  const request = server.main().at(-1)?.text ?? "";
  expect(request).toContain("modified a.txt (+1 -1)");
  expect(request).toContain("+grafted-line");
});

test("without git a turn runs as ever and says once that files are not recorded", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  server.setScript(shellScript(["true"]));
  const done = await skein.run(["run", "-m", wireModels.anthropic, "--json", "go"], { env: { PATH: "/nonexistent" } });
  expect(done.err).toMatch(/^skein: (warning: )?the files of .* are not recorded: git is not installed\n$/);
  expect(result.parse(done.json()).status).toBe("ok");
});

test("nodes that are not there, and nodes without recorded files, are told in one line", async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  const nobody = await skein.run(["files", "diff", "nobody"]);
  expect({ code: nobody.code, out: nobody.out }).toEqual({ code: 2, out: "" });
  const talk = await ran(skein, [], ["talk", "--tool-level", "none"]);
  const none = await skein.run(["files", "diff", talk.node_id as string]);
  expect({ code: none.code, out: none.out }).toEqual({ code: 2, out: "" });
  expect(none.err).toMatch(/^skein: no files were recorded for [0-9a-f]{8} or anything before it\n/);
  const wrong = await skein.run(["files", "restore", "snapshot:1234567", "--yes"]);
  expect({ code: wrong.code, out: wrong.out }).toEqual({ code: 2, out: "" });
});
