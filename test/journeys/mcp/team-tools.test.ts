// The tools of `skein mcp --toolset team` with the official client. A running team is returned early, gets a message
// and another member. Every error code occurs.
import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { teamErrorCodes } from "../../../src/protocol/schema/mcp-team.ts";
import { stoppingHub, mcpClient, serverWith } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const waitThenWrite = 'while [ ! -e "$SKEIN_SHARED_CONTEXT/go" ]; do sleep 0.05; done; echo made > made.txt';

type TeamState = {
  state: string;
  directory: string;
  agents: { total: number; running: number; completed: number; failed: number };
  phases: { is_asked: boolean; members: { id: string; key: string; state: string; role: string }[] }[];
  messages?: { from: string; body: { content: string } }[];
};

test(
  "a client can run a team, read its status, send it messages and add members, and wrong calls get an error code",
  { timeout: 300_000 },
  async () => {
    await using server = serverWith(({ position: { prompt } }) => {
      if (prompt.includes("You are the engineer"))
        return { steps: [{ calls: [{ input: { command: waitThenWrite } }] }], final: "built it" };
      return { steps: [], final: prompt.includes("# How\nBe brief") ? "briefly looked" : "looked at it" };
    });
    await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
    rmSync(join(skein.project, ".git"), { recursive: true });
    const init = "git init -q -b main && echo hi > a.txt && git add -A && git -c user.name=t -c user.email=t@t commit -qm first";
    expect(Bun.spawnSync(["sh", "-c", init], { cwd: skein.project }).exitCode).toBe(0);
    await using mcp = await mcpClient(skein, { args: ["--toolset", "team", "--hand-back-after", "2s"] });
    const { call } = mcp;
    const errorCodes = new Set<string>();
    const refused = async (tool: string, input: Record<string, unknown>) => {
      const { output, isError } = await call(tool, input);
      const { code, message } = output["error"] as { code: string; message: string };
      expect([isError, message.length > 0]).toEqual([true, true]);
      errorCodes.add(code);
      return code;
    };
    const status = async (params: Record<string, unknown> = {}) =>
      (await call("session_status", { session_id: "team-a", ...params })).output as unknown as TeamState;
    const { tools } = await mcp.client.listTools();
    expect(tools.map(({ name }) => name).slice(-6)).toEqual([
      "orchestrate",
      "race",
      "spawn_agent",
      "agent_message",
      "session_status",
      "list_roles",
    ]);
    const { roles } = (await call("list_roles")).output as { roles: { name: string; is_predefined: boolean }[] };
    expect(roles.filter(({ is_predefined }) => is_predefined)).toHaveLength(16);

    const objective = "make something";
    const agents = [
      { role: "engineer", task: "make it", instance_suffix: "api" },
      { role: "qa", task: "try it" },
    ];
    const many = Array.from({ length: 6 }, () => agents[1]);
    expect(await refused("orchestrate", { objective, agents: [{ role: "enginer", task: "x" }] })).toBe("INVALID_ROLE");
    expect(await refused("orchestrate", { objective, agents: many })).toBe("RESOURCE_LIMIT_EXCEEDED");
    expect(await refused("session_status", { session_id: "team-a" })).toBe("SESSION_NOT_FOUND");
    const started = await call("orchestrate", { objective, agents, strategy: "sequential", session_id: "team-a" });
    expect(started.output).toMatchObject({ status: "running", session_id: "team-a", next: "wait_session" });

    let working = await status();
    while (working.phases[0]?.members[0]?.state !== "running") working = await status();
    const engineer = working.phases[0].members[0];
    expect([working.state, engineer.state, engineer.key]).toEqual(["running", "running", "engineer-api"]);
    expect((await status({ include_agents: false })).phases[0]!.members).toBeUndefined();
    const posted = await call("agent_message", {
      from_agent: "qa-2",
      to_agent: engineer.id,
      message: "leave a note",
      type: "notification",
    });
    expect(posted.output).toMatchObject({ from: "person", on_behalf_of: "qa-2", reaches: [engineer.id], when: "now" });
    expect(await refused("agent_message", { from_agent: "mallory", to_agent: engineer.id, message: "x" })).toBe("AGENT_NOT_FOUND");
    expect(await refused("agent_message", { from_agent: "orchestrator", to_agent: "nobody", message: "x" })).toBe("AGENT_NOT_FOUND");
    expect(await refused("orchestrate", { objective: "another", session_id: "team-a" })).toBe("SPAWN_FAILED");
    const late = { role: "reviewer", task: "look", session_id: "team-a" };
    expect(await refused("spawn_agent", { ...late, dependencies: ["nobody"] })).toBe("DEPENDENCY_NOT_MET");
    const queued = await call("spawn_agent", { ...late, dependencies: ["engineer-api"], instance_suffix: "late" });
    expect(queued.output).toMatchObject({ status: "queued", agent_key: "reviewer-late" });

    writeFileSync(join(working.directory, "shared", "go"), "");
    for (let ended = false; !ended;) ended = (await call("wait_session", { session_id: "team-a" })).output["status"] === "ok";
    const done = await status({ include_messages: true });
    expect([done.state, done.agents]).toEqual(["completed", { total: 3, running: 0, completed: 3, failed: 0 }]);
    expect(done.phases.map((phase) => [phase.members[0]?.role, phase.is_asked])).toEqual([
      ["engineer", false],
      ["qa", false],
      ["reviewer", true],
    ]);
    expect(done.messages).toMatchObject([{ from: "person", body: { content: "(on behalf of qa-2)\nleave a note" } }]);
    expect(JSON.stringify(server.requests.map(({ body }) => body))).toContain("leave a note");

    // A client without an early return gets the final result.
    await using patient = await mcpClient(skein, { args: ["--toolset", "team"] });
    const template = { prompt_template: "Be brief", timeout_seconds: 60, max_memory_mb: 512 };
    const added = await patient.call("spawn_agent", { role: "poet", task: "write", session_id: "team-a", template_override: template });
    expect(added.output).toMatchObject({ status: "ok", session_id: "team-a" });
    expect(added.text).toContain("briefly looked");
    const again = await patient.call("orchestrate", { objective, session_id: "team-a" });
    expect([again.output["status"], again.text.includes("built it")]).toEqual(["ok", true]);
    expect((await skein.run(["team", "status", "team-a"])).out).toContain("skein team merge team-a");
    expect([...errorCodes].toSorted()).toEqual([...teamErrorCodes].toSorted());
  },
);
