// Two agents of the configuration among the others: a program that prints text, and opencode over ACP. Each begins,
// goes on, is forked at its first answer, and is handed the session by others and hands it on to them (the slowest
// two are left out; they passed too). Every turn is a new start of skein.
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
const words = [program, "{session}", "{model}", "{prompt}"];
const configured = {
  "my-text": { command: process.execPath, args: words, resume_args: words, output: "text" },
  "my-acp": opencodeAcp,
};
const everyone = [...Object.keys(configured), "native", "claude", "codex", "pi"];

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
  test("begins with three calls, goes on in its own session, and is forked at its first answer without what came after", async () => {
    const [one, two, three] = [saidBy(agent, 1, 3), saidBy(agent, 2), saidBy(agent, 3)];
    const first = await turn(agent, one, ["--session", agent]);
    expect([first.turn.cli?.started, first.requests.length]).toEqual(["new", 4]);
    const second = await turn(agent, two, ["--session", agent]);
    expect([second.turn.cli?.started, second.turn.native_id]).toEqual(["resume", first.turn.native_id]);
    expectHeard(second, two, [one]);
    const fork = await turn(agent, three, ["--at", first.nodes.at(-1)!.id]);
    expect(fork.turn.cli?.started).toBe("new");
    expect(fork.turn.session_id).not.toBe(first.turn.session_id);
    expectHeard(fork, three, [one]);
    const after = [two.prompt, two.before, two.answer, ...two.calls, ...two.results];
    const none = Object.fromEntries(after.map((word) => [word, 0]));
    expect(fork.requests.map((request) => countsIn(request, after))).toEqual(fork.requests.map(() => none));
    const trunk = await stored(agent);
    expect(spoken(trunk.nodes)).toEqual([one, two, three].flatMap((mine) => shownOf(agent, mine)));
    expect(pathTo(trunk.nodes, second.nodes.at(-1)!)).toEqual([one, two].flatMap((mine) => shownOf(agent, mine)));
    expect(pathTo(trunk.nodes, fork.nodes.at(-1)!)).toEqual([one, three].flatMap((mine) => shownOf(agent, mine)));
  }, 300_000);
});

test("each of the two takes over from each of the others and hands over to it, and everything is heard once", async () => {
  const order = circuit(everyone, (from, to) => from in configured || to in configured);
  expect(new Set(order.slice(1).map((agent, at) => `${order[at]} → ${agent}`)).size).toBe(2 + 2 * 2 * (everyone.length - 2));
  const said: Said[] = [];
  for (const [at, agent] of order.entries()) {
    const mine = saidBy("relay", at);
    const taken = await turn(agent, mine, ["--session", "relay"], `${at}: ${order[at - 1] ?? "nobody"} → ${agent}`);
    expect(taken.turn.cli?.started).toBe(agent === "native" ? undefined : "new");
    expectHeard(taken, mine, said);
    said.push(mine);
  }
  const { turns, nodes } = await stored("relay");
  expect(turns.map((each) => each.agent)).toEqual(order);
  expect(spoken(nodes)).toEqual(said.flatMap((mine, at) => shownOf(order[at]!, mine)));
}, 600_000);

type Said = ReturnType<typeof saidBy>;

/** What is said in one turn; no word is part of another. */
function saidBy(who: string, at: number, calls = 1) {
  const n = `${who}-${String(at).padStart(2, "0")}`;
  const numbers = Array.from({ length: calls }, (_, call) => 100 * at + call + 1);
  return {
    prompt: `ask-${n}: "what" is\nnext?`,
    before: `look-${n}.`,
    calls: numbers.map((number) => `call-${n}-${number}.`),
    commands: numbers.map((number) => `echo call-${n}-${number}.; expr 610000000000 + ${number}`),
    results: numbers.map((number) => String(610_000_000_000 + number)),
    answer: `said-${n}`,
  };
}

async function turn(agent: string, mine: Said, args: string[], title = `${agent}: ${mine.answer}`): Promise<TakenTurn> {
  const [first, ...more] = mine.commands.map((command) => ({ calls: [{ input: { command } }] }));
  server.setScript({ steps: [{ text: mine.before, ...first }, ...more], final: mine.answer });
  const model = agentModels[agent] ?? "claude-sonnet-4-5";
  const taken = await takeTurn(skein, server, ["-a", agent, "-m", model, ...args, mine.prompt]);
  const { status, error } = taken.turn;
  expect({ title, code: taken.ran.code, status, error }).toEqual({ title, code: 0, status: "ok", error: undefined });
  expect({ title, models: taken.requests.map(modelOf) }).toEqual({ title, models: [model, ...mine.calls.map(() => model)] });
  return taken;
}

/** The first request of a turn holds all that was said before, once; a call's word stands in the command and in what it printed. */
function expectHeard({ requests: [request] }: TakenTurn, { prompt }: Said, earlier: Said[]): void {
  const once = [...earlier.flatMap((one) => [one.prompt, one.before, one.answer, ...one.results]), prompt];
  const twice = earlier.flatMap((one) => one.calls);
  expect({ prompt, ...countsIn(request, [...once, ...twice]) }).toEqual({
    prompt,
    ...Object.fromEntries(once.map((word) => [word, 1])),
    ...Object.fromEntries(twice.map((word) => [word, 2])),
  });
}

/** The user's words and the agent's, as they must be in the tree. What prints text has said all that it printed. */
function shownOf(agent: string, { prompt, before, calls, commands, results, answer }: Said): string[] {
  if (agent !== "my-text") return [`user: ${prompt}`, `agent: ${before}`, ...calls.slice(1).map(() => "agent: "), `agent: ${answer}`];
  const ran = commands.map((command, at) => `$ ${command}\n${calls[at]}\n${results[at]}`);
  return [`user: ${prompt}`, `agent: ${[before, ...ran, answer].join("\n")}`];
}

async function stored(session: string): Promise<{ nodes: NodeLine[]; turns: TurnLine[] }> {
  return (await skein.run(["show", session, "--json"])).json() as { nodes: NodeLine[]; turns: TurnLine[] };
}

function spoken(nodes: NodeLine[]): string[] {
  return nodes.filter((node) => node.author === "user" || node.author === "agent").map((node) => `${node.author}: ${textIn(node)}`);
}

function pathTo(nodes: NodeLine[], tip: NodeLine): string[] {
  const path: NodeLine[] = [];
  for (let at: NodeLine | undefined = tip; at !== undefined; at = nodes.find(({ id }) => id === at?.parent_id)) path.unshift(at);
  return spoken(path);
}

/** A walk along every one of these arrows, each once. */
function circuit(names: string[], isArrow: (from: string, to: string) => boolean): string[] {
  const left = new Map(names.map((name) => [name, names.filter((other) => other !== name && isArrow(name, other))]));
  const stack = [names[0]!];
  const walk: string[] = [];
  while (stack.length > 0) {
    const next = left.get(stack.at(-1)!)!.pop();
    if (next === undefined) walk.unshift(stack.pop()!);
    else stack.push(next);
  }
  return walk;
}
