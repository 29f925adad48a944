// Runs the real agents through the gateway. Its usage must equal the agent's own count, and a used-up budget ends the agent at
// once. Installs missing agents from the registry, so it is not part of npm test.
import { beforeAll, describe, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import type { Adapter } from "../../../src/agents/external/adapters/adapter.ts";
import type { WireName } from "../../../src/models/model.ts";
import { claude } from "../../../src/agents/external/adapters/claude.ts";
import { codex } from "../../../src/agents/external/adapters/codex.ts";
import { Gateway } from "../../../src/agents/external/gateway/gateway.ts";
import { gemini } from "../../../src/agents/external/adapters/gemini.ts";
import { opencode } from "../../../src/agents/external/adapters/opencode.ts";
import { pi } from "../../../src/agents/external/adapters/pi.ts";
import { priceOf } from "../../../src/models/catalog.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { openCliSite, type CliSite } from "../../support/record-cli.ts";

const agents: [string, Adapter, string][] = [
  ["claude", claude, "claude-sonnet-4-5"],
  ["codex", codex, "gpt-5.2"],
  ["gemini", gemini, "gemini-3-pro-preview"],
  ["opencode", opencode, "claude-sonnet-4-5"],
  ["pi", pi, "claude-sonnet-4-5"],
];
const wires: Record<string, WireName> = { anthropic: "anthropic", openai: "openai-responses", gemini: "gemini" };
const key = "sk-real-0123456789";
const three = shellScript(["echo one-11", "echo two-12", "echo three-13"], "All three were said.");

beforeAll(() => installPeers(peerNames), 300_000);

/** Forwards at most `maxRequests` requests. */
function gatewayTo(site: CliSite, adapter: Adapter, maxRequests: number): Gateway {
  const { vendor } = adapter;
  const wire = wires[vendor]!;
  const baseUrl = site.server.url + (wire === "openai-responses" ? "/v1" : "");
  let count = 0;
  return new Gateway({
    endpoints: [{ vendor, wire, baseUrl, apiKey: key, headers: {} }],
    price: priceOf,
    reserve: async () => ((count += 1) > maxRequests ? { kind: "budget", message: "enough" } : () => {}),
  });
}

describe.each(agents)("%s", (_, adapter, model) => {
  test("the agent works through the gateway, which counts every request and hides the key", async () => {
    await using site = openCliSite(adapter, model, three);
    const gateway = gatewayTo(site, adapter, Infinity);
    const ran = await site.run(site.launch({ endpoint: { url: gateway.url, token: gateway.token } }));
    await gateway.close();
    expect({ code: ran.exitCode, hasAnswer: ran.stdout.includes("All three were said.") }).toEqual({ code: 0, hasAnswer: true });
    expect(ran.stdout + ran.stderr).not.toContain(key);
    expect(JSON.stringify(site.server.requests)).not.toContain(gateway.token);
    const answers = gateway.requests().filter(({ kind }) => kind === "answer");
    expect(answers.map(({ error, status, model: name }) => [error, status, name])).toEqual(answers.map(() => [null, 200, model]));
    expect(answers.length).toBe(site.server.requests.filter(({ wire }) => wire !== null).length);
    expect(answers.every(({ usage, costUsd }) => usage.input > 0 && usage.output > 0 && (costUsd ?? 0) > 0)).toBe(true);
    // Every agent prints its total, the count of a request, or both.
    const counts = [gateway.spent().usage.input, ...answers.map(({ usage }) => usage.input)];
    expect(counts.some((count) => ran.stdout.includes(String(count)))).toBe(true);
  });

  test("the agent ends by itself when the budget is used up after its first tool call", async () => {
    await using site = openCliSite(adapter, model, three);
    const gateway = gatewayTo(site, adapter, 1);
    const ran = await site.run(site.launch({ endpoint: { url: gateway.url, token: gateway.token } }));
    await gateway.close();
    expect(ran.stdout).toContain("one-11");
    expect(ran.stdout).not.toContain("two-12");
    expect(ran.stdout).toContain("budget is used up");
    expect(ran.signal).toBeNull();
    expect(site.server.main().length).toBe(1);
    expect(gateway.requests().at(-1)?.error?.kind).toBe("budget");
  });
});
