// The `skein team` commands with the real program: run, status, message, stop, resume, merge, clean, and their output.
import { expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, readFileSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import type { z } from "zod";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import { processStartTime } from "../../../src/kit/process/processes.ts";
import * as records from "../../../src/protocol/fixtures/printed-schemas.ts";
import { waitForNoProcesses } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, type RunResult } from "../../support/temporary-home.ts";
import { repositoryIn } from "../../support/team-journey.ts";

const model = ["-m", "anthropic/claude-sonnet-4-5"];

const waitThenWrite = 'while [ ! -e "$SKEIN_SHARED_CONTEXT/go" ]; do sleep 0.05; done; echo "export const made = 1;" > made.js';

const server = startModelServer(({ position: { prompt } }) => {
  if (prompt.includes("You are the architect")) {
    const command = 'echo plan > "$SKEIN_SHARED_CONTEXT/plan.md"; skein report artifact "$SKEIN_SHARED_CONTEXT/plan.md" "the plan"';
    return { steps: [{ calls: [{ input: { command } }] }], final: "designed" };
  }
  // The interrupted step has a result when the team resumes. The next step does the work.
  const step = { calls: [{ input: { command: `skein report status "writes made.js" --progress 0.5; ${waitThenWrite}` } }] };
  if (prompt.includes("You are the engineer") || prompt.includes("Your last attempt does not count"))
    return { steps: [step, step], final: "built" };
  return { steps: [], final: "looked" };
});

test("a team can be watched, messaged, stopped, resumed, merged and cleaned", { timeout: 300_000 }, async () => {
  using skein = temporaryHome(vendorEnv(server.url));
  rmSync(join(skein.project, ".git"), { recursive: true });
  writeFileSync(join(skein.project, "a.txt"), "hi\n");
  const init = "git init -q -b main && git add -A && git -c user.name=t -c user.email=t@t commit -qm first";
  expect(Bun.spawnSync(["sh", "-c", init], { cwd: skein.project }).exitCode).toBe(0);
  const team = async (...args: string[]): Promise<RunResult> => skein.run(["team", ...args]);
  const json = async <Schema extends z.ZodType>(schema: Schema, ...args: string[]): Promise<z.output<Schema>> =>
    schema.parse((await team(...args, "--json")).json());

  const running = skein.start(["team", "run", "-", "--name", "team-a", "--agents", "architect,engineer,reviewer", ...model], {
    stdin: "make it\n",
  });
  const lines = new Response(running.stderr).text();
  const until = async (isTrue: () => Promise<boolean>) => {
    while (!(await isTrue())) {
      if (running.exitCode !== null) throw new Error(`the team has ended: ${await lines}`);
      await Bun.sleep(50);
    }
  };
  await until(async () => (await team("status", "team-a")).out.includes("50 % writes made.js"));
  const [listed] = records.teamRow.array().parse((await team("list", "--json")).json());
  expect(listed).toMatchObject({
    name: "team-a",
    state: "running",
    objective: "make it\n",
    members: { total: 3, running: 1, completed: 1 },
  });
  expect(await json(records.teamPosted, "message", "--to", "engineer", "use strict mode")).toMatchObject({ when: "now", misses: [] });
  expect(await team("message", "--to", "architect", "too late")).toMatchObject({ code: 2 });
  expect((await team("clean", "team-a")).out).toContain("kept team-a: it is at work");
  expect(await team("merge", "team-a")).toMatchObject({ code: 2 });
  await until(async () => (await json(records.teamStatus, "status")).message_count > 0);

  expect((await team("stop")).out).toContain("stopped team team-a");
  expect(await running.exited).toBe(130);
  expect(await lines).toMatch(/phase 1 has ended[^]*person to engineer[^]*cancelled/);
  const stopped = await json(records.teamStatus, "status", "team-a");
  expect(stopped).toMatchObject({ state: "failed", run: { state: "ended", status: "cancelled" } });
  expect((await team("message", "--to", "engineer", "go on now")).err).toContain("when the team is resumed: skein team resume team-a");

  const shared = join(stopped.directory, "shared");
  expect(readFileSync(join(shared, "plan.md"), "utf8")).toBe("plan\n");
  writeFileSync(join(shared, "go"), "");
  expect(await team("resume", "team-a", "--output-format", "json")).toMatchObject({ code: 0 });
  const done = await json(records.teamStatus, "status", "team-a");
  const [design, build, review] = done.phases.map(({ members: [member] }) => member!);
  expect([design, build, review].map((member) => [member?.state, member?.tries])).toEqual([
    ["completed", 1],
    ["completed", 2],
    ["completed", 1],
  ]);
  expect(design?.artifacts).toEqual([{ path: join(shared, "plan.md"), description: "the plan" }]);
  expect(done).toMatchObject({ state: "completed", merge: "open", messages: [{ from: "person" }, { from: "person" }] });
  const requestTexts = server.requests.map(({ body }) => JSON.stringify(body)).join("\n");
  expect(["use strict mode", "go on now"].filter((message) => !requestTexts.includes(message))).toEqual([]);

  expect((await team("status", "team-a")).out).toMatch(
    /created .*plan\.md: the plan[^]*phase 2: engineer[^]*engineer-2 completed · engineer · native · try 2/,
  );
  for (const verb of ["show", "logs", "export"]) expect((await skein.run([verb, "team-a"])).out).toContain("the team has finished");
  expect(await team("message", "--to", "all", "x")).toMatchObject({ code: 2 });

  const preview = await team("merge");
  expect(preview.out).toContain("+export const made = 1;");
  expect([preview.code, preview.err, existsSync(join(skein.project, "made.js"))]).toEqual([0, expect.stringContaining("add --yes"), false]);
  expect(await team("clean", "team-a")).toMatchObject({ code: 1, out: expect.stringContaining("its work is not in the project yet") });
  expect(await json(records.teamMerge, "merge", "--yes")).toMatchObject({ merged: true, changes: [{ path: "made.js", kind: "added" }] });
  expect(existsSync(join(skein.project, "made.js"))).toBe(true);
  expect((await json(records.teamCleaned, "clean", "--older-than", "0", "--dry-run")).teams).toMatchObject([{ name: "team-a" }]);
  expect((await json(records.teamCleaned, "clean", "team-a")).teams).toMatchObject([{ name: "team-a", directory: stopped.directory }]);
  expect(existsSync(stopped.directory)).toBe(false);
  expect(await team("resume")).toMatchObject({ code: 2, err: expect.stringContaining("was cleaned") });
  expect((await json(records.teamStatus, "status")).is_kept).toBe(false);
  expect((await team("list-roles")).out).toBe((await skein.run(["roles"])).out);
  expect(await waitForNoProcesses(skein.root)).toEqual([]);
  await server.stop();
});

test("clean removes the directory of a purged team, but not unmerged work and not a team that is running", async () => {
  const writer = startModelServer(() => ({ steps: [{ calls: [{ input: { command: "echo made > made.txt" } }] }], final: "built" }));
  using skein = temporaryHome(vendorEnv(writer.url));
  repositoryIn(skein.project);
  const teams = join(skein.project, ".skein/teams");
  const clean = async (...args: string[]) => skein.run(["team", "clean", ...args]);
  expect(await skein.run(["team", "run", "make it", "--name", "team-a", "--agents", "engineer", ...model])).toMatchObject({ code: 0 });
  const [team] = records.teamRow.array().parse((await skein.run(["team", "list", "--json"])).json());
  const name = team!.session_id.slice(-8);
  expect((await clean("--older-than", "0")).out).toBe("kept team-a: its work is not in the project yet; --force removes it\n");
  expect((await skein.run(["delete", "team-a"])).code).toBe(0);
  expect((await skein.run(["purge", "team-a"])).code).toBe(0);

  expect((await clean()).out).toBe("nothing to clean\n");
  expect(await clean(name)).toMatchObject({ code: 1, out: `kept ${name}: its work is not in the project yet; --force removes it\n` });
  const leaderFile = join(teams, name, "led-by.json");
  writeFileSync(leaderFile, JSON.stringify({ pid: process.pid, started: processStartTime(process.pid) }));
  expect((await clean("--older-than", "0", "--force")).out).toBe(`kept ${name}: it is at work\n`);
  rmSync(leaderFile);
  // A team that had not started, one whose log is invalid, and a symlink that came with the repository.
  mkdirSync(join(teams, "0000000a"));
  mkdirSync(join(teams, "0000000b"));
  writeFileSync(join(teams, "0000000b/session.log"), '{"event": "agent_spawned"}\n');
  symlinkSync(skein.project, join(teams, "0000000c"));
  const report = records.teamCleaned.parse((await clean("--older-than", "0", "--json")).json());
  expect(report).toMatchObject({ teams: [{ id: "0000000a", is_purged: true }], problems: [] });
  expect(report.skipped.map(({ reason }) => reason).toSorted()).toEqual([
    "its log can't be read, so unmerged work is unknown; --force removes it",
    "its work is not in the project yet; --force removes it",
  ]);
  expect(await clean(name, "--force")).toMatchObject({ code: 0, out: `removed ${name} (its session was purged)  ${join(teams, name)}\n` });
  expect(await clean(name)).toMatchObject({ code: 2, err: expect.stringContaining(`there is no session "${name}"`) });
  expect(readdirSync(teams).toSorted()).toEqual([".gitignore", "0000000b", "0000000c"]);
  expect(existsSync(join(skein.project, "index.js"))).toBe(true);
  await writer.stop();
});
