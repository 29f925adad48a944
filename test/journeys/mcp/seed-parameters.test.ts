// Parameters of tools that other programs promise, and the cost of a group and a team over MCP and in the log.
import { expect, test } from "bun:test";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { stoppingHub, mcpClient, serverWith } from "../../support/mcp-clients.ts";
import { repositoryIn } from "../../support/team-journey.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const sonnet = "anthropic/claude-sonnet-4-5";

test("group_think accepts all parameters of mcp-the-force, and its log has the cost", { timeout: 120_000 }, async () => {
  await using server = serverWith(({ position: { prompt } }) => ({
    steps: [],
    final: prompt.includes("Check the deliverable") ? "AGREE" : "x",
  }));
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  writeFileSync(join(skein.project, "notes.txt"), "facts\n");
  await using mcp = await mcpClient(skein);
  const { output, isError } = await mcp.call("group_think", {
    session_id: "g",
    objective: "decide",
    models: [sonnet, "openai/gpt-5.2"],
    output_format: "text",
    mode: "orchestrator",
    max_steps: 2,
    priority_context: ["notes.txt"],
    direct_context: false,
    config: { timeout_per_step: 60, parallel_limit: 1, cost_limit_usd: 5, summarization_threshold: 50 },
  });
  expect(isError).toBe(false);
  expect(output).toMatchObject({ status: "ok", rounds: { discussion: 1, validation: 0 } });
  const cost = output["cost_usd"] as number;
  expect(cost).toBeGreaterThan(0);
  expect((await mcp.call("wait_session", { session_id: "g" })).output["cost_usd"]).toBe(cost);
  expect((await skein.run(["logs", "g"])).out).toContain(` · $${cost.toFixed(4)} · `);
});

test("search_project_history finds sessions by their task with the store type session", { timeout: 120_000 }, async () => {
  await using server = serverWith({ steps: [], final: "done" });
  await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
  expect((await skein.run(["run", "paint the fence", "--session", "garden", "-m", sonnet])).code).toBe(0);
  await using mcp = await mcpClient(skein);
  const { output } = await mcp.call("search_project_history", { query: "fence", store_types: ["session"] });
  expect(output["hits"]).toMatchObject([{ session_id: "garden", text: expect.stringContaining("paint the fence") }]);
});

test(
  "orchestrate gives members with the same role and suffix different keys, and returns the team's cost",
  { timeout: 120_000 },
  async () => {
    await using server = serverWith({ steps: [], final: "done" });
    await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
    repositoryIn(skein.project);
    await using mcp = await mcpClient(skein, { args: ["--toolset", "team"] });
    const agents = [1, 2].map((number) => ({ role: "engineer", task: `part ${number}`, instance_suffix: "api" }));
    const { output } = await mcp.call("orchestrate", { objective: "x", session_id: "t", strategy: "parallel", agents });
    expect(output["status"]).toBe("ok");
    const status = (await mcp.call("session_status", { session_id: "t" })).output as {
      cost_usd: number;
      phases: { members: { key: string }[] }[];
    };
    expect(status.phases[0]!.members.map(({ key }) => key)).toEqual(["engineer-api", "engineer-api-2"]);
    expect(status.cost_usd).toBeGreaterThan(0);
    expect(output["cost_usd"]).toBe(status.cost_usd);
    expect((await mcp.call("wait_session", { session_id: "t" })).output["cost_usd"]).toBe(status.cost_usd);
  },
);
