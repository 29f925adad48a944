// Sessions that other agents keep on this machine: listed, searched, shown, forked and continued by their ids.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { agentTranscript, catchUpReport, foundMessage } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { type TemporaryHome, temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const fixture = (agent: string) => join(import.meta.dir, "../../fixtures/transcripts", agent, "session.jsonl");
const places = {
  claude: ".claude/projects/-home-user-project/one.jsonl",
  codex: ".codex/sessions/2026/11/16/rollout-1.jsonl",
  gemini: ".gemini/tmp/abc/chats/session-1.jsonl",
  pi: ".pi/agent/sessions/--home-user--/1.jsonl",
};
type Agent = keyof typeof places;
const agents = Object.keys(places) as Agent[];
const everywhere = ["list", "--agents", "all", "--all"];

let server: ModelServer;
beforeAll(() => {
  server = startModelServer({ steps: [], final: "gone on" });
});
afterAll(() => server.stop());

/** A recorded transcript whose directory is the test's project. */
function put(skein: TemporaryHome, agent: Agent, edit: (text: string) => string = (text) => text): string {
  const path = join(skein.home, places[agent]);
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, edit(readFileSync(fixture(agent), "utf8").replaceAll("/home/user/project", skein.project)));
  return path;
}

type Row = { id: string; agent: string; session: string | null };
async function transcripts(skein: TemporaryHome, args: string[] = everywhere): Promise<Row[]> {
  const printed = (await skein.run([...args, "--json"])).json() as { transcripts: Row[] };
  for (const row of printed.transcripts) agentTranscript.parse(row);
  return printed.transcripts;
}

describe("sessions of other agents", () => {
  test("each is listed, found, shown, forked and continued by its id, and no file of theirs changes", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const paths = agents.map((agent) => put(skein, agent));
    const before = paths.map((path) => `${statSync(path).mtimeMs} ${readFileSync(path, "utf8")}`);
    const rows = await transcripts(skein);
    expect(rows.map(({ agent }) => agent).toSorted()).toEqual(agents);
    const found = await skein.run(["search", "--agents", "all", "--all-projects", "words", "two", "notes", "--json"]);
    const { messages } = found.json() as { messages: { transcript: Row }[] };
    expect(new Set(messages.map((message) => foundMessage.parse(message).transcript.agent))).toEqual(new Set(agents));
    for (const { id, agent } of rows) {
      const shown = await skein.run(["show", id.slice(-8)]);
      expect([agent, shown.code, shown.out]).toEqual([agent, 0, expect.stringContaining("TASK one: how many words are in the two notes?")]);
      server.clear();
      const ran = await skein.run(["run", "--session", id, "go on", "-m", "openai/gpt-5.2"]);
      expect([agent, ran.code, ran.out]).toEqual([agent, 0, expect.stringContaining("gone on")]);
      expect(server.main()[0]!.text).toContain("There are five words.");
      expect((await skein.run(["fork", id, "--name", `fork-of-${agent}`])).code).toBe(0);
    }
    expect(await transcripts(skein)).toEqual([]);
    const table = await skein.run(everywhere);
    for (const agent of agents) expect(table.out).toContain(`fork-of-${agent}`);
    expect((await skein.run(["verify"])).out).toContain("ok");
    expect(paths.map((path) => `${statSync(path).mtimeMs} ${readFileSync(path, "utf8")}`)).toEqual(before);
  });

  test("messages that the agent adds later are imported when the session is named, and a deleted transcript leaves the session", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    const lines = readFileSync(fixture("codex"), "utf8").replaceAll("/home/user/project", skein.project).trimEnd().split("\n");
    const half = lines.findIndex((line) => line.includes("TASK two"));
    const path = put(skein, "codex", () => `${lines.slice(0, half).join("\n")}\n`);
    const [row] = await transcripts(skein, ["list", "--agents", "codex"]);
    expect((await skein.run(["show", row!.id])).out).not.toContain("TASK two");
    appendFileSync(path, `${lines.slice(half).join("\n")}\n{"torn`);
    expect((await skein.run(["show", row!.id])).out).toContain("TASK two");
    rmSync(path);
    expect((await skein.run(["show", row!.id])).out).toContain("TASK two");
    expect((await skein.run(["list", "--agents", "all", "--names"])).out).toContain(row!.id.slice(-8));
  });

  test("bad input is one clear line each", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    put(skein, "claude", () => 'no json\n{"uuid": 1}\n');
    expect(await skein.run(["list", "--agents", "cluade"])).toMatchObject({
      code: 2,
      err: 'skein: --agents has no "cluade"\n       did you mean claude?\n',
    });
    expect(await skein.run(["list", "--agents", "nobody"])).toMatchObject({
      code: 2,
      err: 'skein: --agents has no "nobody"\n       it takes all, or some of claude, codex, gemini, opencode, pi\n',
    });
    expect(await skein.run(["list", "--agents", "all"])).toMatchObject({
      code: 0,
      out: "no agent has a session of this project (--all lists those of others)\n",
    });
    expect(await skein.run(["search", "--agents", "all", "nothing"])).toMatchObject({ code: 1, out: "" });
    expect((await skein.run(["show", "00e4892f"])).err).toStartWith('skein: there is no session "00e4892f"');
  });
});

describe("catch-up", () => {
  test("ten lines say what was asked, done, changed, tested, committed and left open, as facts and without a model", async () => {
    const own = startModelServer(
      shellScript(
        ["printf 'one\\ntwo\\n' > a.txt", "false # npm test", "true # npm test", "false # npm run lint", "true git commit -m 'Add a file'"],
        "All done. Shall I push it?",
      ),
    );
    using skein = temporaryHome(vendorEnv(own.url));
    expect((await skein.run(["run", "add a file", "--session", "s", "-m", "anthropic/claude-sonnet-4-5"])).code).toBe(0);
    own.clear();
    const { out, code } = await skein.run(["catch-up", "s"]);
    expect(code).toBe(0);
    const lines = out.trimEnd().split("\n");
    expect(lines.length).toBeLessThanOrEqual(10);
    for (const line of lines) expect(Bun.stringWidth(line)).toBeLessThanOrEqual(80);
    expect(lines[0]).toMatch(/^s .*native · 1 turn · .* · ok · \$/);
    expect(out).toContain("asked    add a file\n");
    expect(out).toContain("done     bash 5 (2 failed)\n");
    expect(out).toContain("changed  1 file: a.txt +2 -0\n");
    expect(out).toContain("commits  Add a file\n");
    const report = catchUpReport.parse((await skein.run(["catch-up", "s", "--json"])).json());
    expect(report.tested).toEqual([
      { command: "false # npm run lint", runs: 1, failed: 1, ok: false },
      { command: "true # npm test", runs: 1, failed: 0, ok: true },
      { command: "false # npm test", runs: 1, failed: 1, ok: false },
    ]);
    expect(report.open).toEqual(
      expect.arrayContaining(["failed at the last run: false # npm run lint", "the last answer ends with a question"]),
    );
    expect(own.main()).toEqual([]);
    await own.stop();
  });

  test("a session of another agent is caught up on by its id, and wrong use is one clear line", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    put(skein, "claude");
    const [row] = await transcripts(skein);
    const { out } = await skein.run(["catch-up", row!.id]);
    expect(out).toContain("claude · 2 turns");
    expect(out).toContain("changed  not recorded\n");
    expect(out).toContain("done     Bash 4 (1 failed)\n");
    expect(await skein.run(["catch-up", "nobody"])).toMatchObject({
      code: 2,
      err: expect.stringMatching(/^skein: there is no session "nobody"\n/),
    });
    expect(await skein.run(["catch-up", "--model", "x"])).toMatchObject({ code: 2 });
  });

  test("a command of nearly a million words does not keep it busy", async () => {
    using skein = temporaryHome(vendorEnv(server.url));
    put(skein, "claude", (text) => text.replaceAll('"command":"ls"', `"command":"${"mvn git commit ".repeat(300_000)}"`));
    const [row] = await transcripts(skein);
    expect(await skein.run(["catch-up", row!.id])).toMatchObject({ code: 0, out: expect.stringContaining("done     Bash 4 (1 failed)\n") });
  });
});
