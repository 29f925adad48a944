// Races with the real program: a real repository, scripted models in the real sandbox, worktrees, a check, and adoption.
import { expect, test } from "bun:test";
import { existsSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { git } from "../../support/team-journey.ts";
import { both, claude, gpt, hasFile, raceOf, requestsOf, runRaceJourney, showRace } from "../../support/race-journey.ts";

const bothPass = {
  claude: { run: "printf 'one\\ntwo\\nthree\\n' > result.txt; echo more > extra.txt", say: "claude wrote three lines" },
  gpt: { run: "echo one > result.txt", say: "gpt wrote one line" },
};

test("both agents work in worktrees, the one that changed least is proposed, and adopt merges it and grafts the other", async () => {
  await runRaceJourney(bothPass, async ({ skein }) => {
    const ran = await skein.run(["race", "write result.txt", ...both, "--check", "test -s result.txt"]);
    expect([ran.code, ran.err]).toEqual([0, expect.stringContaining("native-2 ended: passed")]);
    expect(ran.out).toMatch(/^AGENT +STATE +CHECK +FILES +LINES +TOKENS +COST +TIME +SESSION/m);
    expect(ran.out).toMatch(/native-2:openai\/gpt-5\.2 +ok +passed +1 +\+1 -0 .*proposed/);
    const race = await showRace(skein);
    expect(race).toMatchObject({ state: "ended", status: "ok", proposed: "native-2", adopted: null });
    expect(race.racers.map(({ files, added }) => [files?.length, added])).toEqual([
      [2, 4],
      [1, 1],
    ]);
    expect(new Set(race.racers.map(({ directory }) => directory)).size).toBe(2);
    expect(race.racers.every(({ directory }) => directory !== skein.project && hasFile(directory, "result.txt"))).toBe(true);
    expect(git(skein.project, "status", "--porcelain")).toBe("");

    const adopted = await skein.run(["race", "adopt", "native-2"]);
    expect([adopted.code, adopted.out]).toEqual([0, expect.stringContaining("result.txt")]);
    expect(adopted.err).toContain("1 file changed in the project, 1 conclusion grafted");
    expect(readFileSync(join(skein.project, "result.txt"), "utf8")).toBe("one\n");
    expect(existsSync(join(skein.project, "extra.txt"))).toBe(false);
    expect((await showRace(skein)).adopted).toMatchObject({ files: 1 });
    const again = await skein.run(["race", "adopt", "native-1"]);
    expect([again.code, again.err]).toEqual([2, expect.stringContaining("native-2 was already adopted")]);

    const unknown = await skein.run(["race", "adopt", "codex"]);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining("the latest race had native-1, native-2")]);

    const listed = await skein.run(["race", "list", "--json"]);
    expect(listed.json()).toMatchObject([{ agents: ["native-1", "native-2"], passed: 2, adopted: "native-2" }]);
    const context = await skein.run(["context", "--json"]);
    expect(context.out).toContain("claude wrote three lines");
    expect((await skein.run(["verify"])).code).toBe(0);
  });
}, 300_000);

test("a race from a session forks its last node, and adopt moves that session to the adopted branch", async () => {
  await runRaceJourney(bothPass, async ({ skein }) => {
    expect((await skein.run(["run", "look around", "--session", "main", "-m", claude, "--tool-level", "none"])).code).toBe(0);
    const before = (await skein.run(["list", "--json"])).json() as unknown as { name: string; tip: string }[];
    const base = before.find(({ name }) => name === "main")!.tip;
    const ran = await skein.run(["race", "write result.txt", ...both, "--session", "main", "--name", "duel", "--json"]);
    const race = raceOf(ran.json());
    expect(race).toMatchObject({ name: "duel", base, proposed: null, status: "ok" });
    const compared = (await skein.run(["diff", ...race.racers.map(({ sessionId }) => sessionId), "--json"])).json();
    expect(compared["fork"]).toMatchObject({ id: base });
    const adopted = (await skein.run(["race", "adopt", race.racers[0]!.sessionId, "--json"])).json();
    expect(adopted).toMatchObject({ adopted: true, grafted: [race.racers[1]!.sessionId], files: 2, conflicts: [] });
    const main = await skein.run(["show", "main"]);
    expect(main.out).toContain("Grafted from the branch");
    const next = await skein.run(["run", "go on", "-c", "--tool-level", "none", "-m", claude]);
    expect(next.err).toContain("session main");
  });
}, 300_000);

test("with --adopt-first-passing the others are stopped and the first passing agent is adopted", async () => {
  const scripts = { ...bothPass, claude: { run: "sleep 300", say: "never" } };
  await runRaceJourney(scripts, async ({ skein }) => {
    const ran = await skein.run(["race", "write", ...both, "--check", "test -s result.txt", "--adopt-first-passing", "--json"]);
    expect(ran.code).toBe(0);
    const race = raceOf(ran.json());
    expect(race.racers.map(({ status, error }) => [status, error])).toEqual([
      ["cancelled", "native-2 passed first"],
      ["ok", null],
    ]);
    expect(race.adopted).toMatchObject({ session: race.racers[1]!.sessionId, files: 1 });
    expect(readFileSync(join(skein.project, "result.txt"), "utf8")).toBe("one\n");
  });
}, 300_000);

test("a race with a failed check exits with 10, and one that can't adopt without a check is refused", async () => {
  await runRaceJourney(bothPass, async ({ skein, server }) => {
    const unknown = await skein.run(["race", "write", ...both, "--role", "nobody"]);
    expect([unknown.code, unknown.err]).toEqual([2, expect.stringContaining('no role "nobody"')]);
    const failed = await skein.run(["race", "write", ...both, "--check", "exit 3", "--role", "qa"]);
    expect(server.main().every(({ text }) => text.includes("You are quality assurance"))).toBe(true);
    expect([failed.code, failed.err]).toEqual([10, expect.stringContaining("no agent passed the check")]);
    expect((await showRace(skein)).racers.map(({ check }) => check?.exitCode)).toEqual([3, 3]);
    const refused = await skein.run(["race", "write", ...both, "--adopt-first-passing"]);
    expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("needs a check")]);
  });
}, 300_000);

test("after kill -9 no worktree is lost, ended agents stay, and resume continues the interrupted ones", async () => {
  const script = {
    claude: { run: "echo one > result.txt; test -e /tmp/never", say: "claude is done" },
    gpt: { steps: [{ calls: [{ input: { command: "echo begun > begun.txt" } }] }, { delayMs: 600_000 }], final: "too late" },
  };
  await runRaceJourney(script, async ({ skein, server }) => {
    const started = skein.start(["race", "write result.txt", ...both, "--check", "true"]);
    const drained = Promise.all([new Response(started.stdout).text(), new Response(started.stderr).text()]);
    const isHalfDone = async (): Promise<boolean> => {
      const shown = await skein.run(["race", "show", "--json"]);
      if (shown.code !== 0) return false;
      const { racers } = raceOf(shown.json());
      return racers[0]?.state === "ended" && hasFile(racers[1]?.directory ?? null, "begun.txt");
    };
    while (!(await isHalfDone())) await Bun.sleep(100);
    started.kill("SIGKILL");
    await Promise.all([started.exited, drained]);
    const interrupted = await showRace(skein);
    expect([interrupted.state, ...interrupted.racers.map(({ state }) => state)]).toEqual(["interrupted", "ended", "interrupted"]);
    expect(interrupted.racers.map(({ directory }) => hasFile(directory, "start.txt"))).toEqual([true, true]);
    const requests = requestsOf(server, "claude");
    server.setScript({ steps: [], final: "gpt continued" });
    const resumed = await skein.run(["race", "--resume"]);
    expect([resumed.code, resumed.err]).toEqual([0, expect.stringContaining("native-2 ended: passed")]);
    expect(requestsOf(server, "claude")).toBe(requests);
    const race = await showRace(skein);
    expect(race.racers.map(({ state, status }) => [state, status])).toEqual([
      ["ended", "ok"],
      ["ended", "ok"],
    ]);
    expect(race.racers.map(({ directory }) => directory)).toEqual(interrupted.racers.map(({ directory }) => directory));
    expect(hasFile(race.racers[1]!.directory, "begun.txt")).toBe(true);
    const over = await skein.run(["race", "resume"]);
    expect([over.code, over.err]).toEqual([2, expect.stringContaining("all agents of this race have ended")]);
  });
}, 300_000);

test("a conflict with the project adopts nothing and is listed", async () => {
  await runRaceJourney(bothPass, async ({ skein }) => {
    expect((await skein.run(["race", "write", ...both])).code).toBe(0);
    writeFileSync(join(skein.project, "result.txt"), "mine\n");
    const refused = await skein.run(["race", "adopt", "native-1"]);
    expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("conflict result.txt")]);
    expect(refused.err).toContain("nothing was adopted");
    expect(readFileSync(join(skein.project, "result.txt"), "utf8")).toBe("mine\n");
    expect((await showRace(skein)).adopted).toBe(null);
    rmSync(join(skein.project, "result.txt"));
    expect((await skein.run(["race", "adopt", "native-1"])).code).toBe(0);
  });
}, 300_000);

test("an unknown agent is refused before anything starts, and an agent that is not installed does not stop the others", async () => {
  await runRaceJourney(bothPass, async ({ skein, server }) => {
    const unknown = await skein.run(["race", "write", "-a", `native:${gpt},nobody`]);
    expect([unknown.code, unknown.err]).toEqual([3, expect.stringContaining('no agent or model "nobody"')]);
    expect([server.main().length, (await skein.run(["race", "list"])).out]).toEqual([0, expect.stringContaining("no races yet")]);
    const path = { PATH: `${process.execPath.replace(/\/[^/]+$/, "")}:/usr/bin:/bin` };
    const ran = await skein.run(["race", "write", "-a", `opencode,native:${gpt}`, "--json"], { env: path });
    expect(ran.code).toBe(0);
    expect(raceOf(ran.json()).racers.map(({ status }) => status)).toEqual(["not-installed", "ok"]);
    const none = await skein.run(["race", "write", "-a", "opencode", "--json"], { env: path });
    expect([none.code, raceOf(none.json()).status]).toEqual([3, "not-installed"]);
  });
}, 300_000);

test("all agents share one budget, and a race that used it up continues with more", async () => {
  const work = { run: "echo one > result.txt", say: "done" };
  await runRaceJourney({ claude: work, gpt: work }, async ({ skein }) => {
    const ran = await skein.run(["race", "write", ...both, "--max-tokens", "1300", "--json"]);
    const race = raceOf(ran.json());
    expect([ran.code === 7 || ran.code === 0, race.tokens < 6_000]).toEqual([true, true]);
    expect(race.racers.some(({ state }) => state === "interrupted")).toBe(true);
    const resumed = await skein.run(["race", "resume", "--json"]);
    expect([resumed.code, raceOf(resumed.json()).state]).toEqual([0, "ended"]);
  });
}, 300_000);

test("a project without a repository, or without a commit, can race: the worktrees begin with its files", async () => {
  await runRaceJourney(bothPass, async ({ skein }) => {
    rmSync(join(skein.project, ".git"), { recursive: true });
    for (const prepare of [() => {}, () => git(skein.project, "init", "-q", "-b", "main")]) {
      prepare();
      const ran = await skein.run(["race", "write", ...both, "--json"]);
      const { racers } = raceOf(ran.json());
      expect([ran.code, racers.map(({ directory }) => hasFile(directory, "start.txt"))]).toEqual([0, [true, true]]);
      expect([hasFile(skein.project, "result.txt"), (await skein.run(["race", "adopt", "native-2"])).code]).toEqual([false, 0]);
      rmSync(join(skein.project, "result.txt"));
    }
  });
}, 300_000);

test("ps shows a running race with its agents, and kill stops all of them", async () => {
  const slow = { steps: [{ calls: [{ input: { command: "echo begun > begun.txt" } }] }, { delayMs: 600_000 }], final: "too late" };
  await runRaceJourney({ claude: slow, gpt: slow }, async ({ skein }) => {
    const started = skein.start(["race", "wait", ...both, "--name", "slow"]);
    const drained = Promise.all([new Response(started.stdout).text(), new Response(started.stderr).text()]);
    const agents = async () =>
      ((await skein.run(["ps", "--json"])).json() as unknown as { turn: { agent: string } }[]).map(({ turn }) => turn.agent);
    while ((await agents()).length < 3) await Bun.sleep(100);
    expect((await agents()).toSorted()).toEqual(["native", "native", "race"]);
    expect((await skein.run(["ps"])).out).toContain("race: wait");
    expect((await skein.run(["kill", "slow"])).code).toBe(0);
    expect([await started.exited, (await drained)[0]]).toEqual([130, expect.stringContaining("interrupted")]);
    expect((await showRace(skein)).state).toBe("interrupted");
  });
}, 300_000);
