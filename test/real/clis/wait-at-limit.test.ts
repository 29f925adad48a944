// The real Claude Code and Codex reach a limit, wait in the hub over its kill -9, and continue once each.
import { expect, test } from "bun:test";
import { installPeers } from "../../../bench/peers.ts";
import { pollUntil } from "../../../src/kit/flow/sleep.ts";
import { turnInfo } from "../../../src/protocol/fixtures/printed-schemas.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { agentHome, agentModels } from "../../support/agent-journey.ts";
import { killHub } from "../../support/hub-client.ts";

const waitLimitMs = 120_000;

test("Claude Code and Codex wait for the end of a limit and continue once each, over a kill -9 of the hub", async () => {
  await installPeers(["claude", "codex"]);
  let isLimited = true;
  const resetAt = Math.floor(Date.now() / 1000) + 20;
  const refuse = (): Response =>
    Response.json(
      { type: "error", error: { type: "usage_limit_reached", message: "You have hit your usage limit.", resets_at: resetAt } },
      {
        status: 429,
        headers: {
          "anthropic-ratelimit-unified-status": "rejected",
          "anthropic-ratelimit-unified-reset": String(resetAt),
          "x-should-retry": "false",
        },
      },
    );
  const server = startModelServer(
    { steps: [], final: "after-the-limit" },
    { route: async (_request, path) => (isLimited && /\/(messages|responses)$/.test(path) ? refuse() : null) },
  );
  using skein = agentHome(server);
  const list = async (...flags: string[]) =>
    ((await skein.run(["ps", "--json", ...flags])).json() as unknown as unknown[]).map((turn) => turnInfo.parse(turn));
  try {
    for (const agent of ["claude", "codex"])
      await skein.run([
        "run",
        `hello ${agent}`,
        "-a",
        agent,
        "-m",
        agentModels[agent]!,
        "--session",
        agent,
        "--detach",
        "--at-limit",
        "wait",
      ]);
    const areWaiting = async () => (await list()).filter(({ state }) => state === "waiting").length === 2 || null;
    expect(await pollUntil(waitLimitMs, areWaiting)).toBe(true);
    isLimited = false;
    await killHub(skein);
    await skein.run(["hub", "start"]);
    expect(await pollUntil(waitLimitMs, async () => ((await list()).length === 0 ? true : null))).toBe(true);
    for (const agent of ["claude", "codex"]) {
      const { nodes, turns } = (await skein.run(["show", agent, "--json"])).json() as {
        nodes: { author: string; parts: { text?: string }[] }[];
        turns: { status: string }[];
      };
      expect(turns.map(({ status }) => status)).toEqual(["rate-limited", "ok"]);
      expect(nodes.filter(({ author }) => author === "user").map(({ parts }) => parts[0]!.text)).toEqual([`hello ${agent}`]);
      expect(nodes.at(-1)).toMatchObject({ author: "agent", parts: [{ text: "after-the-limit" }] });
      expect(server.main().filter(({ text }) => text.includes(`hello ${agent}`))).toHaveLength(1);
    }
  } finally {
    await skein.run(["hub", "stop", "--wait", "0"]);
    await server.stop();
  }
}, 300_000);
