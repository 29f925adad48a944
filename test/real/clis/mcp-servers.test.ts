// MCP servers of the configuration in the real CLIs: written into their own configuration, started in their sandbox, with
// values that stand in no argument, no file and no record.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { acpClient } from "../../support/acp-clients.ts";
import { agentHome, agentModels, opencodeAcp, takeTurn } from "../../support/agent-journey.ts";
import { stoppingHub } from "../../support/mcp-clients.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { testServerEntry } from "../../support/server-journey.ts";

let model: ModelServer;

beforeAll(async () => {
  await installPeers(["claude", "codex", "gemini", "opencode", "pi"]);
  model = startModelServer({ steps: [], final: "" });
}, 300_000);
afterAll(async () => {
  await model.stop();
});

const secret = "value-61300000001";

function homeWithServers() {
  const skein = agentHome(model, { OWN_TOKEN: secret });
  const directory = join(skein.env["SKEIN_HOME"]!, "config");
  mkdirSync(directory, { recursive: true });
  const mcpServers = {
    small: testServerEntry([], { env: { OWN: "$OWN_TOKEN" }, cwd: "below", other_agents: true }),
    "native-only": testServerEntry(),
    web: { url: "http://127.0.0.1:9/mcp", other_agents: true },
  };
  const agents = { "opencode-acp": opencodeAcp };
  writeFileSync(join(directory, "config.jsonc"), JSON.stringify({ mcp_servers: mcpServers, agents }));
  mkdirSync(join(skein.project, "below"));
  return skein;
}

const vendors: Record<string, string> = { codex: "openai", gemini: "gemini" };

test.each([
  ["claude", "mcp__small__"],
  ["codex", ""], // it declares the tools in a namespace
  ["gemini", "mcp_small_"],
  ["opencode", "small_"],
  ["opencode-acp", "small_"],
])(
  "%s calls a server that asks for other agents, and no other one",
  async (agent, prefix) => {
    using skein = homeWithServers();
    model.setScript({
      steps: [
        { calls: [{ name: `${prefix}env`, input: {} }] },
        { calls: [{ name: `${prefix}write`, input: { path: "inside.txt" } }] },
        { calls: [{ name: `${prefix}write`, input: { path: "../../home/outside.txt" } }] },
      ],
      final: "called",
    });
    const name = `${vendors[agent] ?? "anthropic"}/${agentModels[agent.replace("-acp", "")]}`;
    const { turn, requests, warnings, nodes } = await takeTurn(skein, model, ["-a", agent, "-m", name, "use it"]);
    expect({ agent, error: turn.error, warnings }).toEqual({
      agent,
      error: undefined,
      warnings: [`${agent} has no MCP server web: a server over HTTP needs --net on`],
    });
    const last = requests.at(-1)!.text;
    expect(last).toContain(secret);
    expect(last).not.toContain("native-only");
    expect(readFileSync(join(skein.project, "below", "inside.txt"), "utf8")).toBe("written");
    expect(await Bun.file(join(skein.home, "outside.txt")).exists()).toBe(false);
    expect(nodes.flatMap(({ parts }) => parts).filter(({ kind }) => kind === "result")).toHaveLength(3);
    expect(JSON.stringify(turn.cli)).not.toContain(secret);
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  },
  120_000,
);

test.each([
  ["claude", "mcp__web__look"],
  ["codex", "look"],
  ["gemini", "mcp_web_look"],
  ["opencode", "web_look"],
])(
  "%s calls a server over HTTP with its headers while the network is on",
  async (agent, call) => {
    const tokens: (string | null)[] = [];
    const results: Record<string, (protocolVersion: unknown) => unknown> = {
      initialize: (protocolVersion) => ({ protocolVersion, capabilities: { tools: {} }, serverInfo: { name: "web", version: "1" } }),
      "tools/list": () => ({ tools: [{ name: "look", description: "Looks.", inputSchema: { type: "object", properties: {} } }] }),
      "tools/call": () => ({ content: [{ type: "text", text: "seen-61300000002" }] }),
    };
    const http = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      async fetch(request) {
        tokens.push(request.headers.get("authorization"));
        if (request.method !== "POST") return new Response("", { status: 405 });
        const { id, method, params } = (await request.json()) as { id?: number; method: string; params?: { protocolVersion?: unknown } };
        if (id === undefined) return new Response("", { status: 202 });
        const result = results[method]?.(params?.protocolVersion);
        const missing = { error: { code: -32601, message: "no such method" } };
        return Response.json({ jsonrpc: "2.0", id, ...(result === undefined ? missing : { result }) });
      },
    });
    try {
      using skein = agentHome(model, { OWN_TOKEN: secret });
      const headers = ["-H", "Authorization: Bearer ${OWN_TOKEN}"];
      const added = await skein.run(["mcp", "add", "web", `http://127.0.0.1:${http.port}/mcp`, ...headers, "--other-agents"]);
      expect(added.err).not.toContain("skein:");
      model.setScript({ steps: [{ calls: [{ name: call, input: {} }] }], final: "called" });
      const name = `${vendors[agent] ?? "anthropic"}/${agentModels[agent]}`;
      const { turn, requests } = await takeTurn(skein, model, ["-a", agent, "-m", name, "--net", "on", "use it"]);
      expect({ agent, error: turn.error }).toEqual({ agent, error: undefined });
      expect(requests.at(-1)!.text).toContain("seen-61300000002");
      expect(new Set(tokens)).toEqual(new Set([`Bearer ${secret}`]));
    } finally {
      await http.stop(true);
    }
  },
  120_000,
);

test("pi has no MCP, and says so", async () => {
  using skein = homeWithServers();
  model.setScript({ steps: [], final: "called" });
  const { warnings } = await takeTurn(skein, model, ["-a", "pi", "-m", `anthropic/${agentModels["pi"]}`, "use it"]);
  expect(warnings).toEqual(["pi can't use MCP servers, so it has no small, web"]);
}, 120_000);

test("a server that an editor names is there for each agent of the thread", async () => {
  await using skein = stoppingHub(agentHome(model));
  await using acp = await acpClient(skein);
  const { command, args } = testServerEntry() as { command: string; args: string[] };
  const { sessionId } = await acp.agent.request("session/new", {
    cwd: skein.project,
    mcpServers: [{ name: "small", command, args, env: [{ name: "OWN", value: secret }] }],
  });
  for (const [agent, call] of [
    ["claude", { name: "mcp__small__env", input: {} }],
    ["codex", { name: "env", input: {} }],
    ["native", { name: "mcp", input: { server: "small", tool: "env" } }],
  ] as const) {
    model.setScript({ steps: [{ calls: [call] }], final: "called" });
    await acp.agent.request("session/set_config_option", { sessionId, configId: "agent", value: agent });
    const value = `${vendors[agent] ?? "anthropic"}/${agentModels[agent] ?? agentModels["claude"]}`;
    await acp.agent.request("session/set_config_option", { sessionId, configId: "model", value });
    const before = acp.updates.length;
    expect(await acp.prompt(sessionId, "use it")).toMatchObject({ stopReason: "end_turn" });
    expect({ agent, hasValue: JSON.stringify(acp.updates.slice(before)).includes(secret) }).toEqual({ agent, hasValue: true });
  }
}, 120_000);
