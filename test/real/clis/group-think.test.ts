// Tests group_think with real agents as participants. Each reads the project with its own tools in a read-only sandbox, gets the
// statements of the others, and checks the deliverable of a model.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { agentHome, type NodeLine } from "../../support/agent-journey.ts";
import { stoppingHub, mcpClient } from "../../support/mcp-clients.ts";
import { waitForNoProcesses } from "../../support/processes.ts";

const agents = ["claude", "codex"] as const;
const model = "gemini/gemini-3-pro-preview";
let server: ModelServer;

beforeAll(async () => {
  await installPeers(agents);
  server = startModelServer(({ body }) => scriptFor(JSON.stringify(body)));
}, 300_000);
afterAll(() => server.stop());

function scriptFor(body: string): Script {
  const name = /You are (\S+)\. These participants/.exec(body)?.[1] ?? "nobody";
  if (body.includes("Check the deliverable")) return { steps: [], final: name === "codex" ? "DISAGREE: codex wants a queue" : "AGREE" };
  if (name === model) return { steps: [], final: body.includes("# Your turn") ? "I have no tools." : "Use what notes.txt names." };
  const command = "cat notes.txt; touch written && echo could-write";
  return { steps: [{ calls: [{ input: { command } }] }], final: `${name} has looked` };
}

test("claude and codex read, discuss and vote in a group with a model; no file is written, and all usage is counted", async () => {
  await using skein = stoppingHub(agentHome(server));
  writeFileSync(join(skein.project, "notes.txt"), "the-word-in-the-notes");
  await using client = await mcpClient(skein, { name: "claude-code" });
  const done = await client.call(
    "group_think",
    {
      objective: "Choose a queue",
      output_format: "one line",
      session_id: "queue",
      models: [...agents, model],
      discussion_turns: 2,
      validation_rounds: 1,
    },
    { timeout: 300_000 },
  );
  expect(done.output).toMatchObject({
    status: "ok",
    deliverable: "Use what notes.txt names.",
    dissent: [{ name: "codex", reason: "codex wants a queue" }],
    rounds: { discussion: 2, validation: 1 },
  });
  expect((done.output["participants"] as { status: string }[]).map(({ status }) => status)).toEqual(["ok", "ok", "ok"]);
  const { nodes } = (await skein.run(["show", "queue", "--json"])).json() as { nodes: NodeLine[] };
  const statements = nodes.flatMap((node) => node.said ?? []);
  // The price of Codex's default model may be unknown.
  for (const { who, cost_usd } of statements) if (who !== "codex") expect(cost_usd).toBeGreaterThan(0);
  expect(done.output["cost_usd"]).toBeGreaterThan(0);
  expect(done.output["cost_is_partial"] ?? false).toBe(statements.some(({ cost_usd }) => cost_usd === null));
  expect(existsSync(join(skein.project, "written"))).toBe(false);
  const results = server.main().filter(({ text }) => text.includes("the-word-in-the-notes"));
  expect(results.length).toBeGreaterThanOrEqual(2 * agents.length);
  expect(server.main().some(({ text }) => text.includes("could-write\\n"))).toBe(false);
  const later = server.main().findLast(({ text, path }) => path.includes("gemini") && text.includes("# Your turn"));
  for (const agent of agents) expect(later?.text).toContain(`${agent} has looked`);
  await client.client.close();
  await skein.run(["hub", "stop", "--wait", "0"]);
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
}, 300_000);
