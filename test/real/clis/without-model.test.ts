// Runs the real agents without a model flag: each turn records the model that really answered, and a turn without a valid key
// or at a limit ends with its status and a hint.
import { beforeAll, describe, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { type ServerFault, shellScript } from "../../../src/scripted-model/script.ts";
import { agentHome, modelOf, takeTurn, type TakenTurn } from "../../support/agent-journey.ts";

const limitMs = 300_000;
const faults = {
  "a refused key": { fault: { type: "status", status: 401, message: "invalid x-api-key" }, status: "auth", code: 4 },
  "a limit": {
    fault: { type: "status", status: 429, message: "Too many requests", retryAfter: "1" },
    status: "rate-limited",
    code: 5,
  },
} as const satisfies Record<string, { fault: ServerFault; status: string; code: number }>;

beforeAll(() => installPeers(peerNames), limitMs);

async function takeTurnWithoutModel(agent: string, fault: ServerFault | null): Promise<TakenTurn & { models: string[] }> {
  const server: ModelServer = startModelServer(shellScript([], "fine"), fault === null ? { route: answerChoice } : {});
  using skein = agentHome(server);
  try {
    server.setFault(fault);
    const taken = await takeTurn(skein, server, ["-a", agent, "--timeout", "120s", "do it"]);
    return { ...taken, models: server.requests.filter(({ wire }) => wire !== null).map(modelOf) };
  } finally {
    await server.stop();
  }
}

/** gemini first asks a small model how complex the task is, without streaming, and chooses by the score. */
function answerChoice(_request: Request, path: string): Promise<Response> | null {
  if (!path.endsWith(":generateContent")) return null;
  const text = JSON.stringify({ complexity_reasoning: "one step", complexity_score: 90 });
  const candidates = [{ content: { role: "model", parts: [{ text }] }, finishReason: "STOP", index: 0 }];
  const usageMetadata = { promptTokenCount: 100, candidatesTokenCount: 10, totalTokenCount: 110 };
  return Promise.resolve(Response.json({ candidates, usageMetadata }));
}

describe.each(peerNames)("%s without a model", (agent) => {
  test(
    "a turn records the model that answered",
    async () => {
      const { ran, turn, models } = await takeTurnWithoutModel(agent, null);
      expect({ code: ran.code, status: turn.status, message: turn.error?.message }).toEqual({ code: 0, status: "ok", message: undefined });
      expect(models.some((model) => turn.model === model || turn.model?.endsWith(`/${model}`) === true)).toBe(true);
    },
    limitMs,
  );
});

describe.each(peerNames)("%s without a model", (agent) => {
  test.each(Object.entries(faults))(
    "after %s the turn ends with its status and a hint, and names the model that was asked",
    async (_title, { fault, status, code }) => {
      const { ran, turn, models } = await takeTurnWithoutModel(agent, fault);
      expect({ code: ran.code, status: turn.status, kind: turn.error?.kind }).toEqual({ code, status, kind: status });
      expect(turn.error?.hint ?? "").not.toBe("");
      expect(models.some((model) => turn.model === model || turn.model?.endsWith(`/${model}`) === true)).toBe(true);
    },
    limitMs,
  );
});
