// Tests two configured agents: a program that prints text, and opencode over ACP. Each starts a session, continues it, is forked
// at its first answer, and exchanges the session with other agents. The two slowest agents are left out; they passed too.
// Every turn is a new start of skein.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import {
  agentHome,
  agentModels,
  modelOf,
  countsIn,
  type NodeLine,
  opencodeAcp,
  type TakenTurn,
  takeTurn,
  textIn,
  type TurnLine,
} from "../../support/agent-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const program = join(import.meta.dir, "..", "..", "fixtures", "bin", "text-agent.ts");
const args = [program, "{session}", "{model}", "{prompt}"];
const configured = {
  "my-text": { command: process.execPath, args, resume_args: args, output: "text" },
  "my-acp": opencodeAcp,
};
const allAgents = [...Object.keys(configured), "native", "claude", "codex", "pi"];

let server: ModelServer;
let skein: TemporaryHome;

beforeAll(async () => {
  await installPeers(peerNames);
  server = startModelServer({ steps: [], final: "" });
  skein = agentHome(server);
  const folder = join(skein.env["SKEIN_HOME"] as string, "config");
  mkdirSync(folder, { recursive: true });
  writeFileSync(join(folder, "config.jsonc"), JSON.stringify({ agents: configured }));
}, 300_000);

afterAll(async () => {
  await server.stop();
  skein[Symbol.dispose]();
});

describe.each(Object.keys(configured))("%s", (agent) => {
  test("a session starts with three calls, continues, and is forked at its first answer without later turns", async () => {
    const [one, two, three] = [turnTexts(agent, 1, 3), turnTexts(agent, 2), turnTexts(agent, 3)];
    const first = await turn(agent, one, ["--session", agent]);
    expect([first.turn.cli?.started, first.requests.length]).toEqual(["new", 4]);
    const second = await turn(agent, two, ["--session", agent]);
    expect([second.turn.cli?.started, second.turn.native_id]).toEqual(["resume", first.turn.native_id]);
    expectSentOnce(second, two, [one]);
    const fork = await turn(agent, three, ["--at", first.nodes.at(-1)!.id]);
    expect(fork.turn.cli?.started).toBe("new");
    expect(fork.turn.session_id).not.toBe(first.turn.session_id);
    expectSentOnce(fork, three, [one]);
    const after = [two.prompt, two.before, two.answer, ...two.calls, ...two.results];
    const none = Object.fromEntries(after.map((word) => [word, 0]));
    expect(fork.requests.map((request) => countsIn(request, after))).toEqual(fork.requests.map(() => none));
    const trunk = await stored(agent);
    expect(spoken(trunk.nodes)).toEqual([one, two, three].flatMap((mine) => shownOf(agent, mine)));
    expect(pathTo(trunk.nodes, second.nodes.at(-1)!)).toEqual([one, two].flatMap((mine) => shownOf(agent, mine)));
    expect(pathTo(trunk.nodes, fork.nodes.at(-1)!)).toEqual([one, three].flatMap((mine) => shownOf(agent, mine)));
  }, 300_000);
});

test("each configured agent takes over from every other agent and back, and each text is sent once", async () => {
  const order = circuit(allAgents, (from, to) => from in configured || to in configured);
  expect(new Set(order.slice(1).map((agent, index) => `${order[index]} → ${agent}`)).size).toBe(2 + 2 * 2 * (allAgents.length - 2));
  const earlier: TurnTexts[] = [];
  for (const [index, agent] of order.entries()) {
    const mine = turnTexts("relay", index);
    const taken = await turn(agent, mine, ["--session", "relay"], `${index}: ${order[index - 1] ?? "nobody"} → ${agent}`);
    expect(taken.turn.cli?.started).toBe(agent === "native" ? undefined : "new");
    expectSentOnce(taken, mine, earlier);
    earlier.push(mine);
  }
  const { turns, nodes } = await stored("relay");
  expect(turns.map((each) => each.agent)).toEqual(order);
  expect(spoken(nodes)).toEqual(earlier.flatMap((mine, index) => shownOf(order[index]!, mine)));
}, 600_000);

type TurnTexts = ReturnType<typeof turnTexts>;

/** The texts of one turn. No text is part of another. */
function turnTexts(name: string, index: number, calls = 1) {
  const n = `${name}-${String(index).padStart(2, "0")}`;
  const numbers = Array.from({ length: calls }, (_, call) => 100 * index + call + 1);
  return {
    prompt: `ask-${n}: "what" is\nnext?`,
    before: `look-${n}.`,
    calls: numbers.map((number) => `call-${n}-${number}.`),
    commands: numbers.map((number) => `echo call-${n}-${number}.; expr 610000000000 + ${number}`),
    results: numbers.map((number) => String(610_000_000_000 + number)),
    answer: `said-${n}`,
  };
}

async function turn(agent: string, mine: TurnTexts, args: string[], title = `${agent}: ${mine.answer}`): Promise<TakenTurn> {
  const [first, ...more] = mine.commands.map((command) => ({ calls: [{ input: { command } }] }));
  server.setScript({ steps: [{ text: mine.before, ...first }, ...more], final: mine.answer });
  const model = agentModels[agent] ?? "claude-sonnet-4-5";
  const taken = await takeTurn(skein, server, ["-a", agent, "-m", model, ...args, mine.prompt]);
  const { status, error } = taken.turn;
  expect({ title, code: taken.ran.code, status, error }).toEqual({ title, code: 0, status: "ok", error: undefined });
  expect({ title, models: taken.requests.map(modelOf) }).toEqual({ title, models: [model, ...mine.calls.map(() => model)] });
  return taken;
}

/** The first request of a turn contains every earlier text once. The text of a call is in its command and in its output. */
function expectSentOnce({ requests: [request] }: TakenTurn, { prompt }: TurnTexts, earlier: TurnTexts[]): void {
  const once = [...earlier.flatMap((turn) => [turn.prompt, turn.before, turn.answer, ...turn.results]), prompt];
  const twice = earlier.flatMap((turn) => turn.calls);
  expect({ prompt, ...countsIn(request, [...once, ...twice]) }).toEqual({
    prompt,
    ...Object.fromEntries(once.map((word) => [word, 1])),
    ...Object.fromEntries(twice.map((word) => [word, 2])),
  });
}

/** Returns the expected texts of user and agent in the tree. All output of a text agent is its answer. */
function shownOf(agent: string, { prompt, before, calls, commands, results, answer }: TurnTexts): string[] {
  if (agent !== "my-text") return [`user: ${prompt}`, `agent: ${before}`, ...calls.slice(1).map(() => "agent: "), `agent: ${answer}`];
  const outputs = commands.map((command, index) => `$ ${command}\n${calls[index]}\n${results[index]}`);
  return [`user: ${prompt}`, `agent: ${[before, ...outputs, answer].join("\n")}`];
}

async function stored(session: string): Promise<{ nodes: NodeLine[]; turns: TurnLine[] }> {
  return (await skein.run(["show", session, "--json"])).json() as { nodes: NodeLine[]; turns: TurnLine[] };
}

function spoken(nodes: NodeLine[]): string[] {
  return nodes.filter((node) => node.author === "user" || node.author === "agent").map((node) => `${node.author}: ${textIn(node)}`);
}

function pathTo(nodes: NodeLine[], tip: NodeLine): string[] {
  const path: NodeLine[] = [];
  for (let node: NodeLine | undefined = tip; node !== undefined; node = nodes.find(({ id }) => id === node?.parent_id)) path.unshift(node);
  return spoken(path);
}

/** Returns a path along each of these arrows, once (Hierholzer). */
function circuit(names: string[], isArrow: (from: string, to: string) => boolean): string[] {
  const remaining = new Map(names.map((name) => [name, names.filter((other) => other !== name && isArrow(name, other))]));
  const stack = [names[0]!];
  const path: string[] = [];
  while (stack.length > 0) {
    const next = remaining.get(stack.at(-1)!)!.pop();
    if (next === undefined) path.unshift(stack.pop()!);
    else stack.push(next);
  }
  return path;
}
