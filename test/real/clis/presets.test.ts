// Presets of agents that npm has, run as `-a <name>` without any configuration: in the sandbox, through the gateway.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { peersDir } from "../../../bench/peers.ts";
import { agentPresets } from "../../../src/agents/external/configured/presets.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { agentHome, countsIn, modelOf, takeTurn, textIn } from "../../support/agent-journey.ts";
import { npmTool } from "../../support/npm-tool.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { testServerEntry } from "../../support/server-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const packages: Record<string, [spec: string, file: string]> = {
  qwen: ["@qwen-code/qwen-code", "@qwen-code/qwen-code/cli-entry.js"],
  copilot: ["@github/copilot", "@github/copilot/npm-loader.js"],
  kimi: ["@moonshot-ai/kimi-code", "@moonshot-ai/kimi-code/dist/main.mjs"],
};

const programs = join(peersDir, "presets-bin");

beforeAll(async () => {
  mkdirSync(programs, { recursive: true });
  for (const [name, [spec, file]] of Object.entries(packages)) {
    const command = await npmTool(name, `${spec}@${agentPresets[name]!.testedVersion}`, file);
    const program = join(programs, name);
    writeFileSync(program, `#!/bin/sh\nexec ${command.map((part) => `"${part}"`).join(" ")} "$@"\n`);
    chmodSync(program, 0o755);
  }
}, 600_000);

test("every preset that has a tested version is run here", () => {
  const tested = Object.entries(agentPresets).filter(([, { testedVersion }]) => testedVersion !== null);
  expect(tested.map(([name]) => name)).toEqual(Object.keys(packages));
});

describe.each(Object.keys(packages))("%s", (agent) => {
  let server: ModelServer;
  let skein: TemporaryHome;

  beforeAll(() => {
    server = startModelServer({ steps: [], final: "" });
    skein = agentHome(server, { PATH: `${programs}:/usr/bin:/bin` });
  });
  afterAll(async () => {
    await server.stop();
    skein[Symbol.dispose]();
  });

  test("a turn with commands, and a second one with the conversation", async () => {
    const model = "anthropic/claude-sonnet-4-5";
    server.setScript(shellScript(["expr 61000 + 301 > one.txt", "expr 61000 + 302"], "said-one"));
    const taken = await takeTurn(skein, server, ["-a", agent, "-m", model, "--session", "trunk", "ask-one"]);
    expect({ code: taken.ran.code, error: taken.turn.error }).toEqual({ code: 0, error: undefined });
    expect([...new Set(taken.requests.map(modelOf))]).toEqual(["claude-sonnet-4-5"]);
    expect((await Bun.file(join(skein.project, "one.txt")).text()).trim()).toBe("61301");
    // Kimi sometimes sends the arguments of a call only after it asked for permission, when the call is stored already.
    const parts = taken.nodes.flatMap((node) => node.parts);
    expect(parts.filter((part) => part.kind === "call")).toHaveLength(2);
    expect(JSON.stringify(parts.filter((part) => part.kind === "result"))).toContain("61302");
    expect(textIn(taken.nodes.at(-1))).toBe("said-one");
    expect(taken.turn.enforced).toMatchObject({ net: "gateway", fs: true });
    expect(taken.turn.usage.input).toBeGreaterThan(0);
    server.setScript(shellScript([], "said-two"));
    const next = await takeTurn(skein, server, ["-a", agent, "-m", model, "--session", "trunk", "ask-two"]);
    expect({ code: next.ran.code, error: next.turn.error }).toEqual({ code: 0, error: undefined });
    expect(countsIn(next.requests.at(-1), ["ask-one", "said-one", "ask-two"])).toEqual({ "ask-one": 1, "said-one": 1, "ask-two": 1 });
    expect(await waitForNoProcesses(skein.root)).toEqual([]);
  }, 300_000);

  test("a turn on a model of OpenAI", async () => {
    server.setScript(shellScript([], "said-three"));
    const { ran, turn, requests, nodes } = await takeTurn(skein, server, ["-a", agent, "-m", "openai/gpt-5.2", "ask-three"]);
    expect({ code: ran.code, error: turn.error }).toEqual({ code: 0, error: undefined });
    expect([...new Set(requests.map(modelOf))]).toEqual(["gpt-5.2"]);
    expect(textIn(nodes.at(-1))).toBe("said-three");
  }, 300_000);

  test("skein agents lists it as a preset", async () => {
    const { testedVersion } = agentPresets[agent]!;
    const listed = JSON.parse((await skein.run(["agents", "--json"])).out) as { name: string }[];
    expect(listed.find(({ name }) => name === agent)).toMatchObject({ kind: "preset", installed: true, tested_version: testedVersion });
  });
});

test("kimi gets an MCP server with other_agents over ACP", async () => {
  const server = startModelServer({ steps: [{ calls: [{ name: "mcp__small__env", input: {} }] }], final: "called" });
  using skein = agentHome(server, { PATH: `${programs}:/usr/bin:/bin` });
  try {
    const { command, args } = testServerEntry() as { command: string; args: string[] };
    const added = await skein.run(["mcp", "add", "small", "--other-agents", "-e", "OWN=value-61300000003", "--", command, ...args]);
    expect(added.code).toBe(0);
    const { turn, requests } = await takeTurn(skein, server, ["-a", "kimi", "-m", "anthropic/claude-sonnet-4-5", "use it"]);
    expect(turn.error).toBeUndefined();
    expect(requests.at(-1)!.text).toContain("value-61300000003");
  } finally {
    await server.stop();
  }
}, 120_000);
