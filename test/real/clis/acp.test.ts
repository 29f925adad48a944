// Runs the ACP modes of opencode and Gemini CLI as configured agents, in the sandbox and through the gateway. Checks the requests
// to the model, the stored nodes and the end of each turn.
import { afterAll, beforeAll, describe, expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers, type PeerName } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { agentHome, modelOf, countsIn, opencodeAcp, takeTurn, textIn } from "../../support/agent-journey.ts";
import { readEvents } from "../../support/read-events.ts";
import { waitForNoProcesses, ownRlimitTag } from "../../support/processes.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

type AcpAgent = { name: PeerName; models: [string, string]; recipe: (skein: TemporaryHome) => Record<string, unknown> };

const acpAgents: AcpAgent[] = [
  {
    name: "opencode",
    models: ["claude-sonnet-4-5", "claude-opus-5-5"],
    recipe: () => opencodeAcp,
  },
  {
    name: "gemini",
    models: ["gemini-3.8-flash", "gemini-2.5-pro"],
    recipe: (skein) => {
      const settings = join(skein.root, "gemini-settings.json");
      writeFileSync(settings, JSON.stringify({ general: { maxAttempts: 1 }, tools: { useRipgrep: false } }));
      return {
        command: "gemini",
        args: ["--acp", "--skip-trust"],
        output: "acp",
        env: { GEMINI_CLI_TRUST_WORKSPACE: "true", GEMINI_CLI_NO_RELAUNCH: "true", GEMINI_CLI_SYSTEM_SETTINGS_PATH: settings },
      };
    },
  },
];

beforeAll(() => installPeers(acpAgents.map(({ name }) => name)), 300_000);

describe.each(acpAgents)("$name over ACP", ({ models, recipe }) => {
  let server: ModelServer;
  let skein: TemporaryHome;
  const agent = "mine";

  beforeAll(() => {
    server = startModelServer({ steps: [], final: "" });
    skein = agentHome(server);
    const folder = join(skein.env["SKEIN_HOME"] as string, "config");
    mkdirSync(folder, { recursive: true });
    writeFileSync(join(folder, "config.jsonc"), JSON.stringify({ agents: { [agent]: recipe(skein) } }));
  });
  afterAll(async () => {
    await server.stop();
    skein[Symbol.dispose]();
  });

  test("a turn with three tool calls uses the requested model", async () => {
    server.setScript(shellScript(["expr 61000 + 301", "expr 61000 + 302 > two.txt", "expr 61000 + 303"], "said-one"));
    const taken = await takeTurn(skein, server, ["-a", agent, "-m", models[0], "--session", "trunk", "ask-one"]);
    expect({ code: taken.ran.code, error: taken.turn.error }).toEqual({ code: 0, error: undefined });
    expect(taken.requests.map(modelOf)).toEqual([models[0], models[0], models[0], models[0]]);
    const calls = taken.nodes.flatMap(({ parts }) => parts.filter((part) => part.kind === "call"));
    const results = taken.nodes.flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
    expect([calls.length, results.length]).toEqual([3, 3]);
    expect(JSON.stringify(calls)).toContain("expr 61000 + 302 > two.txt");
    expect((await Bun.file(join(skein.project, "two.txt")).text()).trim()).toBe("61302");
    expect(JSON.stringify(taken.nodes)).toContain("permission requested: ");
    expect(textIn(taken.nodes.at(-1))).toBe("said-one");
    expect(taken.turn.usage.input).toBeGreaterThan(0);
    expect(taken.turn.native_id).not.toBeNull();
    expect(taken.turn.enforced).toMatchObject({ net: "gateway", fs: true });
  }, 300_000);

  test("a second turn on another model sends the conversation once", async () => {
    server.setScript(shellScript([], "said-two"));
    const taken = await takeTurn(skein, server, ["-a", agent, "-m", models[1], "--session", "trunk", "ask-two"]);
    expect({ code: taken.ran.code, error: taken.turn.error }).toEqual({ code: 0, error: undefined });
    expect(taken.requests.map(modelOf)).toEqual([models[1]]);
    expect(countsIn(taken.requests[0], ["ask-one", "said-one", "ask-two"])).toEqual({ "ask-one": 1, "said-one": 1, "ask-two": 1 });
    expect(taken.nodes.map((node) => [node.author, textIn(node)])).toEqual([
      ["user", "ask-two"],
      ["agent", "said-two"],
    ]);
  }, 300_000);

  test("the native agent takes over the session, and the ACP agent takes it back", async () => {
    server.setScript(shellScript([], "said-three"));
    const native = await takeTurn(skein, server, ["-a", "native", "-m", "claude-sonnet-4-5", "--session", "trunk", "ask-three"]);
    expect(native.ran.code).toBe(0);
    expect(countsIn(native.requests[0], ["ask-one", "61301", "said-two", "ask-three"])).toMatchObject({
      "ask-one": 1,
      "said-two": 1,
      "ask-three": 1,
    });
    server.setScript(shellScript([], "said-four"));
    const back = await takeTurn(skein, server, ["-a", agent, "-m", models[0], "--session", "trunk", "ask-four"]);
    expect({ code: back.ran.code, started: back.turn.cli?.started }).toEqual({ code: 0, started: "new" });
    const words = ["ask-one", "said-two", "ask-three", "said-three", "ask-four"];
    expect(countsIn(back.requests[0], words)).toEqual(Object.fromEntries(words.map((word) => [word, 1])));
  }, 300_000);

  test("a turn that is stopped during a call leaves no process, and the session continues", async () => {
    const tag = ownRlimitTag();
    server.setScript(shellScript([`echo started; sleep ${tag}`], "never"));
    const run = readEvents(
      skein.start(["run", "ask-five", "-a", agent, "-m", models[0], "--session", "stopped", "--output-format", "events"]),
    );
    for (
      let tries = 0;
      tries < 1_000 && (await waitForNoProcesses(skein.root, 0, { only: ({ command }) => command.includes(tag) })).length === 0;
      tries += 1
    )
      await Bun.sleep(100);
    run.child.kill("SIGINT");
    expect(await run.ended).toMatchObject({ code: 130 });
    expect(run.printed.at(-1)).toMatchObject({ type: "result", status: "cancelled" });
    expect(await waitForNoProcesses(skein.root, 20_000, { tag })).toEqual([]);
    server.setScript(shellScript([], "said-six"));
    const next = await takeTurn(skein, server, ["-a", agent, "-m", models[0], "--session", "stopped", "ask-six"]);
    expect({ code: next.ran.code, error: next.turn.error }).toEqual({ code: 0, error: undefined });
    expect(next.requests[0]?.text).toContain("ask-five");
  }, 300_000);

  test.each([
    [401, "invalid x-api-key", "auth", 4],
    [400, "prompt is too long: 210000 tokens > 200000 maximum", "too-long", 1],
  ] as const)(
    "a vendor error %i ends the turn with its own status",
    async (status, message, kind, code) => {
      server.setScript(shellScript([], "never"));
      server.setFault({ type: "status", status, message });
      const taken = await takeTurn(skein, server, ["-a", agent, "-m", models[0], "--timeout", "100s", "ask-seven"]);
      server.setFault(null);
      expect({ status: taken.turn.status, code: taken.ran.code, error: taken.turn.error }).toMatchObject({ status: kind, code });
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
    },
    300_000,
  );

  test("a vendor that answers 429 or never answers ends the turn within its time limit", async () => {
    server.setScript(shellScript([], "never"));
    for (const fault of [
      { type: "status", status: 429, message: "Too many requests" },
      { type: "stall", afterEvents: 1 },
    ] as const) {
      server.setFault(fault);
      const taken = await takeTurn(skein, server, ["-a", agent, "-m", models[0], "--timeout", "15s", "ask-seven"]);
      // The number of retries depends on the agent.
      expect(fault.type === "stall" ? ["timed-out"] : ["timed-out", "rate-limited"]).toContain(taken.turn.status ?? "");
      expect(await waitForNoProcesses(skein.root)).toEqual([]);
    }
    server.setFault(null);
  }, 300_000);

  test("an unknown model is requested by its exact name, or not at all", async () => {
    const taken = await takeTurn(skein, server, ["-a", agent, "-m", "anthropic/no-such-model", "ask-eight"]);
    expect(taken.requests.filter((request) => modelOf(request) !== "no-such-model")).toEqual([]);
    if (taken.requests.length === 0) expect(taken.turn.error?.message).toBe("mine: it has no model no-such-model");
  }, 300_000);
});
