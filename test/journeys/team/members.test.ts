// The agent, model, role and cost of a team's members: what was requested is sent to the model, and what was sent is recorded.
import { expect, test } from "bun:test";
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { ModelServer } from "../../../src/scripted-model/model-server.ts";
import { runTeamJourney, teamIn, the, type Player } from "../../support/team-journey.ts";
import type { TemporaryHome } from "../../support/temporary-home.ts";

const haiku = "anthropic/claude-haiku-4-5";
const sonnet = "anthropic/claude-sonnet-4-5";

const requestedModels = (server: ModelServer) => [
  ...new Set(server.main().map(({ body }) => `anthropic/${(body as { model: string }).model}`)),
];

type SessionRecord = { id: string; agent: string; model: string | null; parent_session_id: string | null };
type TurnRecord = {
  agent: string;
  model: string | null;
  role?: string;
  cost_usd: number | null;
  usage: Record<string, number>;
  below?: TurnRecord;
};
type PsRecord = { session: SessionRecord; turn: TurnRecord };

/** All turns that `ps` lists, members and planners below the team. */
async function turnsOf(skein: TemporaryHome): Promise<PsRecord[]> {
  return (await skein.run(["ps", "--all", "--json"])).json() as unknown as PsRecord[];
}

const onePhase = JSON.stringify({
  done: false,
  reason: "build",
  phases: [{ name: "build", goal: "", members: [{ key: "a", role: "engineer", task: "build it" }] }],
});
const done = JSON.stringify({ done: true, reason: "built", phases: [] });
/** Plans one phase, and ends the work after it. */
function plannedPlayer(): Player {
  const answers = [onePhase, done];
  return ({ role }) => (role === "planner" ? (answers.shift() ?? done) : "built");
}

test("team run -m reaches the planner and every member that names no other model, and is recorded", async () => {
  await runTeamJourney(plannedPlayer(), async ({ skein, server }) => {
    expect((await skein.run(["team", "run", "x", "-m", haiku])).code).toBe(0);
    expect(requestedModels(server)).toEqual([haiku]);
    const { log } = teamIn(skein);
    expect(the(log, "agent_spawned").map(({ member }) => [member.agent, member.model])).toEqual([["native", haiku]]);
    const turns = await turnsOf(skein);
    expect(turns.filter(({ turn }) => turn.agent !== "team").map(({ session, turn }) => [session.model, turn.model, turn.role])).toEqual([
      [haiku, haiku, "planner"],
      [haiku, haiku, "engineer"],
      [haiku, haiku, "planner"],
    ]);
  });
}, 300_000);

test("team run -a reaches the planner and every member that names no other agent, and is recorded", async () => {
  const plannedMembers = [
    { key: "a", role: "engineer", task: "build it" },
    { key: "b", role: "reviewer", task: "look at it", agent: "native", model: haiku },
  ];
  const plan = JSON.stringify({ done: false, reason: "build", phases: [{ name: "build", goal: "", members: plannedMembers }] });
  await runTeamJourney(
    () => "done by native",
    async ({ skein, server }) => {
      // The program plans one phase, ends the work after it, and does any other task.
      const script = `case "$*" in *"Plan the next"*"done by native"*) echo '${done}';; *"Plan the next"*) echo '${plan}';; *) echo built;; esac`;
      const program = join(skein.root, "mine");
      writeFileSync(program, `#!/bin/sh\n${script}\n`, { mode: 0o755 });
      const folder = join(skein.env["SKEIN_HOME"]!, "config");
      mkdirSync(folder, { recursive: true });
      writeFileSync(join(folder, "config.jsonc"), JSON.stringify({ agents: { mine: { command: program, args: ["{prompt}"] } } }));
      const ran = await skein.run(["team", "run", "x", "-a", "mine"]);
      expect({ code: ran.code, err: ran.code === 0 ? "" : ran.err }).toEqual({ code: 0, err: "" });
      expect(requestedModels(server)).toEqual([haiku]);
      const { log } = teamIn(skein);
      expect(the(log, "agent_spawned").map(({ member }) => [member.plan.role, member.agent, member.model])).toEqual([
        ["engineer", "mine", null],
        ["reviewer", "native", haiku],
      ]);
      const members = (await turnsOf(skein)).filter(({ turn }) => turn.agent !== "team");
      expect(members.map(({ session, turn }) => [turn.role, session.agent, turn.agent].join(" ")).toSorted()).toEqual([
        "engineer mine mine",
        "planner mine mine",
        "planner mine mine",
        "reviewer native native",
      ]);
    },
  );
}, 300_000);

test("ps, logs, show and team status count the tokens and cost of a team's members", async () => {
  await runTeamJourney(plannedPlayer(), async ({ skein }) => {
    const run = await skein.run(["team", "run", "x", "-m", haiku, "--output-format", "json"]);
    const { cost_usd: cost } = run.json() as { cost_usd: number };
    expect(cost).toBeGreaterThan(0);
    const turns = await turnsOf(skein);
    const team = turns.find(({ turn }) => turn.agent === "team")!;
    const members = turns.filter((other) => other !== team);
    const sum = (numbers: number[]) => Math.round(numbers.reduce((a, b) => a + b, 0) * 1e6) / 1e6;
    expect(team.turn.below?.cost_usd).toBe(cost);
    expect(sum(members.map(({ turn }) => turn.cost_usd!))).toBeCloseTo(cost, 5);
    expect(team.turn.below?.usage["output"]).toBe(sum(members.map(({ turn }) => turn.usage["output"]!)));
    const { id } = team.session;
    const shown = (await skein.run(["show", id, "--json"])).json() as { turns: TurnRecord[] };
    expect(shown.turns[0]?.below?.cost_usd).toBe(cost);
    expect(((await skein.run(["team", "status", id, "--json"])).json() as { cost_usd: number }).cost_usd).toBe(cost);
    expect((await skein.run(["logs", id])).out).toContain(` · $${cost.toFixed(4)} · `);
    const row = (await skein.run(["ps", "--all"])).out.split("\n").find((line) => line.startsWith(id.slice(-8)));
    expect(row).toContain(`$${cost.toFixed(4)}`);
  });
}, 300_000);

test("team resume -m continues the failed member with that model, and a member's own model stays", async () => {
  const phases = {
    phases: [
      { name: "one", members: [{ key: "own", role: "qa", task: "look", model: sonnet }] },
      { name: "two", members: [{ key: "other", role: "engineer", task: "build", validation: [{ kind: "file", path: "built" }] }] },
    ],
  };
  let isReady = false;
  const player: Player = ({ role }) => (role === "qa" || !isReady ? "nothing" : { run: "echo x > built" });
  await runTeamJourney(player, async ({ skein, server }) => {
    writeFileSync(join(skein.project, "plan.json"), JSON.stringify(phases));
    expect((await skein.run(["team", "run", "x", "--phases", "plan.json", "-m", haiku])).code).toBe(1);
    expect(requestedModels(server)).toEqual([sonnet, haiku]);
    server.clear();
    isReady = true;
    const { id } = teamIn(skein);
    expect((await skein.run(["team", "resume", id, "-m", sonnet])).code).toBe(0);
    expect(requestedModels(server)).toEqual([sonnet]);
    const status = (await skein.run(["team", "status", id, "--json"])).json() as {
      phases: { members: { key: string; model: string }[] }[];
    };
    expect(status.phases.flatMap(({ members }) => members.map(({ key, model }) => [key, model]))).toEqual([
      ["own", sonnet],
      ["other", sonnet],
    ]);
  });
}, 300_000);

test("a team whose planner has no valid plan twice works by a simple sequential plan", async () => {
  const player: Player = ({ role }) => (role === "planner" || role === "again" ? "no plan" : `the ${role} is done`);
  await runTeamJourney(player, async ({ skein }) => {
    const ran = await skein.run(["team", "run", "x", "-m", haiku]);
    expect([ran.code, ran.err.includes("so the team works by a simple plan")]).toEqual([0, true]);
    const { log } = teamIn(skein);
    expect(the(log, "agent_completed").map(({ agent }) => agent.split("_")[1])).toEqual(["architect", "engineer", "reviewer"]);
  });
}, 300_000);

test("an unknown role of --agents names the nearest role, and a repository that can't be read is reported", async () => {
  await runTeamJourney(
    () => "done",
    async ({ skein }) => {
      const refused = await skein.run(["team", "run", "x", "--agents", "enginer", "-m", haiku]);
      expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("did you mean engineer?")]);
      writeFileSync(join(skein.project, ".git", "HEAD"), "garbage");
      const ran = await skein.run(["team", "run", "x", "--agents", "engineer", "-m", haiku]);
      expect([ran.code, ran.err]).toEqual([0, expect.stringContaining("can't be read, so each member works in an empty directory")]);
    },
  );
}, 300_000);
