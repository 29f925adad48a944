// One session that goes from hand to hand: every agent after every other, the native one included, with the real
// programs. Whoever takes the next turn is sent the whole conversation once, and the tree holds the words as they were.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { agentHome, agentModels, modelOf, countsIn, type NodeLine, takeTurn, textIn, type TurnLine } from "../../support/agent-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const everyone = ["native", ...peerNames];
/** Agents that ask any vendor, in turn by each of the wires. */
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

test("each of the six takes over from each of the others, and hears everything once", async () => {
  const order = circuit(everyone);
  const handed = new Set(order.slice(1).map((agent, at) => `${order[at]} → ${agent}`));
  expect(handed.size).toBe(30);
  const said: Said[] = [];
  for (const [at, agent] of order.entries()) {
    const mine = wordsOf(at);
    server.setScript({
      steps: [{ text: mine.before, calls: [{ input: { command: `echo ${mine.call}; expr 613000000000 + 300 + ${at}` } }] }],
      final: mine.answer,
    });
    const model = modelFor(agent, at);
    const who = ["-m", model, "-a", agent];
    const taken = await takeTurn(skein, server, [...who, "--session", "relay", mine.prompt]);
    const title = `${at}: ${order[at - 1] ?? "nobody"} → ${agent} on ${model}`;
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
    const earlier = said.flatMap((one) => [one.prompt, one.before, one.answer, one.result]);
    const own = [mine.prompt];
    expect({ title, ...countsIn(taken.requests[0], [...earlier, ...own]) }).toEqual({
      title,
      ...Object.fromEntries([...earlier, ...own].map((word) => [word, 1])),
    });
    expect({
      title,
      ...countsIn(
        taken.requests[0],
        said.map((one) => one.call),
      ),
    }).toEqual({ title, ...Object.fromEntries(said.map((one) => [one.call, 2])) });
    said.push(mine);
  }
  const stored = (await skein.run(["show", "relay", "--json"])).json() as { nodes: NodeLine[]; turns: TurnLine[] };
  expect(stored.turns.map((turn) => turn.agent)).toEqual(order);
  expect(spoken(stored.nodes)).toEqual(
    said.flatMap(({ prompt, before, answer }) => [`user: ${prompt}`, `agent: ${before}`, `agent: ${answer}`]),
  );
}, 300_000);

type Said = ReturnType<typeof wordsOf>;

function wordsOf(at: number) {
  const n = String(at).padStart(2, "0");
  return {
    prompt: `ask-${n}: "what" is\nnext?`,
    before: `look-${n}.`,
    call: `call-${n}`,
    result: String(613_000_000_300 + at),
    answer: `said-${n}`,
  };
}

function spoken(nodes: NodeLine[]): string[] {
  return nodes.filter((node) => node.author === "user" || node.author === "agent").map((node) => `${node.author}: ${textIn(node)}`);
}

function modelFor(agent: string, at: number): string {
  const isAny = agent === "native" || agent === "opencode" || agent === "pi";
  return isAny ? anyVendor[at % anyVendor.length]! : agentModels[agent]!;
}

/** A walk along every arrow between two of them, each once. */
function circuit(names: string[]): string[] {
  const left = new Map(names.map((name) => [name, names.filter((other) => other !== name)]));
  const stack = [names[0]!];
  const walk: string[] = [];
  while (stack.length > 0) {
    const next = left.get(stack.at(-1)!)!.pop();
    if (next === undefined) walk.unshift(stack.pop()!);
    else stack.push(next);
  }
  return walk;
}
