// Imports real transcripts of four other agents. The native agent continues them and forks them in the middle.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { createHash } from "node:crypto";
import { appendFileSync, mkdirSync, readFileSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { importReport } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { treeHeader, treeLines } from "../../../src/protocol/json/tree-lines.ts";
import type { Session } from "../../../src/protocol/tree/turn.ts";
import { openStore } from "../../../src/store/sqlite/sqlite-store.ts";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { startInPty } from "../../support/pty.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const fixture = (agent: string) => join(import.meta.dir, "../../fixtures/transcripts", agent, "session.jsonl");
const agents = ["claude", "codex", "gemini", "pi"] as const;
const shells = { claude: "Bash", codex: "exec_command", gemini: "run_shell_command", pi: "bash" };

let server: ModelServer;
beforeAll(() => {
  server = startModelServer({ steps: [], final: "gone on" });
});
afterAll(() => server.stop());

describe("import", () => {
  for (const agent of agents) {
    test(`a transcript of ${agent} is imported only once, can be continued, and can be forked in the middle`, async () => {
      using skein = temporaryHome(vendorEnv(server.url));
      const first = await skein.run(["import", fixture(agent), "--name", "old", "--json"]);
      expect(first.err).toBe("");
      const report = importReport.parse(first.json());
      expect(report).toMatchObject({ format: agent, unreadable: 0, torn: false, branches: agent === "claude" ? 2 : 1 });
      expect(report.nodes).toEqual({ added: agent === "claude" ? 15 : 11, known: 0 });
      const again = importReport.parse((await skein.run(["import", fixture(agent), "--json"])).json());
      expect(again.nodes).toEqual({ added: 0, known: report.nodes.added });
      expect(again.session.id).toBe(report.session.id);

      server.clear();
      const ran = await skein.run(["run", "--session", "old", "go on", "-m", "anthropic/claude-sonnet-4-5"]);
      expect(ran.code).toBe(0);
      expect(ran.out).toContain("gone on");
      const sent = server.main()[0]!.text;
      for (const words of ["TASK one", "I look at the notes first.", shells[agent], "missing.txt: No such file", "ünïcode", "go on"])
        expect(sent).toContain(words);

      const nodes = transcriptLines(report.session.transcript_path!);
      const middle = nodes.find((line) => line.content === "There are five words.")!;
      server.clear();
      const forked = await skein.run(["run", "--session", "old", "--at", middle.id, "--fork", "elsewhere", "-m", "openai/gpt-5.2"]);
      expect(forked.code).toBe(0);
      const requestText = server.main()[0]!.text;
      expect(requestText).toContain("There are five words.");
      expect(requestText).toContain("elsewhere");
      expect(requestText).not.toContain("TASK two");
      expect(requestText).not.toContain("go on");
      const verified = await skein.run(["verify"]);
      expect(verified.out).toContain("ok");
    });
  }

  test("importing a longer version of a file adds only its new nodes and moves the tip", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const lines = readFileSync(fixture("pi"), "utf8").split("\n");
    const file = join(skein.root, "growing.jsonl");
    writeFileSync(file, `${lines.slice(0, 9).join("\n")}\n${lines[9]!.slice(0, 40)}`);
    const part = await skein.run(["import", file, "--json"]);
    const before = importReport.parse(part.json());
    expect(before).toMatchObject({ torn: true, nodes: { added: 5, known: 0 } });
    writeFileSync(file, lines.join("\n"));
    const after = importReport.parse((await skein.run(["import", file, "--json"])).json());
    expect(after.nodes).toEqual({ added: 6, known: 5 });
    expect(after.session.id).toBe(before.session.id);
    expect(after.session.tip).not.toBe(before.session.tip);
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("skein's own transcript is imported in another home with the same ids, and adds nothing in its own home", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const ran = (await skein.run(["run", "hello", "-m", "anthropic/claude-sonnet-4-5", "--output-format", "json"])).json();
    const path = ran["transcript_path"] as string;
    const atHome = importReport.parse((await skein.run(["import", path, "--json"])).json());
    expect(atHome).toMatchObject({ format: "skein", nodes: { added: 0, known: 2 }, session: { id: ran["session_id"] } });
    using otherHome = temporaryHome(vendorEnv(server.url));
    const piped = await otherHome.run(["import", "-", "--json"], { stdin: readFileSync(path, "utf8") });
    const elsewhere = importReport.parse(piped.json());
    expect(elsewhere).toMatchObject({ nodes: { added: 2, known: 0 }, session: { id: ran["session_id"], tip: ran["node_id"] } });
    expect((await otherHome.run(["verify"])).code).toBe(0);
  });

  test("an imported session that was continued keeps its tip when a longer version is imported", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const lines = readFileSync(fixture("codex"), "utf8").split("\n");
    const file = join(skein.root, "growing.jsonl");
    writeFileSync(file, lines.slice(0, 26).join("\n"));
    await skein.run(["import", file, "--name", "mine"]);
    const ran = (await skein.run(["run", "--session", "mine", "my own way", "-m", "ollama/qwen3:8b", "--output-format", "json"])).json();
    writeFileSync(file, lines.join("\n"));
    const after = importReport.parse((await skein.run(["import", file, "--json"])).json());
    expect(after.nodes.added).toBeGreaterThan(3);
    expect(after.session.tip).toBe(ran["node_id"] as string);
    const show = await skein.run(["show", "mine"]);
    expect(show.out).toContain("my own way");
    expect(show.out).toContain("TASK two");
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("a big imported result is stored complete, and the request contains an excerpt", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const file = join(skein.root, "big.jsonl");
    writeFileSync(file, readFileSync(fixture("pi"), "utf8").replace("2 a.txt\\n", `${"line of output\\n".repeat(20_000)}the end`));
    await skein.run(["import", file, "--name", "big"]);
    server.clear();
    await skein.run(["run", "--session", "big", "go on", "-m", "gemini/gemini-3-pro-preview"]);
    const sent = server.main()[0]!.text;
    expect(sent.length).toBeLessThan(60_000);
    expect(sent).toContain("the end");
    expect(sent).toMatch(/whole output, 300007 bytes: read path/);
    const verified = (await skein.run(["verify", "--json"])).json();
    expect(verified).toMatchObject({ ok: true, handles: 1 });
  });

  test("a tree with forks, turns and a big output is imported unchanged, and only once", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript({ steps: [{ thinking: "hm", calls: [{ input: { command: "seq 20000" } }] }], final: "counted" });
    const model = ["-m", "anthropic/claude-sonnet-4-5"];
    const ran = (await skein.run(["run", "count", "--session", "trunk", ...model, "--output-format", "json"])).json();
    await skein.run(["run", "--session", "trunk", "--fork", "and again", "--role", "tester", ...model]);
    server.setScript({ steps: [], final: "gone on" });
    const original = await treeIn(skein.root, ran["session_id"] as string);
    expect(original.view.sessions).toHaveLength(2);
    expect(original.view.turns.at(-1)?.role).toBe("tester");
    const file = join(skein.root, "tree.jsonl");
    writeFileSync(file, original.lines.map((line) => JSON.stringify(line)).join("\n"));

    using otherHome = temporaryHome(vendorEnv(server.url));
    const fork = original.view.sessions.find((each) => each.forkedFrom !== null)!;
    const forkAlone = await otherHome.run(["import", fork.transcript!]);
    expect(forkAlone.err).toContain("first import the session that this one was forked from");
    expect((await otherHome.run(["list"])).out).not.toContain("and again");
    const report = importReport.parse((await otherHome.run(["import", file, "--json"])).json());
    expect(report).toMatchObject({ format: "skein", nodes: { added: original.view.nodes.length }, session: { name: "trunk" } });
    const copy = await treeIn(otherHome.root, ran["session_id"] as string);
    expect(copy.view.nodes).toEqual(original.view.nodes);
    expect(copy.view.turns.map(({ source: _source, ...turn }) => turn)).toEqual(original.view.turns);
    const comparable = ({ id, tree, tip, name, forkedFrom, model: sessionModel, createdAt }: Session) => ({
      id,
      tree,
      tip,
      name,
      forkedFrom,
      sessionModel,
      createdAt,
    });
    expect(copy.view.sessions.map(comparable)).toEqual(original.view.sessions.map(comparable));
    expect(copy.outputs).toEqual(original.outputs);
    expect(original.outputs[0]).toContain("19999\n20000\n");
    expect((await otherHome.run(["verify", "--json"])).json()).toMatchObject({ ok: true, sessions: 2, handles: 2 });
    const again = importReport.parse((await otherHome.run(["import", file, "--json"])).json());
    expect(again.nodes.added).toBe(0);
    const forkReport = importReport.parse((await otherHome.run(["import", fork.transcript!, "--json"])).json());
    expect(forkReport).toMatchObject({ nodes: { added: 0 }, session: { id: fork.id } });
  });

  test("import reads the output of export, and another home exports the same lines again", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    server.setScript({ steps: [{ calls: [{ input: { command: "seq 20000; printf '\\377\\n'" } }] }], final: "counted" });
    await skein.run(["import", fixture("claude"), "--name", "old"]);
    await skein.run(["run", "--session", "old", "count", "-m", "anthropic/claude-sonnet-4-5"]);
    server.setScript({ steps: [], final: "gone on" });
    const exported = await skein.run(["export", "old", "--format", "jsonl"]);
    expect(exported.code).toBe(0);

    using otherHome = temporaryHome(vendorEnv(server.url));
    const report = importReport.parse((await otherHome.run(["import", "-", "--json"], { stdin: exported.out })).json());
    expect(report).toMatchObject({ format: "skein", nodes: { added: 19, known: 0 }, branches: 2, session: { name: "old" } });
    const again = await otherHome.run(["export", "old", "--format", "jsonl"]);
    expect(again.out.split("\n").slice(1)).toEqual(exported.out.split("\n").slice(1));
    expect((await otherHome.run(["verify", "--json"])).json()).toMatchObject({ ok: true, handles: 1 });
  });

  test("a purged session can be imported again, and importing an archived one prints how to restore it", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    await skein.run(["import", fixture("gemini"), "--name", "old"]);
    await skein.run(["delete", "old"]);
    expect((await skein.run(["import", fixture("gemini")])).out).toContain("it is archived: skein restore");
    await skein.run(["purge", "old", "--older-than", "0s"]);
    const reimported = importReport.parse((await skein.run(["import", fixture("gemini"), "--name", "anew", "--json"])).json());
    expect(reimported).toMatchObject({ nodes: { added: 11, known: 0 }, session: { name: "anew" } });
    const renamed = importReport.parse((await skein.run(["import", fixture("gemini"), "--name", "other", "--json"])).json());
    expect(renamed).toMatchObject({ nodes: { added: 0 }, session: { id: reimported.session.id, name: "other" } });
    expect((await skein.run(["verify"])).code).toBe(0);
  });

  test("a file that is not a transcript is refused in one line, and no store is created", async () => {
    using skein = temporaryHome();
    const file = join(skein.root, "garbage.jsonl");
    writeFileSync(file, "no transcript\n{]\n");
    appendFileSync(file, Buffer.from([0xff, 0xfe, 0x00, 0x0a]));
    const ran = await skein.run(["import", file]);
    expect(ran.code).toBe(1);
    expect(ran.err.trim().split("\n")[0]).toContain("is not a transcript");
    expect(await Bun.file(join(skein.root, "skein/data/skein.db")).exists()).toBe(false);
    const missing = await skein.run(["import", "nowhere.jsonl"]);
    expect(missing.err).toContain("can't read");
    const wrong = await skein.run(["import", fixture("pi"), "--format", "codex"]);
    expect(wrong.err).toContain("not a transcript of codex");
  });
});

/** Reads the tree of a session from the store, in the form that `export` prints. */
async function treeIn(root: string, id: string) {
  const data = join(root, "skein/data");
  const store = await openStore({ path: join(data, "skein.db"), outputsDir: join(data, "outputs") });
  try {
    const session = (await store.session(id))!;
    const all = await store.listSessions({ project: null });
    const sessions = all.filter((each) => each.tree === session.tree).toSorted((a, b) => a.id.localeCompare(b.id));
    const turns = (await Promise.all(sessions.map((each) => store.turnsOf(each.id)))).flat();
    const view = { nodes: await store.treeNodes(session.tree), sessions, turns };
    const outputs: string[] = [];
    const lines: unknown[] = [treeHeader(session, view)];
    for (const node of view.nodes) {
      for (const [index, line] of treeLines(node).entries()) {
        const part = node.parts[index];
        const handle = part?.kind === "result" ? part.handle : undefined;
        const text = handle === undefined ? null : await new Response(await store.readOutput(handle.identifier)).text();
        if (text !== null) outputs.push(text);
        lines.push(text === null ? line : { ...line, output: { bytes: text.length, cut_bytes: 0, text } });
      }
    }
    return { view, lines, outputs };
  } finally {
    await store.close();
  }
}

function transcriptLines(path: string): { id: string; content?: string }[] {
  return readFileSync(path, "utf8")
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as { id: string; content?: string });
}

test("import with an agent's name lists its sessions of this project, and a terminal imports the chosen one", async () => {
  using skein = temporaryHome();
  const project = realpathSync(skein.project);
  const paths = {
    claude: `.claude/projects/${project.replaceAll(/\W/g, "-")}/a.jsonl`,
    codex: ".codex/sessions/2026/11/16/rollout-1.jsonl",
    gemini: ".gemini/tmp/any/chats/session-1.jsonl",
    pi: ".pi/agent/sessions/any/a.jsonl",
  };
  const hash = createHash("sha256").update(project).digest("hex");
  for (const [agent, path] of Object.entries(paths)) {
    const original = readFileSync(fixture(agent), "utf8");
    const own = original.replaceAll("/home/user/project", project).replaceAll(/"projectHash":"\w+"/g, `"projectHash":"${hash}"`);
    const file = join(skein.home, path);
    mkdirSync(dirname(file), { recursive: true });
    writeFileSync(file, own);
    writeFileSync(join(dirname(file), basename(file).replace(/\w\.jsonl$/, "other.jsonl")), original);
    writeFileSync(join(dirname(file), basename(file).replace(/\w\.jsonl$/, "broken.jsonl")), "{");
    const listed = await skein.run(["import", agent]);
    expect([agent, listed.code, listed.out]).toEqual([agent, 0, expect.stringMatching(/TASK one: how many words are in the two notes\?/)]);
    const found = (await skein.run(["import", agent, "--json"])).json() as unknown as { path: string }[];
    expect(found.map(({ path: each }) => realpathSync(each))).toEqual([realpathSync(file)]);
  }
  await using terminal = startInPty(skein, ["import", "codex"]);
  await terminal.until("number or name [1]: ");
  terminal.type("\r");
  expect([await terminal.exited, terminal.shown()]).toEqual([0, expect.stringContaining("from codex")]);
  rmSync(join(skein.home, ".pi"), { recursive: true });
  const none = await skein.run(["import", "pi"]);
  expect([none.code, none.out, none.err]).toEqual([expect.any(Number), "", expect.stringContaining("pi has no session of")]);
  expect(none.code).not.toBe(0);
});
