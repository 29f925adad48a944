// The real agents at the end of their budget: it is counted from what the vendor answers, stops them between two requests,
// and keeps what there is.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { type Script, shellScript } from "../../../src/scripted-model/script.ts";
import { agentHome, agentModels, type TakenTurn, takeTurn, textIn } from "../../support/agent-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const ten = shellScript(
  Array.from({ length: 10 }, (_, at) => `echo step-${at}`),
  "never said",
);
/** What each answer counts. */
const counts = [1000, 2000, 4000].map((input, at) => ({ input, output: 10 + at, cacheRead: 0, cacheWrite: 0 }));
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
    server = startModelServer(ten);
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

  test("is counted as the vendor counts, request by request", async () => {
    const taken = await turn(counted, []);
    expect([taken.ran.code, taken.turn.status, textIn(taken.nodes.at(-1))]).toEqual([0, "ok", "both"]);
    expect(taken.turn.usage).toMatchObject({ input: 7000, output: 33 });
    expect(taken.turn.cost_usd).toBeGreaterThan(0);
    expect(taken.nodes.filter(({ author }) => author === "agent").map(({ usage }) => usage?.input)).toEqual([1000, 2000, 4000]);
  });

  test("is stopped by the tokens of about three first requests, after a tool call, and what there is stays", async () => {
    const first = await turn(shellScript([], "hello"), []);
    const { input, output, cache_read: read, cache_write: written } = first.turn.usage;
    const most = 3 * (input + output + read + written);
    const taken = await turn(ten, ["--session", "tokens", "--max-tokens", String(most)]);
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

  test("is stopped by a number of steps", async () => {
    const taken = await turn(ten, ["--max-steps", "2"]);
    expect({ code: taken.ran.code, status: taken.turn.status, limit: taken.turn.error?.limit }).toEqual({
      code: 7,
      status: "budget",
      limit: "steps",
    });
    expect([taken.requests.length, toolsIn(taken)]).toEqual([2, 2]);
  });
});
