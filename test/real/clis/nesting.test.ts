// Tests that the real agents can't start agents: none has a tool for it, and skein refuses to start from their shell.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { installPeers, peerNames } from "../../../bench/peers.ts";
import { type ModelServer, startModelServer } from "../../../src/scripted-model/model-server.ts";
import { shellScript } from "../../../src/scripted-model/script.ts";
import { agentHome, agentModels, takeTurn } from "../../support/agent-journey.ts";
import { skeinCommand } from "../../support/temporary-home.ts";

const command = `unset SKEIN_SESSION_ID; ${skeinCommand().join(" ")} run x`;
/** Names that the agents use for such tools, and likely other names. */
const startsAgents = /agent|^task$|^workflow$|^send_?message$|^create_goal$|collab|delegate|investigator/i;

let server: ModelServer;

beforeAll(async () => {
  await installPeers(peerNames);
  server = startModelServer(shellScript([command]));
}, 300_000);
afterAll(() => server.stop());

test.each([...peerNames.map((agent) => [agent, "workspace"] as const), ["codex", "full"] as const])(
  "%s under policy %s starts neither its own agents nor skein",
  async (agent, policy) => {
    using skein = agentHome(server);
    const sandbox = policy === "full" ? ["--sandbox", "off"] : [];
    const { turn, requests } = await takeTurn(skein, server, [
      "go",
      "-a",
      agent,
      "-m",
      agentModels[agent]!,
      "--policy",
      policy,
      ...sandbox,
    ]);
    expect(turn.status).toBe("ok");
    expect(requests).toHaveLength(2);
    const offered = namesIn(requests[0]!.body);
    expect(offered.length).toBeGreaterThan(1);
    expect(offered.filter((name) => startsAgents.test(name))).toEqual([]);
    expect(requests[1]!.text).toMatch(/skein can't be started from inside a session \(\w{8}\)/);
    expect(requests[1]!.text).toContain("use spawn_session");
  },
  300_000,
);

/** Returns the names of all tools in a request of any wire. */
function namesIn(body: unknown): string[] {
  const names: string[] = [];
  const collect = (value: unknown): void => {
    if (typeof value !== "object" || value === null) return;
    for (const [key, inner] of Object.entries(value)) {
      if (key === "name" && typeof inner === "string") names.push(inner);
      else if (key !== "parameters" && key !== "input_schema" && key !== "parametersJsonSchema") collect(inner);
    }
  };
  collect((body as { tools?: unknown }).tools);
  return names;
}
