// Tests the budget of the real agents. It counts the vendor's answers, stops an agent between two requests, and the work so far
// is stored.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { type Script, shellScript } from "../../../src/scripted-model/script.ts";
import { agentHome, agentModels, type TakenTurn, takeTurn, textIn } from "../../support/agent-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const tenCalls = shellScript(
  Array.from({ length: 10 }, (_, index) => `echo step-${index}`),
  "never said",
);
/** The usage of each answer. */
const counts = [1000, 2000, 4000].map((input, index) => ({ input, output: 10 + index, cacheRead: 0, cacheWrite: 0 }));
const counted: Script = {
  steps: [
    { calls: [{ input: { command: "echo one" } }], usage: counts[0]! },
    { calls: [{ input: { command: "echo two" } }], usage: counts[1]! },
    { text: "both", usage: counts[2]! },
  ],
  final: "both",
};

beforeAll(() => installPeers(peerNames), 300_000);

describe.each(peerNames.map((name) => [name] as const))("%s", (agent) => {
  let server: ModelServer;
  let skein: TemporaryHome;
  beforeAll(() => {
    server = startModelServer(tenCalls);
    skein = agentHome(server);
  });
  afterAll(async () => {
    await server.stop();
    skein[Symbol.dispose]();
  });

  function turn(script: Script, args: string[]): Promise<TakenTurn> {
    server.setScript(script);
    return takeTurn(skein, server, ["do it", "-a", agent, "-m", agentModels[agent]!, "--timeout", "100s", ...args]);
  }

  const toolsIn = ({ nodes }: TakenTurn) => nodes.filter(({ author }) => author === "tool").length;

  test("usage is counted as the vendor counts it, for each request", async () => {
    const taken = await turn(counted, []);
    expect([taken.ran.code, taken.turn.status, textIn(taken.nodes.at(-1))]).toEqual([0, "ok", "both"]);
    expect(taken.turn.usage).toMatchObject({ input: 7000, output: 33 });
    expect(taken.turn.cost_usd).toBeGreaterThan(0);
    expect(taken.nodes.filter(({ author }) => author === "agent").map(({ usage }) => usage?.input)).toEqual([1000, 2000, 4000]);
  });

  test("a limit of about three requests in tokens stops the agent after a tool call, and its work so far is stored", async () => {
    const first = await turn(shellScript([], "hello"), []);
    const { input, output, cache_read: read, cache_write: written } = first.turn.usage;
    const maxTokens = 3 * (input + output + read + written);
    const taken = await turn(tenCalls, ["--session", "tokens", "--max-tokens", String(maxTokens)]);
    expect({ code: taken.ran.code, status: taken.turn.status, limit: taken.turn.error?.limit }).toEqual({
      code: 7,
      status: "budget",
      limit: "tokens",
    });
    expect(taken.turn.error?.hint).toMatch(/--max-tokens/);
    expect(toolsIn(taken)).toBeGreaterThanOrEqual(1);
    expect(taken.requests.length).toBeLessThan(6);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
    const next = await turn(shellScript([], "went on"), ["--session", "tokens"]);
    expect([next.ran.code, textIn(next.nodes.at(-1))]).toEqual([0, "went on"]);
  });

  test("a limit of steps stops the agent", async () => {
    const taken = await turn(tenCalls, ["--max-steps", "2"]);
    expect({ code: taken.ran.code, status: taken.turn.status, limit: taken.turn.error?.limit }).toEqual({
      code: 7,
      status: "budget",
      limit: "steps",
    });
    expect([taken.requests.length, toolsIn(taken)]).toEqual([2, 2]);
  });
});
