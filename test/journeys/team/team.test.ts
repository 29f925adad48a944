// A team with the real program: a small repository, scripted models in the real sandbox, worktrees, mail and phases,
// and the state after a failure.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { events, countNonEmpty, git, model, runTeamJourney, teamIn, the, type Player } from "../../support/team-journey.ts";

const builders: Player = ({ role, instance, prompt }) => {
  if (role === "architect")
    return {
      run: 'mkdir -p "$SKEIN_SHARED_CONTEXT/architecture" && echo "sum.js and product.js" > "$SKEIN_SHARED_CONTEXT/architecture/system-design.md" && skein report artifact "$SKEIN_SHARED_CONTEXT/architecture/system-design.md" "the design" && skein msg send --to engineer --subject design "one file each"',
      say: "The design is there.",
    };
  if (role === "engineer") {
    const name = instance === 1 ? "sum" : "product";
    const hasContext = prompt.includes("one file each") && prompt.includes("The design is there.");
    return {
      run: `echo "export const ${name} = ${hasContext ? "informed" : "uninformed"};" > ${name}.js; touch "$SKEIN_PROJECT_ROOT/outside" /etc/outside; skein report complete success "${name} is built"`,
    };
  }
  return {
    run: 'mkdir -p "$SKEIN_SHARED_CONTEXT/reviews" && sh check.sh > "$SKEIN_SHARED_CONTEXT/reviews/verdict.txt"; echo x > stray.txt',
    say: "Approved.",
  };
};

test("an architect, two engineers and a reviewer share mail and artifacts, and merge brings their work into the project", async () => {
  await runTeamJourney(builders, async ({ skein }) => {
    const ran = await skein.run(["team", "run", "sum and product", "--agents", "architect,engineer,engineer,reviewer", ...model]);
    expect([ran.code, ran.err.includes("skein:")]).toEqual([0, false]);
    const { id, root, log } = teamIn(skein);
    expect(the(log, "agent_completed").map(({ unmet, status }) => [status, ...unmet])).toEqual([["ok"], ["ok"], ["ok"], ["ok"]]);
    expect(the(log, "message_sent").map(({ message }) => [message.delivered.length, message.subject])).toEqual([[2, "design"]]);
    expect(the(log, "artifact_created").map(({ description }) => description)).toEqual(["the design"]);
    expect(readFileSync(join(root, "shared/reviews/verdict.txt"), "utf8")).toBe("tests pass\n");
    expect(git(skein.project, "status", "--porcelain")).toBe("");
    const merged = await skein.run(["team", "merge", id, "--yes"]);
    expect(merged.code).toBe(0);
    expect(git(skein.project, "status", "--porcelain")).toBe("?? product.js\n?? sum.js");
    expect(readFileSync(join(skein.project, "sum.js"), "utf8")).toBe("export const sum = informed;\n");
    expect(Bun.spawnSync(["sh", "check.sh"], { cwd: skein.project }).stdout.toString()).toBe("tests pass\n");
    expect(existsSync("/etc/outside") || existsSync(join(skein.project, "outside"))).toBe(false);
    const session = await skein.run(["show", id, "--json"]);
    expect(session.out).toContain("one file each");
  });
}, 300_000);

test("a member whose validation fails is tried once more with the reason, then the team stops, and resume continues there", async () => {
  const phases = {
    phases: [
      { name: "one", members: [{ key: "a", role: "engineer", task: "write a.txt", validation: [{ kind: "file", path: "a.txt" }] }] },
      {
        name: "two",
        members: [
          {
            key: "b",
            role: "engineer",
            task: "write b.txt",
            must_read: ["a.txt"],
            validation: [{ kind: "command", command: "test -s b.txt" }],
          },
        ],
      },
    ],
  };
  let isReady = false;
  const player: Player = ({ role, prompt }) => {
    if (prompt.includes("write a.txt")) return { run: "echo found in a > a.txt" };
    if (role === "engineer") return prompt.includes("found in a") ? "I did nothing." : "must_read is missing";
    return isReady ? { run: "echo b > b.txt" } : "Still nothing.";
  };
  await runTeamJourney(player, async ({ skein }) => {
    writeFileSync(join(skein.project, "plan.json"), JSON.stringify(phases));
    const ran = await skein.run(["team", "run", "two files", "--phases", "plan.json", ...model]);
    expect(ran.code).toBe(1);
    expect(ran.err).toContain("`test -s b.txt` exited with 1");
    const first = teamIn(skein);
    expect(the(first.log, "agent_failed").map(({ attempt, restarts }) => [attempt, restarts])).toEqual([
      [1, true],
      [2, false],
    ]);
    expect(the(first.log, "agent_failed")[0]?.answer).toBe("I did nothing.");
    isReady = true;
    const again = await skein.run(["team", "resume", first.id, ...model]);
    expect(again.code).toBe(0);
    const { log } = teamIn(skein);
    expect(the(log, "agent_completed").map(({ attempt }) => attempt)).toEqual([1, 3]);
    expect(events(log).filter((event) => event === "agent_spawned")).toHaveLength(2);
  });
}, 300_000);

test("if two members change the same line, the conflict is reported, both branches are kept, and resume continues without one", async () => {
  const player: Player = ({ instance }) => ({ run: `echo "engineer ${instance}" > index.js` });
  await runTeamJourney(player, async ({ skein }) => {
    const ran = await skein.run(["team", "run", "the same line", "--agents", "engineer,engineer", "--strategy", "parallel", ...model]);
    expect(ran.err).toContain("conflicts in index.js");
    expect(ran.code).toBe(1);
    const { id, root, log } = teamIn(skein);
    const commits = the(log, "agent_completed").map(({ commit }) => commit ?? "");
    const texts = commits.map((commit) => git(skein.project, "--git-dir", join(root, "repo.git"), "show", `${commit}:index.js`));
    expect(texts.toSorted()).toEqual(["engineer 1", "engineer 2"]);
    expect(readFileSync(join(skein.project, "index.js"), "utf8")).toBe("// public functions\n");
    expect(ran.err).toContain(`continues without this work; it is stored as ${commits[texts.indexOf("engineer 2")]} in`);
    expect((await skein.run(["team", "resume", id, ...model])).out).toContain("Not in the result: the work of agent_engineer_2");
    expect((await skein.run(["team", "merge", id, "--yes"])).code).toBe(0);
    expect(readFileSync(join(skein.project, "index.js"), "utf8")).toBe("engineer 1\n");
  });
}, 300_000);

test("after a SIGKILL in phase 2 of 3 resume finishes the team without repeating phase 1", async () => {
  const requestedRoles: string[] = [];
  let isSlow = true;
  const player: Player = ({ role }) => {
    requestedRoles.push(role);
    if (role === "engineer" && isSlow) return { run: "echo begun > begun.txt; sleep 300" };
    return role === "again" ? { run: "test -s begun.txt && echo went on > done.txt" } : { run: "true" };
  };
  await runTeamJourney(player, async ({ skein }) => {
    const child = skein.start(["team", "run", "three phases", "--agents", "architect,engineer,reviewer", ...model]);
    const hasStarted = () => {
      const folder = join(skein.project, ".skein/teams");
      const teams = existsSync(folder) ? readdirSync(folder).filter((name) => !name.startsWith(".")) : [];
      return teams.some((team) => countNonEmpty("work/*/begun.txt", join(folder, team)) > 0);
    };
    while (!hasStarted()) await Bun.sleep(20);
    process.kill(child.pid, "SIGKILL");
    await child.exited;
    isSlow = false;
    const { id } = teamIn(skein);
    expect((await skein.run(["team", "status", id])).out).toMatch(/interrupted[^]*engineer-2 waiting[^]*was interrupted[^]*team resume/);
    const again = await skein.run(["team", "resume", id, ...model]);
    expect(again.code).toBe(0);
    const { log } = teamIn(skein);
    expect(requestedRoles.filter((role) => role === "architect")).toHaveLength(2); // two requests of one turn
    expect(the(log, "agent_completed").map(({ agent, attempt }) => [agent.split("_")[1], attempt])).toEqual([
      ["architect", 1],
      ["engineer", 2],
      ["reviewer", 1],
    ]);
    const merged = await skein.run(["team", "merge", id, "--yes"]);
    expect([merged.code, readFileSync(join(skein.project, "done.txt"), "utf8")]).toEqual([0, "went on\n"]);
  });
}, 300_000);

test("a planner gets the results of each phase, and an invalid plan is returned once, then replaced by a simple one", async () => {
  const plan = (value: object) => JSON.stringify(value);
  const member = { key: "w", role: "engineer", task: "write w.txt", validation: [{ kind: "file", path: "w.txt" }] };
  let rounds = 0;
  const player: Player = ({ role, prompt }) => {
    if (role === "engineer") return { run: "echo w > w.txt" };
    if (prompt.startsWith("Your plan can't be used"))
      return prompt.includes('role "wizard" is unknown') ? plan({ done: false, phases: [{ name: "write", members: [member] }] }) : "no";
    rounds += 1;
    if (rounds === 1) return plan({ done: false, phases: [{ name: "write", members: [{ ...member, role: "wizard" }] }] });
    return prompt.includes("Changed: w.txt") ? plan({ done: true, reason: "it is written", phases: [] }) : "I don't know";
  };
  await runTeamJourney(player, async ({ skein }) => {
    const ran = await skein.run(["team", "run", "write w", ...model]);
    expect([ran.code, ran.out.includes("it is written")]).toEqual([0, true]);
    expect(events(teamIn(skein).log)).toContain("session_completed");
  });
  await runTeamJourney(
    () => "not JSON",
    async ({ skein }) => {
      const ran = await skein.run(["team", "run", "write w", ...model]);
      expect([ran.code, events(teamIn(skein).log).includes("plan_replaced")]).toEqual([0, true]);
    },
  );
}, 300_000);

test("a member that hangs is stopped by its role's idle limit, and one that is killed is tried again without harm to the others", async () => {
  const hastyRole = "---\nname: hasty\ndescription: writes code in a hurry\nidle: 6s\n---\nDo it.\n";
  const player: Player = ({ role, prompt }) => {
    if (role === "hasty") return { run: "sleep 300" };
    if (role === "again") return prompt.includes("stalled") ? { run: "echo better > hung.txt" } : "?";
    return { run: "echo fine > fine.txt" };
  };
  await runTeamJourney(player, async ({ skein }) => {
    mkdirSync(join(skein.project, ".skein/roles"), { recursive: true });
    writeFileSync(join(skein.project, ".skein/roles/hasty.md"), hastyRole);
    const program = join(skein.root, "dies");
    writeFileSync(
      program,
      "#!/bin/sh\n[ -e half.txt ] || { echo half > half.txt; kill -9 $$; }\ncat half.txt > whole.txt; echo recovered\n",
      { mode: 0o755 },
    );
    mkdirSync(join(skein.env["SKEIN_HOME"]!, "config"), { recursive: true });
    writeFileSync(join(skein.env["SKEIN_HOME"]!, "config/config.jsonc"), JSON.stringify({ agents: { dies: { command: program } } }));
    const agents = "hasty,engineer:dies,engineer";
    const ran = await skein.run(["team", "run", "go", "--agents", agents, "--strategy", "parallel", ...model]);
    expect([ran.code, ran.err.includes("skein: ")]).toEqual([0, false]);
    const { id, log } = teamIn(skein);
    const failed = the(log, "agent_failed").map(
      ({ agent, status, restarts }) => `${agent.replace(/_[0-9a-f]{8}$/, "")} ${status} ${restarts}`,
    );
    expect(failed.toSorted()).toEqual(["agent_engineer_1 killed true", "agent_hasty_1 stalled true"]);
    expect((await skein.run(["team", "merge", id, "--yes"])).code).toBe(0);
    const texts = ["hung.txt", "whole.txt", "fine.txt"].map((file) => readFileSync(join(skein.project, file), "utf8"));
    expect(texts).toEqual(["better\n", "half\n", "fine\n"]);
  });
}, 300_000);

test("a member's question to the user stops the team with exit 8, and resume continues with the answer", async () => {
  const askScript = { steps: [{ calls: [{ name: "ask_user", input: { question: "Which colour?" } }] }], final: "?" };
  const player: Player = ({ role }) => (role === "default" ? askScript : { run: "echo painted > wall.txt" });
  await runTeamJourney(player, async ({ skein, server }) => {
    const ran = await skein.run(["team", "run", "paint", "--agents", "default", ...model]);
    expect([ran.code, /Which colour\?\n +skein asks lists/.test(ran.err)]).toEqual([8, true]);
    const [ask] = JSON.parse((await skein.run(["asks", "--json"])).out) as { id: string }[];
    expect((await skein.run(["answer", ask!.id, "blue"])).code).toBe(0);
    const { id } = teamIn(skein);
    expect((await skein.run(["team", "resume", id, ...model])).code).toBe(0);
    expect((await skein.run(["team", "merge", id, "--yes"])).code).toBe(0);
    expect(readFileSync(join(skein.project, "wall.txt"), "utf8")).toBe("painted\n");
    expect(server.main().at(-1)?.text).toContain("blue");
  });
}, 300_000);

test("a member that floods the mail is stopped at its limit, still gets messages, and the log counts the refused ones", async () => {
  const flood = 2_000;
  const box = "$SKEIN_MESSAGE_DIR";
  const waitFor = (condition: string) => `until ${condition}; do sleep 0.05; done`;
  const player: Player = ({ role, instance }) => {
    if (role !== "engineer") return "read";
    if (instance === 2) return { run: `${waitFor(`[ -e "$SKEIN_SHARED_CONTEXT/shut" ]`)}; skein msg send --to engineer_1 "stop it"` };
    return {
      run: `i=0; while [ $i -lt ${flood} ]; do echo '{"to":"reviewer","body":"flood"}' > "${box}/outbox/m$i"; i=$((i+1)); done
${waitFor(`ls "${box}" | grep -q shut`)}; skein msg send --to all more; echo "exit $?" > code.txt; touch "$SKEIN_SHARED_CONTEXT/shut"
${waitFor(`grep -q "stop it" ${box}/inbox/*/* 2>/dev/null`)}`,
    };
  };
  await runTeamJourney(player, async ({ skein }) => {
    const ran = await skein.run(["team", "run", "flood", "--agents", "engineer,engineer,reviewer", ...model]);
    expect([ran.code, ran.code === 0 ? "" : ran.err]).toEqual([0, ""]);
    const { id, log } = teamIn(skein);
    const refused = the(log, "message_refused").map((each) => each.refused);
    expect(refused.map(({ count }) => count)).toEqual([undefined, flood - 201]);
    const sent = the(log, "message_sent").map(({ message }) => message.body);
    expect([sent.filter((body) => body === "flood").length, sent.filter((body) => body === "stop it").length]).toEqual([200, 1]);
    const status = await skein.run(["team", "status", id]);
    expect(status.out).toMatch(new RegExp(`refused from engineer-1: m\\d+ and ${flood - 202} more: it has sent 200 messages`));
    expect((await skein.run(["team", "merge", id, "--yes"])).code).toBe(0);
    expect(readFileSync(join(skein.project, "code.txt"), "utf8")).toBe("exit 2\n");
  });
}, 300_000);
