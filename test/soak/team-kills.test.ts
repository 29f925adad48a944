// Kills or stops a team again and again. The resumed team must do the missing work, and nothing twice.
import { expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { randomOf } from "../../src/tui/fixtures/random.ts";
import type { TeamEvent } from "../../src/protocol/team/team.ts";
import { events, countNonEmpty, git, model, runTeamJourney, teamIn, the, type Player } from "../support/team-journey.ts";

const kills = 5;

/** Every member does its part, also after an interruption. */
const player: Player = () => ({
  run: 'case $SKEIN_AGENT_ROLE in engineer) echo $SKEIN_AGENT_ID > part$SKEIN_AGENT_INSTANCE.txt;; reviewer) cat part1.txt part2.txt;; esac; skein msg send --to all "I was here"',
});

test("after five random kills every member completes once, no phase runs twice, and no work is missing", async () => {
  const random = randomOf(20_261_116);
  await runTeamJourney(player, async ({ skein }) => {
    const folder = join(skein.project, ".skein/teams");
    const logs = () => (existsSync(folder) ? readdirSync(folder).map((team) => join(folder, team, "session.log")) : []);
    const lines = () => logs().reduce((sum, path) => sum + (existsSync(path) ? readFileSync(path, "utf8").split("\n").length - 1 : 0), 0);
    let child = skein.start(["team", "run", "two parts", "--agents", "architect,engineer,engineer,reviewer", ...model]);
    for (let killed = 0; killed < kills; killed++) {
      const until = lines() + 1 + random() * 5;
      while (lines() < until && child.exitCode === null) await Bun.sleep(2);
      await Bun.sleep(random() * 60);
      child.kill("SIGKILL");
      await child.exited;
      child = skein.start(["team", "resume", teamIn(skein).id, ...model]);
    }
    const [err, code] = await Promise.all([new Response(child.stderr).text(), child.exited]);
    expect([code, /skein: .*/.exec(err)?.[0]]).toEqual([0, undefined]);
    const { id, log } = teamIn(skein);
    const { nodes } = (await skein.run(["show", id, "--json"])).json() as { nodes: { happened?: TeamEvent }[] };
    expect(events(log)).toEqual(nodes.flatMap(({ happened }) => happened?.event ?? []));
    const ends = log.filter(({ event }) => event === "agent_started" || event === "agent_completed") as { event: string; agent: string }[];
    const last = new Map(ends.map(({ agent, event }) => [agent, event]));
    expect([...last.values()]).toEqual(Array(4).fill("agent_completed"));
    expect(
      the(log, "agent_completed")
        .map(({ agent }) => agent)
        .toSorted(),
    ).toEqual(
      the(log, "agent_spawned")
        .map(({ member }) => member.id)
        .toSorted(),
    );
    expect(the(log, "phase_planned").map(({ phase }) => phase)).toEqual([0, 1, 2]);
    expect(the(log, "checkpoint").map(({ phase }) => phase)).toEqual([0, 1, 2]);
    const merged = await skein.run(["team", "merge", id, "--yes"]);
    expect([merged.code, git(skein.project, "status", "--porcelain")]).toEqual([0, "?? part1.txt\n?? part2.txt"]);
    expect((await skein.run(["verify"])).code).toBe(0);
  });
}, 300_000);

test("Ctrl-C stops all members, and the work of each member so far is committed", async () => {
  const halves: Player = () => ({ run: "echo half > half.txt; sleep 300" });
  await runTeamJourney(halves, async ({ skein }) => {
    const child = skein.start(["team", "run", "two halves", "--agents", "engineer,engineer,reviewer", ...model]);
    while (countNonEmpty(".skein/teams/*/work/*/half.txt", skein.project) < 2) await Bun.sleep(20);
    child.kill("SIGINT");
    expect(await child.exited).toBe(130);
    const { root, log } = teamIn(skein);
    const failed = the(log, "agent_failed");
    expect(failed.map(({ status, restarts }) => [status, restarts])).toEqual([
      ["cancelled", false],
      ["cancelled", false],
    ]);
    const texts = failed.map(({ commit }) => git(skein.project, "--git-dir", join(root, "repo.git"), "show", `${commit}:half.txt`));
    expect([texts, log.at(-1)?.event]).toEqual([["half", "half"], "session_failed"]);
  });
}, 300_000);

test("of two processes that resume one team, one continues and the other names it; no member works and no work is merged twice", async () => {
  const roles: string[] = [];
  const waiting: Player = ({ role }) => {
    roles.push(role);
    if (role === "architect") return { run: "true" };
    return {
      run: 'echo here >> "$SKEIN_SHARED_CONTEXT/started"; while [ ! -e "$SKEIN_SHARED_CONTEXT/go" ]; do sleep 0.05; done; echo $SKEIN_AGENT_ID >> part.txt',
    };
  };
  await runTeamJourney(waiting, async ({ skein }) => {
    const started = new Bun.Glob(".skein/teams/*/shared/started");
    const startCount = () =>
      [...started.scanSync({ cwd: skein.project, dot: true, absolute: true })].flatMap(
        (path) => readFileSync(path, "utf8").match(/here/g) ?? [],
      ).length;
    const first = skein.start(["team", "run", "one part", "--name", "builders", "--agents", "architect,engineer", ...model]);
    while (startCount() < 1) await Bun.sleep(20);
    first.kill("SIGKILL");
    await first.exited;
    const both = [0, 1].map(() => skein.start(["team", "resume", "builders", "--merge", ...model]));
    const ends = both.map(async (child) => ({ child, code: await child.exited, err: await new Response(child.stderr).text() }));
    const loser = await Promise.race(ends);
    const winner = both.find((child) => child !== loser.child)!;
    expect([loser.code, loser.err]).toEqual([
      1,
      expect.stringMatching(
        new RegExp(
          `^skein: session builders is in use by process ${winner.pid} since \\S+\n       skein team status builders .*skein team stop builders stops it\n$`,
        ),
      ),
    ]);
    const detached = await skein.run(["team", "resume", "builders", "--detach", ...model]);
    expect([detached.code, detached.err]).toEqual([1, loser.err]);
    await skein.run(["hub", "stop"]);
    while (startCount() < 2) await Bun.sleep(20);
    const { root } = teamIn(skein);
    writeFileSync(join(root, "shared/go"), "");
    const ended = await ends[both.indexOf(winner)]!;
    expect([ended.code, ended.err]).toEqual([0, expect.stringContaining("the team's work is in the project")]);
    const { log } = teamIn(skein);
    expect(the(log, "agent_started").map(({ agent, attempt }) => [agent.split("_")[1], attempt])).toEqual([
      ["architect", 1],
      ["engineer", 1],
      ["engineer", 2],
    ]);
    expect([the(log, "agent_completed").length, the(log, "checkpoint").length, the(log, "work_merged").length]).toEqual([2, 2, 1]);
    expect([roles.filter((role) => role === "architect").length, startCount()]).toEqual([2, 2]);
    expect(readFileSync(join(skein.project, "part.txt"), "utf8").match(/agent_/g)).toHaveLength(1);
    const merges = await Promise.all([0, 1].map(() => skein.run(["team", "merge", "builders", "--yes"])));
    expect(merges.flatMap(({ code, err }) => [code, err])).toEqual([0, 1].flatMap(() => [0, "the project already has all changes\n"]));
    expect((await skein.run(["verify"])).code).toBe(0);
  });
}, 300_000);

test("a member whose end was not recorded before a kill does not run again, and its work counts", async () => {
  const roles: string[] = [];
  const once: Player = ({ role }) => {
    roles.push(role);
    return { run: "echo done > part.txt", say: "the part is there" };
  };
  await runTeamJourney(once, async ({ skein }) => {
    const shared = "$SKEIN_SHARED_CONTEXT";
    const command = `echo checked >> "${shared}/checks"; until [ -e "${shared}/go" ]; do sleep 0.05; done; test -s part.txt`;
    const member = { key: "part", role: "engineer", task: "the part", validation: [{ kind: "command", command }] };
    const plan = join(skein.root, "plan.json");
    writeFileSync(plan, JSON.stringify({ phases: [{ name: "one", goal: "", members: [member] }] }));
    const child = skein.start(["team", "run", "one part", "--phases", plan, ...model]);
    const checks = new Bun.Glob(".skein/teams/*/shared/checks");
    while ([...checks.scanSync({ cwd: skein.project, dot: true })].length === 0) await Bun.sleep(20);
    child.kill("SIGKILL");
    await child.exited;
    const { id, root } = teamIn(skein);
    writeFileSync(join(root, "shared/go"), "");
    const again = await skein.run(["team", "resume", id, "--merge", ...model]);
    expect([again.code, roles]).toEqual([0, ["engineer", "engineer"]]); // two requests of one turn
    const { log } = teamIn(skein);
    expect(the(log, "agent_started")).toHaveLength(1);
    expect(the(log, "agent_completed")).toMatchObject([{ attempt: 1, status: "ok", answer: "the part is there", unmet: [] }]);
    expect(the(log, "agent_completed")[0]?.costUsd).toBeGreaterThan(0);
    expect([readFileSync(join(root, "shared/checks"), "utf8"), readFileSync(join(skein.project, "part.txt"), "utf8")]).toEqual([
      "checked\nchecked\n",
      "done\n",
    ]);
  });
}, 300_000);
