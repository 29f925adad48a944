// Runs real programs as clients of `skein mcp`, configured by `skein mcp install`. Answers of other agents and a model arrive in
// their next request. Long work is returned while it continues, and collected later. The hub outlives the clients.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, type RecordedRequest, startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { ScriptStep } from "../../../src/scripted-model/script.ts";
import { agentHome, type TurnLine } from "../../support/agent-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { askClient, installClient, mcpClientNames, type McpClientName, toolName } from "../../support/real-mcp-clients.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

let server: ModelServer;

beforeAll(async () => {
  await installPeers(peerNames);
  // Some clients add their own user texts. Only ours contain "heron-".
  server = startModelServer({ steps: [], final: "" }, { marker: "heron-" });
}, 300_000);
afterAll(() => server.stop());

/** Returns the last name in a prompt, which may contain the whole conversation. */
const nameIn = (prompt: string) => [...prompt.matchAll(/heron-(\w+)/g)].at(-1)?.[1] ?? "";
const call = (client: McpClientName, tool: string, input: Record<string, string>): ScriptStep => ({
  calls: [{ name: toolName(client, tool), input }],
});
/** Returns the requests of the client to its own model. */
const clientRequests = () => server.main().filter(({ text }) => text.includes("heron-conductor"));

/** Two other agents, by name or by model. */
const others: Record<McpClientName, [string, string]> = {
  claude: ["gpt-5.2", "gemini-3-pro-preview"],
  codex: ["claude", "opencode"],
  gemini: ["codex", "pi"],
  opencode: ["claude", "codex"],
};
const agentOf: Record<string, string> = { "gpt-5.2": "codex", "gemini-3-pro-preview": "gemini" };

test.each([...mcpClientNames])("%s gets the answers of two agents and a model, from one session", async (client) => {
  const [first, second] = others[client];
  const work = (agent: string) => call(client, "work_with", { agent, task: `heron-${agentOf[agent] ?? agent}: count`, session_id: "pair" });
  server.clear();
  server.setScript(({ position: { prompt } }) => {
    const name = nameIn(prompt);
    if (name === "conductor") {
      const consult = call(client, "consult_with", { model: "gpt-5.2", question: "heron-opinion?", session_id: "pair" });
      return { steps: [work(first), work(second), consult], final: "all are heard" };
    }
    if (name === "opinion") return { steps: [], final: "said-by-opinion" };
    return { steps: [{ calls: [{ input: { command: "expr 61000 + 300" } }] }], final: `said-by-${name}` };
  });
  using skein = agentHome(server);
  await installClient(skein, server, client);
  const ran = await askClient(skein, client, "heron-conductor: go");
  expect([ran.code, ran.out.includes("all are heard")], ran.err).toEqual([0, true]);

  const names = [first, second].map((agent) => agentOf[agent] ?? agent);
  expect(clientRequests().map(answersIn)).toEqual([
    [],
    [`said-by-${names[0]}`],
    names.map((name) => `said-by-${name}`),
    [...names.map((name) => `said-by-${name}`), "said-by-opinion"],
  ]);
  const { turns } = (await skein.run(["show", "pair", "--json"])).json() as { turns: TurnLine[] };
  expect(turns.map(({ agent, status }) => [agent, status])).toEqual([...names, "native"].map((agent) => [agent, "ok"]));
  await expectHubAlone(skein);
});

test.each([...mcpClientNames])(
  "%s gets a running status for work that takes longer than it waits, and collects the result",
  async (client) => {
    const waits = Array.from({ length: 60 }, () => call(client, "wait_session", { session_id: "long" }));
    const steps = [call(client, "work_with", { agent: "pi", task: "heron-work: until the file go exists", session_id: "long" }), ...waits];
    server.clear();
    using skein = agentHome(server);
    server.setScript(({ position: { prompt, step }, body }) => {
      if (nameIn(prompt) !== "conductor")
        return { steps: [{ calls: [{ input: { command: "until [ -e go ]; do sleep 0.1; done" } }] }], final: "said-by-work" };
      if (step === 2) writeFileSync(join(skein.project, "go"), "");
      return { steps: JSON.stringify(body).includes("said-by-work") ? steps.slice(0, step) : steps, final: "it is collected" };
    });
    await installClient(skein, server, client, ["--hand-back-after", "1s"]);
    const ran = await askClient(skein, client, "heron-conductor: go");
    expect([ran.code, ran.out.includes("it is collected")], ran.err).toEqual([0, true]);
    const requests = clientRequests();
    expect(requests.length).toBeGreaterThan(3);
    for (const request of requests.slice(1, -1)) expect(request.text).toMatch(/still working|\\"status\\":\s*\\"running\\"/);
    expect(requests.map(answersIn)).toEqual([...requests.slice(1).map(() => []), ["said-by-work"]]);
    await expectHubAlone(skein);
  },
);

/** Returns the answers in a request in their order, each once. */
function answersIn({ text }: RecordedRequest): string[] {
  return [...new Set(text.match(/said-by-\w+/g))];
}

/** Expects that only the hub still runs, and that it ends without a rest after `hub stop`. */
async function expectHubAlone(skein: TemporaryHome): Promise<void> {
  expect((await skein.run(["hub", "status", "--json"])).json()).toMatchObject({ status: "running", turns: [] });
  expect((await skein.run(["hub", "stop"])).out).toBe("the hub is stopped\n");
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
}
