// A vendor refuses the first request of a turn with 429. When the turn continues, the agent's CLI must have the prompt once in its
// own session, whether the CLI kept the refused prompt or not.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { agentHome, agentModels, countsIn, takeTurn } from "../../support/agent-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const prompts = { first: "what is 613000000001 plus one", second: "what is 613000000003 plus one" };
const answer = "answer-of-the-model.";

let isLimited = false;
let server: ModelServer;
let skein: TemporaryHome;

function refuse(): Response {
  const resetAt = Math.floor(Date.now() / 1000) + 7200;
  return Response.json(
    {
      type: "error",
      error: {
        type: "usage_limit_reached",
        message: "You have hit your usage limit.",
        code: 429,
        status: "RESOURCE_EXHAUSTED",
        resets_at: resetAt,
      },
    },
    { status: 429, headers: { "retry-after": "7200", "x-should-retry": "false" } },
  );
}

beforeAll(async () => {
  await installPeers(peerNames);
  server = startModelServer({ steps: [], final: answer }, { route: async () => (isLimited ? refuse() : null) });
  skein = agentHome(server);
}, 300_000);

afterAll(async () => {
  await server.stop();
  skein[Symbol.dispose]();
});

/** Sends a prompt that the vendor refuses, and continues the turn. Returns the request that was answered. */
async function refusedThenContinued(agent: string, prompt: string) {
  const session = ["--session", agent];
  isLimited = true;
  const refused = await takeTurn(skein, server, ["-a", agent, "-m", agentModels[agent]!, ...session, prompt]);
  isLimited = false;
  const taken = await takeTurn(skein, server, ["--resume", agent]);
  expect([refused.turn.status, taken.turn.status, taken.requests.length]).toEqual(["rate-limited", "ok", 1]);
  return taken.requests[0];
}

for (const agent of peerNames)
  test(`${agent} gets a refused prompt once, at the start of its own session and later`, async () => {
    expect(countsIn(await refusedThenContinued(agent, prompts.first), [prompts.first])).toEqual({ [prompts.first]: 1 });
    const later = await refusedThenContinued(agent, prompts.second);
    expect(countsIn(later, [prompts.first, answer, prompts.second])).toEqual({ [prompts.first]: 1, [answer]: 1, [prompts.second]: 1 });
  }, 120_000);
