// Moves one session between all agents, with the real programs and the native agent: every agent follows every other. The next
// agent gets the whole conversation once, and the tree stores the texts unchanged.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { agentHome, agentModels, modelOf, countsIn, type NodeLine, takeTurn, textIn, type TurnLine } from "../../support/agent-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const allAgents = ["native", ...peerNames];
/** Models for agents that work with any vendor: one per wire, in turn. */
const anyVendor = ["claude-sonnet-4-5", "gpt-5.2", "gemini-3-pro-preview"];

let server: ModelServer;
let skein: TemporaryHome;

beforeAll(async () => {
  await installPeers(peerNames);
  server = startModelServer({ steps: [], final: "" });
  skein = agentHome(server);
}, 300_000);

afterAll(async () => {
  await server.stop();
  skein[Symbol.dispose]();
});

test("each of six agents takes over from every other, and each text is sent once", async () => {
  const order = circuit(allAgents);
  const handovers = new Set(order.slice(1).map((agent, index) => `${order[index]} → ${agent}`));
  expect(handovers.size).toBe(30);
  const earlierTurns: TurnTexts[] = [];
  for (const [index, agent] of order.entries()) {
    const mine = turnTexts(index);
    server.setScript({
      steps: [{ text: mine.before, calls: [{ input: { command: `echo ${mine.call}; expr 613000000000 + 300 + ${index}` } }] }],
      final: mine.answer,
    });
    const model = modelFor(agent, index);
    const agentFlags = ["-m", model, "-a", agent];
    const taken = await takeTurn(skein, server, [...agentFlags, "--session", "relay", mine.prompt]);
    const title = `${index}: ${order[index - 1] ?? "nobody"} → ${agent} on ${model}`;
    expect({ title, code: taken.ran.code, status: taken.turn.status, error: taken.turn.error }).toEqual({
      title,
      code: 0,
      status: "ok",
      error: undefined,
    });
    expect({ title, models: taken.requests.map(modelOf), started: taken.turn.cli?.started }).toEqual({
      title,
      models: [model, model],
      started: agent === "native" ? undefined : "new",
    });
    const earlier = earlierTurns.flatMap((turn) => [turn.prompt, turn.before, turn.answer, turn.result]);
    const current = [mine.prompt];
    expect({ title, ...countsIn(taken.requests[0], [...earlier, ...current]) }).toEqual({
      title,
      ...Object.fromEntries([...earlier, ...current].map((word) => [word, 1])),
    });
    expect({
      title,
      ...countsIn(
        taken.requests[0],
        earlierTurns.map((turn) => turn.call),
      ),
    }).toEqual({ title, ...Object.fromEntries(earlierTurns.map((turn) => [turn.call, 2])) });
    earlierTurns.push(mine);
  }
  const stored = (await skein.run(["show", "relay", "--json"])).json() as { nodes: NodeLine[]; turns: TurnLine[] };
  expect(stored.turns.map((turn) => turn.agent)).toEqual(order);
  expect(spoken(stored.nodes)).toEqual(
    earlierTurns.flatMap(({ prompt, before, answer }) => [`user: ${prompt}`, `agent: ${before}`, `agent: ${answer}`]),
  );
}, 300_000);

type TurnTexts = ReturnType<typeof turnTexts>;

function turnTexts(index: number) {
  const n = String(index).padStart(2, "0");
  return {
    prompt: `ask-${n}: "what" is\nnext?`,
    before: `look-${n}.`,
    call: `call-${n}`,
    result: String(613_000_000_300 + index),
    answer: `said-${n}`,
  };
}

function spoken(nodes: NodeLine[]): string[] {
  return nodes.filter((node) => node.author === "user" || node.author === "agent").map((node) => `${node.author}: ${textIn(node)}`);
}

function modelFor(agent: string, index: number): string {
  const isAny = agent === "native" || agent === "opencode" || agent === "pi";
  return isAny ? anyVendor[index % anyVendor.length]! : agentModels[agent]!;
}

/** Returns a path along every arrow between two names, each once (Hierholzer). */
function circuit(names: string[]): string[] {
  const remaining = new Map(names.map((name) => [name, names.filter((other) => other !== name)]));
  const stack = [names[0]!];
  const path: string[] = [];
  while (stack.length > 0) {
    const next = remaining.get(stack.at(-1)!)!.pop();
    if (next === undefined) path.unshift(stack.pop()!);
    else stack.push(next);
  }
  return path;
}
