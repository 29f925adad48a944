// The real agents through the gateway: what each asked is counted as it counts itself, and a budget that is used up ends
// it at once. Installs them from the registry where they are missing, so it is no part of npm test.
import { beforeAll, describe, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import type { Adapter } from "../../../src/agents/external/adapters/adapter.ts";
import { claude } from "../../../src/agents/external/adapters/claude.ts";
import { codex } from "../../../src/agents/external/adapters/codex.ts";
import { type Gateway, startGateway } from "../../../src/agents/external/gateway/gateway.ts";
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
const key = "sk-real-0123456789";
const three = shellScript(["echo one-11", "echo two-12", "echo three-13"], "All three were said.");

beforeAll(() => installPeers(peerNames), 300_000);

/** Lets so many answers through. */
function gatewayTo(seat: CliSite, adapter: Adapter, most: number): Gateway {
  const { wire, vendor } = adapter;
  const baseUrl = seat.server.url + (wire === "openai-responses" ? "/v1" : "");
  let asked = 0;
  return startGateway({
    vendors: (one) => (one === wire ? { vendor, wire, baseUrl, apiKey: key, headers: {} } : null),
    price: priceOf,
    reserve: async () => ((asked += 1) > most ? { kind: "budget", message: "enough" } : () => {}),
  });
}

describe.each(agents)("%s", (_, adapter, model) => {
  test("works through the gateway, which counts every request and shows it no key", async () => {
    await using seat = openCliSite(adapter, model, three);
    const gateway = gatewayTo(seat, adapter, Infinity);
    const ran = await seat.run(seat.launch({ endpoint: { url: gateway.url!, token: gateway.token } }));
    await gateway.close();
    expect({ code: ran.exitCode, said: ran.stdout.includes("All three were said.") }).toEqual({ code: 0, said: true });
    expect(ran.stdout + ran.stderr).not.toContain(key);
    expect(JSON.stringify(seat.server.requests)).not.toContain(gateway.token);
    const answers = gateway.requests().filter(({ kind }) => kind === "answer");
    expect(answers.map(({ error, status, model: asked }) => [error, status, asked])).toEqual(answers.map(() => [null, 200, model]));
    expect(answers.length).toBe(seat.server.requests.filter(({ protocol }) => protocol !== null).length);
    expect(answers.every(({ usage, costUsd }) => usage.input > 0 && usage.output > 0 && (costUsd ?? 0) > 0)).toBe(true);
    // Each of them prints its sum, the last request's count or both.
    const counts = [gateway.spent().usage.input, ...answers.map(({ usage }) => usage.input)];
    expect(counts.some((count) => ran.stdout.includes(String(count)))).toBe(true);
  });

  test("ends by itself when the budget is used up after its first tool call", async () => {
    await using seat = openCliSite(adapter, model, three);
    const gateway = gatewayTo(seat, adapter, 1);
    const ran = await seat.run(seat.launch({ endpoint: { url: gateway.url!, token: gateway.token } }));
    await gateway.close();
    expect(ran.stdout).toContain("one-11");
    expect(ran.stdout).not.toContain("two-12");
    expect(ran.stdout).toContain("budget is used up");
    expect(ran.signal).toBeNull();
    expect(seat.server.main().length).toBe(1);
    expect(gateway.requests().at(-1)?.error?.kind).toBe("budget");
  });
});
