// Tests the agents' own sessions with the real programs. skein resumes or forks them if they end at our node, else it starts a
// new one with a brief. Model, effort and role must be as requested. Every turn is a new start of skein.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { rmSync } from "node:fs";
import { join } from "node:path";
import { installPeers, peerNames, peerPackages, peerPrograms } from "../../../bench/peers.ts";
import { type ModelServer, type RecordedRequest, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { field, type JsonValue } from "../../../src/scripted-model/json.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { findExternalAgent } from "../../../src/agents/external/adapters/index.ts";
import { agentHome, modelOf, countsIn, type NodeLine, type TakenTurn, takeTurn, textIn } from "../../support/agent-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

/** The model of the first turn and of later turns, and the values of low and high effort on the wire. */
const requested: Record<string, { models: [string, string]; efforts: [string, string] }> = {
  claude: { models: ["claude-opus-4-5", "claude-opus-5-5"], efforts: ["low", "high"] },
  codex: { models: ["gpt-5.2", "gpt-5.4"], efforts: ["low", "high"] },
  gemini: { models: ["gemini-3-pro-preview", "gemini-3.8-flash"], efforts: ["LOW", "HIGH"] },
  opencode: { models: ["gpt-5.2", "gpt-5.4"], efforts: ["low", "high"] },
  pi: { models: ["gpt-5.2", "gpt-5.4"], efforts: ["low", "high"] },
};

beforeAll(() => installPeers(peerNames), 300_000);

describe.each(peerNames.map((name) => [name] as const))("%s", (agent) => {
  const { models, efforts } = requested[agent]!;
  const canFork = findExternalAgent(agent)!.canFork;
  const heard = Object.fromEntries(["one", "two", "three", "four", "five", "six", "seven"].map((name) => [name, `heard-${name}`]));
  let server: ModelServer;
  let skein: TemporaryHome;
  let first: TakenTurn;
  let second: TakenTurn;

  beforeAll(() => {
    server = startModelServer({ steps: [], final: "" });
    skein = agentHome(server);
  });
  afterAll(async () => {
    await server.stop();
    skein[Symbol.dispose]();
  });

  async function turn(words: string, args: string[]): Promise<TakenTurn> {
    server.setScript({ steps: [], final: heard[words]! });
    const taken = await takeTurn(skein, server, [...args, `ask-${words}`]);
    expect([taken.ran.code, taken.turn.error, textIn(taken.nodes.at(-1))]).toEqual([0, undefined, heard[words]!]);
    return taken;
  }

  test("a first turn with three tool calls has the requested model, effort and role", async () => {
    server.setScript(shellScript(["expr 613000000000 + 301", "expr 613000000000 + 302", "expr 613000000000 + 303"], "heard-one"));
    first = await takeTurn(skein, server, [
      "-a",
      agent,
      "-m",
      `${models[0]}:low`,
      "--append-system",
      "You are first-role.",
      "--session",
      "trunk",
      "ask-one",
    ]);
    expect({ code: first.ran.code, ...about(first) }).toEqual({ code: 0, started: "new", brief: false, warnings: [] });
    const isScript = peerPrograms[agent].endsWith(".js"); // a wrapper of bench/peers.ts starts it, and no package has its version
    expect(first.turn.cli?.version).toBe(isScript ? null : peerPackages[agent].split("@").at(-1)!);
    expect(shapeOf(first.nodes)).toEqual([
      "user: ask-one",
      ...["301", "302", "303"].flatMap((n) => ["agent: call", `tool: 613000000${n}`]),
      "agent: heard-one",
    ]);
    expect(first.requests.map(modelOf)).toEqual(first.requests.map(() => models[0]));
    expect(first.requests.map(effortIn)).toEqual(first.requests.map(() => efforts[0]));
    expect(countsIn(first.requests[0], ["You are first-role."])).toEqual({ "You are first-role.": 1 });
  });

  test("a second turn resumes the agent's own session, with another model, effort and role", async () => {
    second = await turn("two", ["-m", `${models[1]}:high`, "--append-system", "You are second-role.", "--session", "trunk"]);
    expect(about(second)).toEqual({ started: "resume", brief: false, warnings: [] });
    expect(second.turn.native_id).toBe(first.turn.native_id);
    expect(turnsIn(second)).toEqual(["one", "two"]);
    expect(countsIn(second.requests[0], ["You are second-role."])).toEqual({ "You are second-role.": 1 });
    expect(second.requests.map(modelOf)).toEqual([models[1]]);
    expect(second.requests.map(effortIn)).toEqual([efforts[1]]);
  });

  test("a second session at the same node gets a fork, and neither gets the texts of the other", async () => {
    const fork = await turn("three", ["--session", "trunk", "--fork"]);
    expect(about(fork)).toEqual({ started: canFork ? "fork" : "resume", brief: false, warnings: [] });
    expect(fork.turn.native_id === second.turn.native_id).toBe(!canFork);
    expect(turnsIn(fork)).toEqual(["one", "two", "three"]);
    expect(fork.requests.map(modelOf)).toEqual([models[1]]);
    const trunk = await turn("four", ["--session", "trunk"]);
    // If the agent can't fork, the other session has resumed the agent's session.
    expect(about(trunk)).toEqual({ started: canFork ? "resume" : "new", brief: !canFork, warnings: [] });
    expect(trunk.turn.native_id === second.turn.native_id).toBe(canFork);
    expect(turnsIn(trunk)).toEqual(["one", "two", "four"]);
  });

  test("a fork at the first answer starts a new session without later turns", async () => {
    const fork = await turn("five", ["--at", first.nodes.at(-1)!.id]);
    expect(about(fork)).toEqual({ started: "new", brief: true, warnings: [] });
    expect(turnsIn(fork)).toEqual(["one", "five"]);
    expect(fork.turn.session_id).not.toBe(first.turn.session_id);
  });

  test("a lost session is replaced by a new one with a brief and a warning, and the next turn resumes it", async () => {
    rmSync(join(skein.env["SKEIN_HOME"]!, "data", "agents"), { recursive: true });
    const fresh = await turn("six", ["--session", "trunk"]);
    const warning = `${agent} could not resume its own session; it starts a new one with a brief`;
    expect(about(fresh)).toEqual({ started: "new", brief: true, warnings: [warning] });
    expect(turnsIn(fresh)).toEqual(["one", "two", "four", "six"]);
    const next = await turn("seven", ["--session", "trunk"]);
    // The request still contains the brief of the turn before.
    expect(about(next)).toEqual({ started: "resume", brief: true, warnings: [] });
    expect(turnsIn(next)).toEqual(["one", "two", "four", "six", "seven"]);
    expect(next.turn.native_id).toBe(fresh.turn.native_id);
  });

  test("the tree contains the prompts of the user and the answers of the agent", async () => {
    const { nodes } = (await skein.run(["show", "trunk", "--json"])).json() as { nodes: NodeLine[] };
    const textsOf = (author: string) => nodes.filter((node) => node.author === author && textIn(node) !== "").map(textIn);
    expect(textsOf("user").toSorted()).toEqual(
      Object.keys(heard)
        .map((words) => `ask-${words}`)
        .toSorted(),
    );
    expect(textsOf("agent").toSorted()).toEqual(Object.values(heard).toSorted());
  });

  /** Returns the turns whose texts are in the last request. Each text must be there exactly once. */
  function turnsIn({ requests }: TakenTurn): string[] {
    const last = requests.at(-1);
    const results = ["613000000301", "613000000302", "613000000303"];
    expect(countsIn(last, results)).toEqual(Object.fromEntries(results.map((result) => [result, 1])));
    const present = Object.keys(heard).filter((words) => last?.text.includes(`ask-${words}`) || last?.text.includes(heard[words]!));
    for (const words of present)
      expect(countsIn(last, [`ask-${words}`, heard[words]!])).toEqual({
        [`ask-${words}`]: 1,
        [heard[words]!]: words === present.at(-1) ? 0 : 1,
      });
    return present;
  }
});

test("sessions of one tree run turns at once, each with its own role and gateway", async () => {
  const server = startModelServer({ steps: [], final: "heard" });
  using skein = agentHome(server);
  await takeTurn(skein, server, ["-m", "claude-sonnet-4-5", "--session", "root", "ask-root"]);
  server.clear();
  const agents = ["pi", "pi", "claude", "codex", "pi"];
  const ran = await Promise.all(
    agents.map((agent, index) => {
      const model = ["-a", agent, "-m", agent === "codex" ? "gpt-5.2" : "claude-sonnet-4-5"];
      return skein.run([
        "run",
        "--session",
        "root",
        "--fork",
        ...model,
        "--net",
        "on",
        "--append-system",
        `role-${index}.`,
        `ask-${index}.`,
      ]);
    }),
  );
  await server.stop();
  expect(ran.map(({ code, out }) => [code, out])).toEqual(agents.map(() => [0, "heard\n"]));
  const words = agents.flatMap((_, index) => [`role-${index}.`, `ask-${index}.`]);
  const heard = server.main().map((request) => words.filter((word) => request.text.includes(word)).join(" "));
  expect(heard.toSorted()).toEqual(agents.map((_, index) => `role-${index}. ask-${index}.`));
});

test("a warning names the model of an agent that uses another model than requested", async () => {
  const server = startModelServer({ steps: [], final: "heard" });
  using skein = agentHome(server);
  // This version of Gemini CLI always uses the latest flash model, with any settings.
  const { requests, nodes, warnings } = await takeTurn(skein, server, ["-a", "gemini-3.5-flash", "ask"]);
  await server.stop();
  expect(requests.map(modelOf)).toEqual(["gemini-3.8-flash"]);
  expect(nodes.at(-1)?.model).toBe("gemini/gemini-3.8-flash");
  expect(warnings).toEqual(["gemini used model gemini-3.8-flash instead of gemini-3.5-flash"]);
});

function about({ turn, requests, warnings }: TakenTurn) {
  return { started: turn.cli?.started, brief: requests.some((request) => request.text.includes("<conversation>")), warnings };
}

function shapeOf(nodes: NodeLine[]): string[] {
  return nodes.map((node) => {
    const result = node.parts.flatMap((part) => (part.kind === "result" ? [part.text.trim()] : []));
    const isCall = node.parts.some((part) => part.kind === "call");
    return `${node.author}: ${result[0] ?? (isCall ? "call" : textIn(node))}`;
  });
}

function effortIn({ body }: RecordedRequest): JsonValue | undefined {
  const thinking = field(field(body, "generationConfig"), "thinkingConfig");
  return field(field(body, "output_config"), "effort") ?? field(field(body, "reasoning"), "effort") ?? field(thinking, "thinkingLevel");
}
