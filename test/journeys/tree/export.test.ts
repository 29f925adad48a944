// The real program searches, compares and exports a tree with branches, pictures, colours, invalid bytes and secrets.
import { describe, expect, test } from "bun:test";
import { mkdirSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { NewNode } from "../../../src/protocol/tree/node.ts";
import { comparison, exportedFiles, exportHeader, exportLine, foundNode } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { nodeOfLines, type TreeHeader, type TreeLine } from "../../../src/protocol/json/tree-lines.ts";
import { openStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";

const key = "sk-ant-api03-Ab3dE5fG7hJ9kL1mN3pQ5rS7tU9vW1xY";
const png = "iVBORw0KGgoAAAANSUhEUgAAAAoAAAAKCAIAAAACUFjqAAAAEklEQVR4nGP4z8CAB+GTG8HSALfKY52fTcuYAAAAAElFTkSuQmCC";
const script = '<script>document.title="broken"</script>';
const usage = { input: 1000, output: 50, cacheRead: 10, cacheWrite: 0 };

const user = (text: string): NewNode => ({ author: "user", parts: [{ kind: "text", text }] });
const agent = (text: string): NewNode => ({
  author: "agent",
  model: "test/one",
  usage,
  costUsd: 0.25,
  parts: [
    { kind: "thinking", text: "let me see", opaque: { wire: "w", model: "m", data: "sealed" } },
    { kind: "text", text },
  ],
});
const call = (id: string, command: string): NewNode => ({
  author: "agent",
  parts: [{ kind: "call", id, name: "bash", input: { command } }],
});

/** Stores two sessions. `main` has a question, a tool call and an answer. `side` is forked after the tool call. */
async function storeSampleTree(skein: TemporaryHome): Promise<{ output: Buffer; tree: string; home: string }> {
  const home = skein.home;
  mkdirSync(join(skein.root, "skein", "data"), { recursive: true });
  const store = await openStoreIn(skein);
  const main = await store.createSession({
    name: "main",
    agent: "native",
    model: "test/one",
    directory: skein.project,
    project: realpathSync(skein.project),
    task: "draw",
    toolLevel: "minimal",
    parentSession: null,
    transcript: null,
  });
  let lease = await store.acquire(main.id);
  const policy = { name: "workspace", sandbox: "auto", net: "off", allowWrite: [], addDirs: [] } as const;
  const start = (prompt: NewNode) =>
    store.startTurn(lease, {
      agent: "native",
      model: "test/one",
      policy: { ...policy, allowWrite: [], addDirs: [] },
      enforced: null,
      prompt,
    });
  const { value: turn } = await start({
    author: "user",
    parts: [
      { kind: "text", text: `draw ${script} from ${home}/pictures\nmail ada@example.org` },
      { kind: "image", mime: "image/png", base64: png },
    ],
  });
  await store.appendNode(lease, turn.id, call("c1", `curl -H "Authorization: Bearer ${key}" x`));
  const output = Buffer.concat([
    Buffer.from(`\x1b[1;31mred\x1b[0m <b>${script}</b> ${key} ${home}/x\n`),
    Buffer.from([0xff, 0xfe, 0x00, 0x0a]),
    Buffer.from("a line of output\n".repeat(20_000)),
  ]);
  const sink = store.openOutput(lease, "c1", "bash");
  sink.write(output);
  const handle = await sink.close({ command: "curl", exitCode: 0 }, 1024);
  const { value: forkAt } = await store.appendNode(lease, turn.id, {
    author: "tool",
    parts: [
      {
        kind: "result",
        call: "c1",
        name: "bash",
        text: "red…",
        isError: false,
        handle: handle!,
        images: [{ mime: "image/png", base64: png }],
      },
    ],
  });
  await store.appendNode(lease, turn.id, agent(`It is **red**. ${script} [link](javascript:alert(1)) ![far](http://example.org/x.png)`));
  await store.endTurn(lease, turn.id, { status: "ok", error: null, nativeId: "native-1", enforced: null });
  await store.release(lease);
  const side = await store.forkSession(main.id, forkAt.id, { name: "side" });
  lease = await store.acquire(side.id);
  const { value: sideTurn } = await start(user("try zucchini instead \ud800 \u0000 `ticks`"));
  await store.appendNode(lease, sideTurn.id, call("c2", "false"));
  await store.appendNode(lease, sideTurn.id, {
    author: "tool",
    parts: [{ kind: "result", call: "c2", name: "bash", text: "no such thing", isError: true }],
  });
  await store.appendNode(lease, sideTurn.id, { author: "note", note: { about: "interruption" }, parts: [] });
  await store.appendNode(lease, sideTurn.id, agent("```js\nlet a = 1 < 2;\n```\nThe zucchini is *green*."));
  await store.endTurn(lease, sideTurn.id, { status: "ok", error: null, nativeId: null, enforced: null });
  await store.release(lease);
  await store.close();
  return { output: output, tree: main.tree, home };
}

/** A home whose project is a git repository. The model of each `run` runs one command. */
function startInRepository() {
  const server = startModelServer(shellScript(["true"]));
  const home = temporaryHome(vendorEnv(server.url));
  rmSync(join(home.project, ".git"), { recursive: true });
  Bun.spawnSync(["git", "init", "-q"], { cwd: home.project });
  const run = async (command: string, ...args: string[]) => {
    server.setScript(shellScript([command]));
    expect(await home.run(["run", "-m", wireModels.anthropic, "--json", ...args])).toMatchObject({ code: 0 });
  };
  return { server, home, run };
}

const openStoreIn = (skein: TemporaryHome) => {
  const data = join(skein.root, "skein", "data");
  return openStore({ path: join(data, "skein.db"), outputsDir: join(data, "outputs") });
};

describe("search", () => {
  test("search shows the session of each match and the text around it", async () => {
    using skein = temporaryHome();
    await storeSampleTree(skein);
    const ran = await skein.run(["search", "zucchini", "green"]);
    expect(ran.code).toBe(0);
    expect(ran.out).toContain("[side]");
    expect(ran.out).toContain("[zucchini] is *[green]*");
    const records = JSON.parse((await skein.run(["search", "zucchini", "--json"])).out) as unknown[];
    expect(records.map((record) => foundNode.parse(record).session.name)).toEqual(["side", "side"]);
    const noMatch = await skein.run(["search", "nowhere"]);
    expect({ code: noMatch.code, out: noMatch.out }).toEqual({ code: 1, out: "" });
    expect((await skein.run(["search", "zucchini", "--limit", "x"])).code).toBe(2);
    expect((await skein.run(["search", "***"])).err).toContain("no word to search for");
  });
});

describe("diff", () => {
  test("diff lists the files that each branch changed", async () => {
    const { server, home, run } = startInRepository();
    using skein = home;
    try {
      await run("echo one > shared.txt", "first", "--session", "a");
      await run("echo two > b.txt; rm shared.txt", "go on", "--session", "a");
      const nodes = (await skein.run(["show", "a", "--json"])).json()["nodes"] as { id: string; author: string }[];
      const end = nodes.findIndex((node, index) => index > 0 && node.author === "user") - 1;
      const record = comparison.parse((await skein.run(["diff", nodes[end]!.id, "a", "--json"])).json());
      expect(record.a.files).toEqual([]);
      expect(record.b.files?.map(({ kind, path }) => `${kind} ${path}`)).toEqual(["added b.txt", "deleted shared.txt"]);
      expect((await skein.run(["diff", nodes[end]!.id, "a"])).out).toContain("A b.txt +1 -0");
    } finally {
      await server.stop();
    }
  });

  test("diff shows where two branches part, and a summary of each", async () => {
    using skein = temporaryHome();
    await storeSampleTree(skein);
    const record = comparison.parse((await skein.run(["diff", "main", "side", "--json"])).json());
    expect(record).toMatchObject({
      shared_nodes: 3,
      shared: { messages: 1, tool_calls: 1 },
      fork: { author: "tool" },
      a: { nodes: 1, messages: 1, tool_calls: 0, turns: 1, usage: { input: 1000 }, cost_usd: 0.25, status: "ok", files: [] },
      b: { nodes: 5, messages: 2, tool_calls: 1, failed_calls: 1, first_message: expect.stringContaining("zucchini") },
    });
    const { out } = await skein.run(["diff", "main", "side"]);
    expect(out).toMatch(/they diverge after [0-9a-f]{8} \(1 message, 1 tool call shared\)/);
    expect(out).toContain("1 (1 failed)");
    expect((await skein.run(["diff", "main", "main"])).out).toContain("nothing after that");
    expect((await skein.run(["diff", "main", record.b.tip!, "--json"])).json()).toMatchObject({ b: { session: null, nodes: 5 } });
    expect(await skein.run(["diff", "main", "nobody"])).toMatchObject({ code: 2, err: expect.stringContaining("nobody") });
  });
});

describe("export", () => {
  test("text and Markdown exports contain every branch and no terminal control codes", async () => {
    using skein = temporaryHome();
    await storeSampleTree(skein);
    for (const format of ["text", "md"]) {
      const { code, out } = await skein.run(["export", "main", "--format", format]);
      expect(code).toBe(0);
      expect(out).not.toMatch(/[^\P{Cc}\n\t]/u);
      for (const words of ["branch 1 of 2", "branch 2 of 2", "[main]", "[side]", "green", "bytes not shown", "no such thing"])
        expect(out).toContain(words);
      expect(out.length).toBeLessThan(100_000);
      expect((await skein.run(["export", "main", "--format", format, "--whole"])).out.length).toBeGreaterThan(340_000);
    }
  });

  test("an HTML export shows pictures and colours and runs no script but its own", async () => {
    using skein = temporaryHome();
    await storeSampleTree(skein);
    const file = join(skein.root, "page.html");
    expect(await skein.run(["export", "main", "--format", "html", "--output", file])).toMatchObject({ code: 0, out: "" });
    const html = readFileSync(file, "utf8");
    expect(statSync(file).mode & 0o777).toBe(0o600);
    expect(html.match(/<script/g)).toHaveLength(1);
    expect(html).not.toMatch(/(href|src)="(javascript|http:\/\/example)/);
    expect(html.match(/src="data:image\/png;base64,/g)).toHaveLength(1);
    expect(html).toContain('{"image":"data:image/png;base64,');
    expect(html).toContain('["red","bold c1",""]');
    expect(html).toContain("<strong>red</strong>");
    expect(html).toContain('<span class="label">side</span>');
    const missing = join(skein.root, "no", "such", "place.html");
    expect(await skein.run(["export", "main", "--output", missing])).toMatchObject({
      code: 1,
      err: expect.stringContaining("can't write"),
    });
  });

  test("a JSONL export can be parsed into the same nodes and outputs", async () => {
    using skein = temporaryHome();
    const { output: expectedOutput, tree } = await storeSampleTree(skein);
    const { out } = await skein.run(["export", "side", "--format", "jsonl"]);
    const [header, ...lines] = out
      .trim()
      .split("\n")
      .map((line) => JSON.parse(line) as unknown);
    exportHeader.parse(header);
    const treeInfo = (header as TreeHeader).tree;
    expect(new Set(treeInfo.sessions.map((session) => session.name))).toEqual(new Set(["main", "side"]));
    expect(new Set(treeInfo.turns.map((turn) => turn.native_id))).toEqual(new Set(["native-1", null]));
    for (const line of lines) exportLine.parse(line);
    const nodes = [...Map.groupBy(lines as TreeLine[], (line) => line.id).values()].map((each) => nodeOfLines(each, tree, "?"));
    const store = await openStoreIn(skein);
    expect(nodes).toEqual(await store.treeNodes(tree));
    await store.close();
    const output = (lines as TreeLine[]).find((line) => line.output !== undefined)?.output;
    expect(Buffer.from(output?.base64 ?? "", "base64").equals(expectedOutput)).toBe(true);
  });

  test("a JSONL export that is imported in another home gives the same tree", async () => {
    using skein = temporaryHome();
    using otherHome = temporaryHome();
    const { tree } = await storeSampleTree(skein);
    const file = join(skein.root, "tree.jsonl");
    writeFileSync(file, (await skein.run(["export", "main", "--format", "jsonl"])).out);
    expect(await otherHome.run(["import", file])).toMatchObject({ code: 0 });
    const [from, to] = [await openStoreIn(skein), await openStoreIn(otherHome)];
    const [before, after] = [await from.treeNodes(tree), await to.treeNodes(tree)];
    await from.close();
    await to.close();
    expect(after).toEqual(before);
  });

  test("export includes archived branches", async () => {
    using skein = temporaryHome();
    using otherHome = temporaryHome();
    const { tree } = await storeSampleTree(skein);
    expect(await skein.run(["delete", "side"])).toMatchObject({ code: 0 });
    expect((await skein.run(["export", "main"])).out).toContain("[side (archived)]");
    const file = join(skein.root, "tree.jsonl");
    expect(await skein.run(["export", "side", "--format", "jsonl", "-o", file])).toMatchObject({ code: 0 });
    expect(await otherHome.run(["import", file])).toMatchObject({ code: 0 });
    const [from, to] = [await openStoreIn(skein), await openStoreIn(otherHome)];
    expect(await to.treeNodes(tree)).toEqual(await from.treeNodes(tree));
    await from.close();
    await to.close();
  });

  test("a JSON export has sessions, turns, nodes and outputs", async () => {
    using skein = temporaryHome();
    await storeSampleTree(skein);
    const record = (await skein.run(["export", "main", "--json"])).json();
    expect(record).toMatchObject({ sessions: [{}, {}], turns: [{}, {}], outputs: [{ source: "bash" }] });
    expect(record["nodes"]).toHaveLength(9);
  });

  test("an export lists the file changes of its branch, and names those of another session and of a person", async () => {
    const { server, home, run } = startInRepository();
    using skein = home;
    try {
      await run(`echo '${key}' > own.txt; printf 'two\\rthree\\n' > '<b>.txt'`, "first", "--session", "a");
      await run("echo other > other.txt", "beside", "--session", "b");
      writeFileSync(join(skein.project, "hand.txt"), "by hand\n");
      await run("echo more >> own.txt", "go on", "--session", "a");
      const { out: markdown } = await skein.run(["export", "a", "--format", "md"]);
      expect(markdown).toContain("## files changed by a\n\n- A \\<b\\>.txt +1 -0\n- A own.txt +2 -0\n");
      expect(markdown).toContain("not by this branch:\n\n- A hand.txt +1 -0 (not by an agent)\n- A other.txt +1 -0 (by b)\n");
      expect(markdown).toMatch(/```diff\n[^`]*\+twothree\n[^`]*\+more\n```/);
      const { out: text } = await skein.run(["export", "a"]);
      expect(text).toContain("files changed by a\n\n  A <b>.txt +1 -0\n  A own.txt +2 -0\n\n  not by this branch:\n    A hand.txt");
      const { out: page } = await skein.run(["export", "a", "--format", "html"]);
      expect(page).toContain("<h2>files changed by a</h2>");
      expect(page).toContain("<li><code>A &lt;b&gt;.txt +1 -0</code></li>");
      const files = exportedFiles.parse((await skein.run(["export", "a", "--json"])).json()["files"]);
      expect(files).toMatchObject({ problem: null, unknown_files: 0, more_files: 0, patch_cut_bytes: 0 });
      expect(files.files?.map(({ path }) => path)).toEqual(["<b>.txt", "own.txt"]);
      expect(files.other_files.map(({ path, by }) => [path, by[0]?.name ?? null])).toEqual([
        ["hand.txt", null],
        ["other.txt", "b"],
      ]);
      for (const format of ["text", "md", "html", "json"]) {
        const { out } = await skein.run(["export", "a", "--format", format, "--redact"]);
        expect(out).toContain("own.txt");
        expect(out.includes(key)).toBe(false);
      }
      await run("seq 1 20000 > long.txt; seq 1 250 | xargs -I% touch f%", "much", "--session", "a");
      const { out: cut } = await skein.run(["export", "a", "--format", "md"]);
      expect(cut).toContain("- and 53 more\n");
      expect(cut).toMatch(/bytes of the diff not shown/);
      expect((await skein.run(["export", "a", "--format", "md", "--whole"])).out).toContain("+20000\n");
    } finally {
      await server.stop();
    }
  });

  test("an export without recorded files says so, and one without changes has no section about files", async () => {
    using skein = temporaryHome();
    await storeSampleTree(skein);
    const { out } = await skein.run(["export", "main"]);
    expect(out).toContain("files changed by main\n\n  the file changes were not recorded\n");
    expect(exportedFiles.parse((await skein.run(["export", "main", "--json"])).json()["files"])).toMatchObject({ files: null, patch: "" });
    expect(await skein.run(["new", "plain"])).toMatchObject({ code: 0 });
    expect(await skein.run(["add", "plain", "a remark"])).toMatchObject({ code: 0 });
    const plain = (await skein.run(["export", "plain"])).out;
    expect(plain).toContain("a remark");
    expect(plain).not.toContain("files changed");
  });

  test("with --redact no export format contains a key, an email address or the home directory", async () => {
    using skein = temporaryHome({ MY_API_KEY: "zucchini-is-the-key" });
    const { home } = await storeSampleTree(skein);
    for (const format of ["text", "md", "html", "json", "jsonl"]) {
      const { code, out } = await skein.run(["export", "main", "--format", format, "--redact", "--whole"]);
      expect(code).toBe(0);
      for (const secret of [key, key.slice(0, 24), home, "ada@example.org", "sealed"]) expect(out.includes(secret)).toBe(false);
      expect(out).toContain("[redacted]");
      expect(out).toContain("~/pictures");
    }
  });

  test("export refuses an unknown session and an unknown format", async () => {
    using skein = temporaryHome();
    expect(await skein.run(["export", "nobody"])).toMatchObject({ code: 2, err: expect.stringContaining("nobody") });
    expect(await skein.run(["export", "x", "--format", "pdf"])).toMatchObject({ code: 2 });
  });
});
