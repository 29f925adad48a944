// The real Claude Code reaches a limit in the middle of its work. With --at-limit codex the real Codex continues: it gets what
// Claude did, and the files are as Claude left them.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { agentHome, agentModels, countsIn, type NodeLine, takeTurn, textIn, type TurnLine } from "../../support/agent-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const task = "write 613000000001 to made.txt, then read it";
const byClaude = { text: "claude-writes-first.", calls: [{ input: { command: "echo 613000000001 > made.txt; expr 613000000000 + 2" } }] };
const byCodex = { text: "codex-reads-then.", calls: [{ input: { command: "cat made.txt" } }] };
const limitMessage = "This request would exceed your account's rate limit.";

let server: ModelServer;
let skein: TemporaryHome;

/** Anthropic answers the first request, and refuses all that have a result. */
async function refuseSecond(request: Request, path: string): Promise<Response | null> {
  if (!path.endsWith("/messages")) return null;
  const body = await request.clone().text();
  if (!body.includes("613000000002")) return null;
  const reset = String(Math.floor(Date.now() / 1000) + 7200);
  return Response.json(
    { type: "error", error: { type: "rate_limit_error", message: limitMessage } },
    {
      status: 429,
      headers: { "anthropic-ratelimit-unified-status": "rejected", "anthropic-ratelimit-unified-reset": reset, "x-should-retry": "false" },
    },
  );
}

beforeAll(async () => {
  await installPeers(["claude", "codex"]);
  server = startModelServer(
    ({ body }) => {
      const isCodex = JSON.stringify(body).includes(agentModels["codex"]!);
      return isCodex ? { steps: [byCodex], final: "codex-is-done" } : { steps: [byClaude], final: "claude-is-done" };
    },
    { route: refuseSecond },
  );
  skein = agentHome(server);
}, 300_000);

afterAll(async () => {
  await server.stop();
  skein[Symbol.dispose]();
});

test("Codex continues the turn of Claude Code after a 429, with the conversation and the files", async () => {
  const claude = ["-a", "claude", "-m", agentModels["claude"]!];
  const taken = await takeTurn(skein, server, [...claude, "--session", "limit", "--at-limit", `codex:${agentModels["codex"]}`, task]);
  expect({ code: taken.ran.code, agent: taken.turn.agent, status: taken.turn.status, error: taken.turn.error }).toEqual({
    code: 0,
    agent: "codex",
    status: "ok",
    error: undefined,
  });
  const [first, ...rest] = taken.requests.filter(({ wire }) => wire !== "anthropic");
  expect(countsIn(first, [task, byClaude.text, "613000000002"])).toEqual({ [task]: 1, [byClaude.text]: 1, "613000000002": 1 });
  expect(rest.at(-1)?.text).toContain("613000000001");
  expect(readFileSync(join(skein.project, "made.txt"), "utf8")).toBe("613000000001\n");

  const stored = (await skein.run(["show", "limit", "--json"])).json() as { nodes: NodeLine[]; turns: TurnLine[] };
  expect(stored.turns.map(({ agent, status }) => [agent, status])).toEqual([
    ["claude", "rate-limited"],
    ["codex", "ok"],
  ]);
  expect(Date.parse(stored.turns[0]?.error?.reset_at ?? "")).toBeGreaterThan(Date.now() + 3_600_000);
  expect(stored.nodes.filter(({ author }) => author === "user").map(textIn)).toEqual([task]);
  const notes = stored.nodes.filter(({ note }) => note === "hand-over").map(textIn);
  expect(notes).toHaveLength(1);
  expect(notes[0]).toContain("takes over from claude, which reached a limit");
  expect((await skein.run(["logs", "limit"])).out).toContain("takes over from claude");
}, 120_000);

test("without --at-limit the turn ends as rate-limited, and its hint has the other choices", async () => {
  const claude = ["-a", "claude", "-m", agentModels["claude"]!];
  const taken = await takeTurn(skein, server, [...claude, "--session", "stop", task]);
  expect({ code: taken.ran.code, status: taken.turn.status }).toEqual({ code: 5, status: "rate-limited" });
  expect(taken.turn.error?.hint).toMatch(/the limit ends at .*--at-limit wait.*--at-limit <agent>/);
}, 120_000);
