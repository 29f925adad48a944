// Runs teams with a real agent as a member. It works in a worktree, gets messages, reports with `skein report` from its sandbox,
// and its work is merged with that of a native member. A second test runs every role with a real agent.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { installPeers } from "../../../bench/peers.ts";
import { startModelServer, type ModelServer } from "../../../src/scripted-model/model-server.ts";
import { builtInRoles } from "../../../src/roles/built-in.ts";
import { agentHome } from "../../support/agent-journey.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { git, scriptFromPlayer, repositoryIn, teamIn, the, type Player } from "../../support/team-journey.ts";

const model = ["-m", "anthropic/claude-sonnet-4-5"];
const agents = ["claude", "codex"] as const;

let server: ModelServer;
beforeAll(async () => {
  await installPeers([...agents, "pi"]);
  server = startModelServer({ steps: [], final: "" });
}, 300_000);
afterAll(() => server.stop());

const builders: Player = ({ role, instance }) => {
  if (role === "architect")
    return {
      run: 'mkdir -p "$SKEIN_SHARED_CONTEXT/architecture"; echo "sum.js, product.js" > "$SKEIN_SHARED_CONTEXT/architecture/system-design.md"; skein report artifact "$SKEIN_SHARED_CONTEXT/architecture/system-design.md" "the design"; skein msg send --to engineer "one file each"',
      say: "Designed.",
    };
  if (role === "reviewer")
    return {
      run: 'mkdir -p "$SKEIN_SHARED_CONTEXT/reviews"; sh check.sh > "$SKEIN_SHARED_CONTEXT/reviews/verdict.txt" 2>&1',
      say: "Approved.",
    };
  const name = instance === 1 ? "sum" : "product";
  return {
    run: `echo "export const ${name} = 1;" > ${name}.js; touch "$SKEIN_PROJECT_ROOT/outside"; skein report complete success "${name} is built"; skein msg read`,
    say: "Built.",
  };
};

test.each(agents)(
  "a team with an architect, a native engineer, an engineer of %s and a reviewer passes the repository's tests",
  async (agent) => {
    server.setScript(scriptFromPlayer(builders));
    server.clear();
    using skein = agentHome(server);
    repositoryIn(skein.project);
    const ran = await skein.run(["team", "run", "sum and product", "--agents", `architect,engineer,engineer:${agent},reviewer`, ...model]);
    expect([ran.code, /skein: [^]*/.exec(ran.err)?.[0]]).toEqual([0, undefined]);
    const { id, root, log } = teamIn(skein);
    expect(the(log, "agent_completed").map(({ unmet, status }) => [status, ...unmet])).toEqual([["ok"], ["ok"], ["ok"], ["ok"]]);
    expect(
      the(log, "agent_reported")
        .map(({ report }) => (report.type === "complete" ? report.summary : ""))
        .toSorted(),
    ).toEqual(["product is built", "sum is built"]);
    expect(the(log, "message_sent").map(({ message }) => message.delivered.length)).toEqual([2]);
    expect(server.main().filter(({ text }) => text.includes("one file each") && text.includes("instance 2")).length).toBeGreaterThan(0);
    expect(readFileSync(join(root, "shared/reviews/verdict.txt"), "utf8")).toBe("tests pass\n");
    expect((await skein.run(["team", "merge", id, "--yes"])).code).toBe(0);
    expect(Bun.spawnSync(["sh", "check.sh"], { cwd: skein.project }).stdout.toString()).toBe("tests pass\n");
    expect(git(skein.project, "status", "--porcelain")).toBe("?? product.js\n?? sum.js");
    expect((await skein.run(["verify"])).code).toBe(0);
    expect(await waitForNoProcesses(skein.root, 20_000)).toEqual([]);
  },
  300_000,
);

test("every role runs with pi and has its variables in its environment", async () => {
  const command = 'mkdir -p "$SKEIN_SHARED_CONTEXT/env"; env > "$SKEIN_SHARED_CONTEXT/env/$MAOS_AGENT_ID"';
  server.setScript(scriptFromPlayer(() => ({ run: command })));
  using skein = agentHome(server);
  repositoryIn(skein.project);
  const members = builtInRoles.map(({ name }, index) => ({
    key: `m${index}`,
    role: name,
    agent: "pi",
    task: "look around",
    workspace: "plain",
  }));
  const phases = [0, 4, 8, 12].map((start) => ({ name: `from ${start}`, members: members.slice(start, start + 4) }));
  writeFileSync(join(skein.project, "plan.json"), JSON.stringify({ phases }));
  const ran = await skein.run(["team", "run", "look around", "--phases", "plan.json", ...model]);
  expect([ran.code, /skein: [^]*/.exec(ran.err)?.[0]]).toEqual([0, undefined]);
  const { root, log } = teamIn(skein);
  const spawned = the(log, "agent_spawned").map(({ member }) => member);
  expect(readdirSync(join(root, "shared/env")).toSorted()).toEqual(spawned.map((member) => member.id).toSorted());
  for (const { id, plan, session } of spawned) {
    const env = readFileSync(join(root, "shared/env", id), "utf8").split("\n");
    for (const line of [`SKEIN_AGENT_ROLE=${plan.role}`, `MAOS_AGENT_ROLE=${plan.role}`, `SKEIN_SESSION_ID=${session}`])
      expect(env).toContain(line);
  }
}, 300_000);
