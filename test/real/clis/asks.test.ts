// Tests questions of the real agents to the user. No agent waits for an answer that can't come. If an agent prints the question,
// skein stores it with all others, and its answer is the next prompt.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { installPeers } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { ScriptCall } from "../../../src/scripted-model/script.ts";
import { agentHome, agentModels, takeTurn } from "../../support/agent-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const question = {
  question: "Which colour?",
  header: "Colour",
  options: [
    { label: "red", description: "warm" },
    { label: "blue", description: "cold" },
  ],
};
const calls: Record<string, ScriptCall> = {
  claude: { name: "AskUserQuestion", input: { questions: [{ ...question, multiSelect: false }] } },
  gemini: { name: "ask_user", input: { questions: [{ ...question, type: "choice" }] } },
  opencode: { name: "question", input: { questions: [question] } },
  codex: { name: "request_user_input", input: { questions: [{ id: "colour", ...question }] } },
};

let server: ModelServer;
let skein: TemporaryHome;

beforeAll(async () => {
  await installPeers(["claude", "gemini", "opencode", "codex"]);
  server = startModelServer({ steps: [], final: "" });
  skein = agentHome(server);
}, 300_000);

afterAll(async () => {
  await server.stop();
  skein[Symbol.dispose]();
});

const args = (agent: string) => ["-a", agent, "-m", agentModels[agent] as string];
const script = (agent: string) =>
  server.setScript(({ position }) =>
    position.prompt.includes("blue")
      ? { steps: [], final: "blue it is" }
      : { steps: [{ text: "I must ask.", calls: [calls[agent] as ScriptCall] }], final: "done" },
  );

test.each(["claude", "gemini"])("a question of %s ends its turn, and its answer is the prompt of the next", async (agent) => {
  script(agent);
  const { ran, turn } = await takeTurn(skein, server, [...args(agent), "paint it"]);
  expect([ran.code, turn.status, turn.error?.message]).toEqual([8, "needs-input", "Which colour?"]);
  const [ask] = JSON.parse((await skein.run(["asks", "--json"])).out) as {
    id: string;
    question: string;
    options: string[];
    call: string | null;
  }[];
  expect(ask).toMatchObject({ question: "Which colour?", options: ["red", "blue"], call: null });
  expect((await skein.run(["answer", ask?.id as string, "2"])).code).toBe(0);
  const next = await takeTurn(skein, server, ["--resume", turn.session_id]);
  expect([next.ran.code, next.turn.status, next.turn.agent]).toEqual([0, "ok", agent]);
  expect(next.nodes[0]).toMatchObject({ author: "user", parts: [{ text: "blue" }] });
  expect((await skein.run(["asks", "--json"])).out).toBe("[]\n");
});

test.each(["opencode", "codex"])("%s refuses the question of its model by itself, and its turn continues", async (agent) => {
  script(agent);
  const { ran, turn } = await takeTurn(skein, server, [...args(agent), "paint it"]);
  expect([ran.code, turn.status]).toEqual([0, "ok"]);
  expect(server.main().at(-1)?.text).toMatch(/unavailable/);
});
