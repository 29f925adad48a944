// Drives a team with a real program through the five tools of `skein mcp --toolset team`.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { JsonObject } from "../../../src/scripted-model/json.ts";
import type { ScriptStep } from "../../../src/scripted-model/script.ts";
import { agentHome } from "../../support/agent-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { askClient, installClient, toolName } from "../../support/real-mcp-clients.ts";

let server: ModelServer;

beforeAll(async () => {
  await installPeers(["claude"]);
  server = startModelServer({ steps: [], final: "" }, { marker: "heron-" });
}, 300_000);
afterAll(() => server.stop());

const call = (tool: string, input: JsonObject): ScriptStep => ({ calls: [{ name: toolName("claude", tool), input }] });
const waitCommand = 'while [ ! -e "$SKEIN_SHARED_CONTEXT/go" ]; do sleep 0.05; done';

function releaseMembers(project: string): void {
  const teams = join(project, ".skein", "teams");
  for (const team of readdirSync(teams).filter((name) => !name.startsWith("."))) writeFileSync(join(teams, team, "shared", "go"), "");
}

test("claude lists roles, starts a team, sends it a message, adds a member and reads its status", async () => {
  using skein = agentHome(server);
  const team = { session_id: "builders" };
  const first = [
    call("list_roles", {}),
    call("orchestrate", { ...team, objective: "heron-team: make it", agents: [{ role: "engineer", task: "heron-first: make it" }] }),
    call("agent_message", { ...team, from_agent: "orchestrator", to_agent: "engineer", message: "keep-it-short" }),
    call("spawn_agent", { ...team, role: "qa", task: "heron-second: look" }),
  ];
  const waits = Array.from({ length: 60 }, () => call("wait_session", team));
  const last = call("session_status", { ...team, include_messages: true });
  server.setScript(({ position: { prompt, step }, body }) => {
    const text = JSON.stringify(body);
    if (!prompt.includes("heron-conductor")) {
      const isFirst = prompt.includes("heron-first");
      return {
        steps: isFirst ? [{ calls: [{ input: { command: waitCommand } }] }] : [],
        final: isFirst ? "said-by-first" : "said-by-second",
      };
    }
    if (step >= first.length) releaseMembers(skein.project);
    const isOver = /said-by-second/.test(text);
    const steps = isOver ? [...first, ...waits.slice(0, step - first.length), last] : [...first, ...waits];
    return { steps: text.includes("message_count") ? steps.slice(0, step) : steps, final: "the team is done" };
  });
  await installClient(skein, server, "claude", ["--toolset", "team", "--hand-back-after", "5s"]);
  const ran = await askClient(skein, "claude", "heron-conductor: go");
  expect([ran.code, ran.out.includes("the team is done")], ran.err).toEqual([0, true]);
  const clientRequests = server.main().filter(({ text }) => text.includes("heron-conductor"));
  const lastRequest = clientRequests.at(-1)?.text ?? "";
  for (const word of ["data_scientist", "running", "on_behalf_of", "queued", "said-by-first", "message_count"])
    expect(lastRequest, word).toContain(word);
  expect(server.main().some(({ text }) => text.includes("keep-it-short") && text.includes("heron-first"))).toBe(true);
  const status = (await skein.run(["team", "status", "builders", "--json"])).json() as {
    state: string;
    phases: { members: { role: string; state: string }[] }[];
  };
  expect(status.state).toBe("completed");
  expect(status.phases.flatMap(({ members }) => members.map(({ role, state }) => [role, state]))).toEqual([
    ["engineer", "completed"],
    ["qa", "completed"],
  ]);
  expect((await skein.run(["hub", "stop"])).out).toBe("the hub is stopped\n");
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
});
