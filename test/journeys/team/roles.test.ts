// Runs all roles in one team. Each member prints the environment that it has in its sandbox, so that no test has to
// parse an agent id.
import { expect, test } from "bun:test";
import { mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { isAbsolute, join } from "node:path";
import { builtInRoles } from "../../../src/roles/built-in.ts";
import { model, runTeamJourney, teamIn, the } from "../../support/team-journey.ts";

const variables =
  "AGENT_ID AGENT_ROLE AGENT_INSTANCE WORKSPACE SHARED_CONTEXT MESSAGE_DIR PROJECT_ROOT SESSION_OBJECTIVE SESSION_STRATEGY TIMEOUT_MINUTES MAX_MEMORY_MB".split(
    " ",
  );
const customRole = { role: "love_letter-writer", description: "writes letters, and tests them", suffix: "night_shift" };
const dumpEnv =
  'mkdir -p "$SKEIN_SHARED_CONTEXT/env"; env > "$SKEIN_SHARED_CONTEXT/env/$SKEIN_AGENT_ID"; pwd >> "$SKEIN_SHARED_CONTEXT/env/$MAOS_AGENT_ID"';
const memberPlans = [
  ...builtInRoles.map(({ name }) => ({ role: name, suffix: null, description: null })),
  { role: "data_scientist", suffix: "sales_eu", description: null },
  { role: "ux_designer", suffix: "2", description: null },
  customRole,
];

/** `looker` is a configured agent that runs the same script in the same sandbox. */
test.each(["native", "looker"])(
  "every role runs with agent %s and has its variables and paths in its environment",
  async (agent) => {
    await runTeamJourney(
      () => ({ run: dumpEnv }),
      async ({ skein }) => {
        const program = join(skein.root, "looker");
        writeFileSync(program, `#!/bin/sh\n${dumpEnv}\necho looked\n`, { mode: 0o755 });
        mkdirSync(join(skein.env["SKEIN_HOME"]!, "config"), { recursive: true });
        writeFileSync(join(skein.env["SKEIN_HOME"]!, "config/config.jsonc"), JSON.stringify({ agents: { looker: { command: program } } }));
        const members = memberPlans.map((member, index) => ({
          ...member,
          key: `m${index}`,
          agent,
          task: "look around",
          workspace: index % 2 === 0 ? "plain" : "worktree",
        }));
        writeFileSync(join(skein.project, "plan.json"), JSON.stringify({ phases: [{ name: "look", members }] }));
        const ran = await skein.run(["team", "run", "look\naround", "--phases", "plan.json", ...model]);
        expect([ran.code, /skein: [^]*/.exec(ran.err)?.[0]]).toEqual([0, undefined]);
        const { root, log, id } = teamIn(skein);
        const spawned = the(log, "agent_spawned").map(({ member }) => member);
        expect(readdirSync(join(root, "shared/env")).toSorted()).toEqual(spawned.map((member) => member.id).toSorted());
        for (const member of spawned) {
          const lines = readFileSync(join(root, "shared/env", member.id), "utf8")
            .trim()
            .split("\n");
          const env = Object.fromEntries(
            lines.slice(0, -1).map((line) => [line.slice(0, line.indexOf("=")), line.slice(line.indexOf("=") + 1)]),
          );
          expect(member.id).toMatch(/^agent_[a-z_0-9-]+_[0-9a-f]{8}$/);
          expect(env["SKEIN_AGENT_ROLE"]).toBe(member.plan.role);
          expect(env["SKEIN_AGENT_INSTANCE"]).toBe(
            String(spawned.filter((other) => other.plan.role === member.plan.role).indexOf(member) + 1),
          );
          for (const name of variables) expect([name, env[`MAOS_${name}`]]).toEqual([name, env[`SKEIN_${name}`] ?? "missing"]);
          expect([env["SKEIN_SESSION_ID"], env["MAOS_SESSION_ID"], env["SKEIN_TEAM_ID"]?.slice(-8)]).toEqual([
            member.session,
            env["SKEIN_TEAM_ID"]!,
            id,
          ]);
          const paths = ["WORKSPACE", "SHARED_CONTEXT", "MESSAGE_DIR", "PROJECT_ROOT"].map((name) => env[`SKEIN_${name}`]!);
          expect(paths.every((path) => isAbsolute(path) && !path.includes("~"))).toBe(true);
          expect([lines.at(-1), env["SKEIN_SESSION_OBJECTIVE"]]).toEqual([env["SKEIN_WORKSPACE"], "look around"]);
          expect(env["MAOS_AGENT_ROLE_DESC"]).toBe(member.plan.role === customRole.role ? customRole.description : undefined);
          const role = builtInRoles.find(({ name }) => name === member.plan.role);
          if (role !== undefined)
            expect([env["SKEIN_TIMEOUT_MINUTES"], env["SKEIN_MAX_MEMORY_MB"]]).toEqual([
              String(role.timeoutMs / 60_000),
              String(role.maxMemoryMb),
            ]);
        }
      },
    );
  },
  300_000,
);
