// Tests the real agents as a user meets them: in a conversation with several agents, in its listings and exports, and as
// sub-sessions of the native agent.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { agentHome, modelOf, countsIn, type NodeLine, takeTurn, textIn, type TurnLine } from "../../support/agent-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

let server: ModelServer;
let skein: TemporaryHome;

beforeAll(async () => {
  await installPeers(["claude", "codex", "pi"]);
  server = startModelServer({ steps: [], final: "" });
  skein = agentHome(server);
}, 300_000);

afterAll(async () => {
  await server.stop();
  skein[Symbol.dispose]();
});

function chat(lines: string[], args: string[] = []) {
  return skein.run(["chat", "talk", ...args], { stdin: lines.map((line) => `${line}\n`).join("") });
}

test("/agent and /model change the agent and model of a conversation, and both are stored", async () => {
  const bodies: string[] = [];
  server.setScript(({ position: { prompt }, body }) => {
    bodies.push(JSON.stringify(body));
    return { steps: [], final: `heard ${/word-\d/g.exec(prompt.slice(-6))?.[0]}` };
  });
  const first = await chat(
    ["word-1", "/agent pi", "/model claude-sonnet-4-5", "word-2", "/agent gpt-5.2", "word-3", "/agent", "/model"],
    ["-m", "claude-opus-4-5"],
  );
  expect([first.code, first.out]).toEqual([
    0,
    "heard word-1\nFrom now on pi takes the turns.\nFrom now on claude-sonnet-4-5 answers.\nheard word-2\n" +
      "From now on gpt-5.2 takes the turns.\nheard word-3\ncodex takes the turns.\nopenai/gpt-5.2 answers.\n",
  ]);
  const second = await chat(["/agent", "/model gpt-5.4:high", "word-4", "/agent nobody", "/model claude-opus-4-5"]);
  expect(second.out).toBe("codex takes the turns.\nFrom now on gpt-5.4:high answers.\nheard word-4\n");
  expect(second.err).toContain('no agent or model "nobody"');
  expect(second.err).toContain("codex can't use anthropic's claude-opus-4-5");
  const third = await chat(["/model", "word-5", "/agent native", "/model", "word-6"]);
  expect(third.out).toBe(
    "openai/gpt-5.4:high answers.\nheard word-5\nFrom now on native takes the turns.\nthe default model answers.\nheard word-6\n",
  );
  const { turns } = (await skein.run(["show", "talk", "--json"])).json() as { turns: TurnLine[] };
  expect(turns.map(({ agent, model, cli }) => [agent, model, cli?.started])).toEqual([
    ["native", "anthropic/claude-opus-4-5", undefined],
    ["pi", "anthropic/claude-sonnet-4-5", "new"],
    ["codex", "openai/gpt-5.2", "new"],
    ["codex", "openai/gpt-5.4:high", "resume"],
    ["codex", "openai/gpt-5.4:high", "resume"],
    ["native", turns.at(-1)!.model, undefined],
  ]);
  const words = ["word-1", "word-2", "word-3", "word-4", "word-5"];
  expect(countsIn({ text: bodies.at(-1)! }, words)).toEqual(Object.fromEntries(words.map((word) => [word, 2])));
});

test("listings, exports and the context name the agents", async () => {
  await chat(["/agent pi", "word-7"]);
  expect((await skein.run(["list"])).out).toMatch(/SESSION +USED +AGENT +MODEL +TASK\n\* +talk \w+ +(just now|\S+ ago) +pi +/);
  const exported = (await skein.run(["export", "talk"])).out;
  expect([...exported.matchAll(/^agent \w+(?= )/gm)].map(([head]) => head)).toEqual(
    ["native", "pi", "codex", "codex", "codex", "native", "pi"].map((name) => `agent ${name}`),
  );
  const context = (await skein.run(["context", "talk"])).out;
  expect(context).toContain("## User\nword-7\n\n## Assistant\nheard word-7\n</conversation>");
  expect((await skein.run(["verify"])).code).toBe(0);
});

test("a run prints the calls of an agent while it works", async () => {
  server.setScript({ steps: [{ text: "Let me see.", calls: [{ input: { command: "expr 61000 + 300" } }] }], final: "All is well." });
  const ran = await skein.run(["run", "-a", "claude", "-m", "claude-sonnet-4-5", "look"]);
  expect([ran.code, ran.out]).toEqual([0, "Let me see.\nAll is well.\n"]);
  expect(ran.err).toMatch(
    /^claude · anthropic\/claude-sonnet-4-5 · policy workspace · session \w+\n• Bash expr 61000 \+ 300\n {2}61300\nok · 2 steps · in [\d.]+k out \d+ · \$0\.\d+ · .* · session \w+\n$/,
  );
});

test("flags that need the native agent are refused before any request, for every other agent", async () => {
  server.setScript({ steps: [], final: "fine" });
  await skein.run(["run", "-a", "pi", "-m", "claude-sonnet-4-5", "--session", "plain", "hello"]);
  await Bun.write(join(skein.project, "schema.json"), '{"type":"object"}');
  await Bun.write(join(skein.project, "dot.gif"), Buffer.from("R0lGODlhAQABAIAAAAAAAP///yH5BAEAAAAALAAAAAABAAEAAAIBRAA7", "base64"));
  server.clear();
  for (const [flag, ...value] of [
    ["--image", "dot.gif"],
    ["--tool-level", "none"],
    ["--tools", "read"],
    ["--json-schema", "schema.json"],
  ] as const)
    for (const agentFlags of [[], ["-a", "pi"]]) {
      const ran = await skein.run(["run", "--session", "plain", ...agentFlags, flag, ...value, "go on"]);
      expect([flag, ran.code, ran.err.split(";")[0]]).toEqual([
        flag,
        2,
        `skein: ${[flag, ...(flag === "--tool-level" ? value : [])].join(" ")} needs the native agent`,
      ]);
    }
  expect(server.requests).toEqual([]);
  expect(((await skein.run(["show", "plain", "--json"])).json() as { turns: TurnLine[] }).turns).toHaveLength(1);
});

test("an ephemeral run leaves no file, and a purged run is only in the database file", async () => {
  server.setScript({ steps: [], final: "quiet" });
  const pi = ["run", "-a", "pi", "-m", "claude-sonnet-4-5"];
  expect((await skein.run([...pi, "--ephemeral", "a secret heron"])).out).toBe("quiet\n");
  expect((await skein.run([...pi, "--session", "short", "a secret heron"])).out).toBe("quiet\n");
  for (const command of ["delete", "purge"]) expect((await skein.run([command, "short"])).code).toBe(0);
  const files = readdirSync(skein.root, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  const matches = files.filter((file) => readFileSync(join(file.parentPath, file.name), "latin1").includes("a secret heron"));
  expect(matches.map((file) => file.name).filter((name) => !name.startsWith("skein.db"))).toEqual([]);
});

test("the native agent delegates a task to another agent and model, and gets its answer", async () => {
  const task = "count the herons";
  server.setScript(({ position: { prompt } }) =>
    prompt.includes(task)
      ? { steps: [{ calls: [{ input: { command: "expr 4 + 3" } }] }], final: "seven herons" }
      : {
          steps: [{ calls: [{ name: "spawn_session", input: { task, agent: "claude", model: "claude-sonnet-4-5" } }] }],
          final: "it counted",
        },
  );
  const taken = await takeTurn(skein, server, ["-m", "gpt-5.2", "--session", "parent", "delegate it"]);
  expect([taken.ran.code, textIn(taken.nodes.filter((node) => node.session_id === taken.turn.session_id).at(-1))]).toEqual([
    0,
    "it counted",
  ]);
  expect(taken.requests.map(modelOf)).toEqual(["gpt-5.2", "claude-sonnet-4-5", "claude-sonnet-4-5", "gpt-5.2"]);
  const results = taken.nodes.flatMap((node) =>
    node.parts.flatMap((part) => (part.kind === "result" && part.name === "spawn_session" ? [part.text] : [])),
  );
  expect(results.join()).toMatch(/^seven herons\n\n\[session [\w-]+, ok, spent \$0\.\d+, [\d,]+ tokens, transcript .*\]$/);
  const child = /session ([\w-]+),/.exec(results.join())?.[1];
  const { nodes, turns } = (await skein.run(["show", child!, "--json"])).json() as { nodes: NodeLine[]; turns: TurnLine[] };
  expect([turns[0]?.agent, turns[0]?.cli?.started, textIn(nodes[0]), textIn(nodes.at(-1))]).toEqual([
    "claude",
    "new",
    task,
    "seven herons",
  ]);
});
