// The tools for teams with the official client of `skein mcp --toolset team`: a team that is handed back while it works,
// written to and enlarged, and every error code.
import { expect, test } from "bun:test";
import { rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { teamErrorCodes } from "../../../src/protocol/schema/mcp-team.ts";
import { stoppingHub, mcpClient, serverWith } from "../../support/mcp-clients.ts";
import { temporaryHome, vendorEnv } from "../../support/temporary-home.ts";

const held = 'while [ ! -e "$SKEIN_SHARED_CONTEXT/go" ]; do sleep 0.05; done; echo made > made.txt';

type Shown = {
  state: string;
  directory: string;
  agents: { total: number; running: number; completed: number; failed: number };
  phases: { is_asked: boolean; members: { id: string; key: string; state: string; role: string }[] }[];
  messages?: { from: string; body: { content: string } }[];
};

test(
  "a client has a team work, looks at it, writes to it, adds to it, and is told by code what it got wrong",
  { timeout: 300_000 },
  async () => {
    await using server = serverWith(({ position: { prompt } }) => {
      if (prompt.includes("You are the engineer")) return { steps: [{ calls: [{ input: { command: held } }] }], final: "built it" };
      return { steps: [], final: prompt.includes("# How\nBe brief") ? "briefly looked" : "looked at it" };
    });
    await using skein = stoppingHub(temporaryHome(vendorEnv(server.url)));
    rmSync(join(skein.project, ".git"), { recursive: true });
    const init = "git init -q -b main && echo hi > a.txt && git add -A && git -c user.name=t -c user.email=t@t commit -qm first";
    expect(Bun.spawnSync(["sh", "-c", init], { cwd: skein.project }).exitCode).toBe(0);
    await using talk = await mcpClient(skein, { args: ["--toolset", "team", "--hand-back-after", "2s"] });
    const { call } = talk;
    const seen = new Set<string>();
    const refused = async (tool: string, input: Record<string, unknown>) => {
      const { output, isError } = await call(tool, input);
      const { code, message } = output["error"] as { code: string; message: string };
      expect([isError, message.length > 0]).toEqual([true, true]);
      seen.add(code);
      return code;
    };
    const status = async (more: Record<string, unknown> = {}) =>
      (await call("session_status", { session_id: "crew", ...more })).output as unknown as Shown;
    const { tools } = await talk.client.listTools();
    expect(tools.map(({ name }) => name).slice(-5)).toEqual([
      "orchestrate",
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
    expect(await refused("session_status", { session_id: "crew" })).toBe("SESSION_NOT_FOUND");
    const begun = await call("orchestrate", { objective, agents, strategy: "sequential", session_id: "crew" });
    expect(begun.output).toMatchObject({ status: "running", session_id: "crew", next: "wait_session" });

    let working = await status();
    while (working.phases[0]?.members[0]?.state !== "running") working = await status();
    const engineer = working.phases[0].members[0];
    expect([working.state, engineer.state, engineer.key]).toEqual(["running", "running", "engineer-api"]);
    expect((await status({ include_agents: false })).phases[0]!.members).toBeUndefined();
    const written = await call("agent_message", {
      from_agent: "qa-2",
      to_agent: engineer.id,
      message: "leave a note",
      type: "notification",
    });
    expect(written.output).toMatchObject({ from: "person", on_behalf_of: "qa-2", reaches: [engineer.id], when: "now" });
    expect(await refused("agent_message", { from_agent: "mallory", to_agent: engineer.id, message: "x" })).toBe("AGENT_NOT_FOUND");
    expect(await refused("agent_message", { from_agent: "orchestrator", to_agent: "nobody", message: "x" })).toBe("AGENT_NOT_FOUND");
    expect(await refused("orchestrate", { objective: "another", session_id: "crew" })).toBe("SPAWN_FAILED");
    const late = { role: "reviewer", task: "look", session_id: "crew" };
    expect(await refused("spawn_agent", { ...late, dependencies: ["nobody"] })).toBe("DEPENDENCY_NOT_MET");
    const queued = await call("spawn_agent", { ...late, dependencies: ["engineer-api"], instance_suffix: "late" });
    expect(queued.output).toMatchObject({ status: "queued", agent_key: "reviewer-late" });

    writeFileSync(join(working.directory, "shared", "go"), "");
    for (let ended = false; !ended;) ended = (await call("wait_session", { session_id: "crew" })).output["status"] === "ok";
    const done = await status({ include_messages: true });
    expect([done.state, done.agents]).toEqual(["completed", { total: 3, running: 0, completed: 3, failed: 0 }]);
    expect(done.phases.map((phase) => [phase.members[0]?.role, phase.is_asked])).toEqual([
      ["engineer", false],
      ["qa", false],
      ["reviewer", true],
    ]);
    expect(done.messages).toMatchObject([{ from: "person", body: { content: "(on behalf of qa-2)\nleave a note" } }]);
    expect(JSON.stringify(server.requests.map(({ body }) => body))).toContain("leave a note");

    // Whoever has more patience is told the end.
    await using patient = await mcpClient(skein, { args: ["--toolset", "team"] });
    const own = { prompt_template: "Be brief", timeout_seconds: 60, max_memory_mb: 512 };
    const more = await patient.call("spawn_agent", { role: "poet", task: "write", session_id: "crew", template_override: own });
    expect(more.output).toMatchObject({ status: "ok", session_id: "crew" });
    expect(more.text).toContain("briefly looked");
    const again = await patient.call("orchestrate", { objective, session_id: "crew" });
    expect([again.output["status"], again.text.includes("built it")]).toEqual(["ok", true]);
    expect((await skein.run(["team", "status", "crew"])).out).toContain("skein team merge crew");
    expect([...seen].toSorted()).toEqual([...teamErrorCodes].toSorted());
  },
);
