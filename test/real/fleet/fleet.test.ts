// The path of a newcomer, with real processes and Debian's Postgres: a person's machine, two workers and a third machine that
// only watches. All of them are homes of one machine here. The first worker is killed in the middle of a command.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { existsSync, readdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { pollUntil } from "../../../src/kit/flow/sleep.ts";
import type { FleetStatus } from "../../../src/protocol/fleet/fleet-commands.ts";
import { startRemoteModelServer, type RemoteModelServer } from "../../support/model-server-control.ts";
import { temporaryHome, vendorEnv, type TemporaryHome } from "../../support/temporary-home.ts";
import { startPostgres, type TemporaryPostgres } from "../../support/temporary-postgres.ts";

let server: TemporaryPostgres;
let model: RemoteModelServer;
let homes: { person: TemporaryHome; first: TemporaryHome; second: TemporaryHome; third: TemporaryHome };

beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
  model = await startRemoteModelServer({ steps: [], final: "all done" });
  const url = await server.createDatabase();
  const home = async (env: Record<string, string> = {}) => {
    const created = temporaryHome({ FLEET_URL: url, USER: "ann", ...env });
    await created.run(["config", "set", "fleet.url", "$FLEET_URL"]);
    return created;
  };
  const keys = vendorEnv(model.url);
  homes = { person: await home(), first: await home(keys), second: await home(keys), third: await home() };
}, 60_000);

afterAll(async () => {
  for (const home of Object.values(homes)) home[Symbol.dispose]();
  await model.stop();
  await server.remove();
}, 60_000);

type Printed = Pick<FleetStatus, "workers"> & { runs: { session: string; state: string; attempts: number; why: string | null }[] };

async function status(...flags: string[]): Promise<Printed> {
  return (await homes.third.run(["fleet", "status", "--json", ...flags])).json() as unknown as Printed;
}

const git = (directory: string, ...args: string[]): string =>
  Bun.spawnSync(["git", "-c", "user.name=a", "-c", "user.email=a@b", ...args], { cwd: directory }).stdout.toString();

async function waitUntil(what: string, condition: () => Promise<boolean>): Promise<void> {
  if (!(await pollUntil(60_000, condition))) throw new Error(`did not happen: ${what}`);
}

const shell = (command: string) => ({ calls: [{ input: { command } }] });

test("a run survives the death of its worker, is watched from a third machine and comes back as a commit", async () => {
  const { person, first, second, third } = homes;
  const refused = await third.run(["fleet", "status"]);
  expect([refused.code, refused.err]).toEqual([3, expect.stringContaining("skein fleet setup")]);
  expect((await person.run(["fleet", "setup"])).code).toBe(0);
  expect((await person.run(["fleet", "setup"])).out).toContain("is up to date");

  writeFileSync(join(person.project, "a.txt"), "hello\n");
  writeFileSync(join(person.project, ".gitignore"), "ignored\n");
  writeFileSync(join(person.project, "ignored"), "stays\n");
  git(person.project, "init", "-q");
  git(person.project, "add", "-A");
  git(person.project, "commit", "-qm", "first");
  writeFileSync(join(person.project, "a.txt"), "changed by the person\n");
  const before = { index: readFileSync(join(person.project, ".git", "index")), refs: git(person.project, "for-each-ref") };

  await model.setScript({
    steps: [shell("cat a.txt; ls; echo one > one.txt"), shell("touch started; while [ ! -e stop ]; do sleep 0.2; done"), shell("ls")],
    final: "all done",
  });
  const killed = first.start(["worker", "start"]);
  const running = person.run(["run", "--fleet", "make some files", "-m", "anthropic/claude-sonnet-4-5"]);
  const workspaces = join(first.env["SKEIN_HOME"]!, "data-workspaces");
  const isStarted = async () => existsSync(workspaces) && readdirSync(workspaces).some((id) => existsSync(join(workspaces, id, "started")));
  await waitUntil("the second command starts", isStarted);
  const session = (await status()).runs[0]!.session;
  const watching = third.run(["logs", "-f", "--json", session]);
  expect((await third.run(["ps"])).out).toContain("make some files");
  const other = second.start(["worker", "start", "--slots", "1"]);
  await waitUntil("the second worker is there", async () => (await status()).workers.length === 2);
  killed.kill("SIGKILL");

  const result = await running;
  expect([result.code, result.out]).toEqual([0, "all done\n"]);
  const { runs } = await status("--all");
  expect(runs).toEqual([expect.objectContaining({ session, state: "done", attempts: 2, why: null })]);
  const events = (await watching).lines() as { type: string }[];
  expect(events.filter(({ type }) => type === "turn.ended")).toHaveLength(2);
  const requests = JSON.stringify(await model.requests());
  expect(requests).toContain("changed by the person");
  expect(requests).toContain("skein was killed while this call was running");
  expect(requests).not.toContain("ignored\\n");

  const pulled = (await person.run(["fleet", "pull", session, "--json"])).json();
  expect(pulled).toMatchObject({ files: 1, ref: `refs/skein/${session}` });
  expect(git(person.project, "show", `${String(pulled["commit"])}:one.txt`)).toBe("one\n");
  expect(git(person.project, "show", `${String(pulled["commit"])}~1:a.txt`)).toBe("changed by the person\n");
  expect(git(person.project, "merge-base", "HEAD", String(pulled["commit"]))).toBe(git(person.project, "rev-parse", "HEAD"));
  expect(readFileSync(join(person.project, ".git", "index"))).toEqual(before.index);
  expect(git(person.project, "for-each-ref").replace(/^.*refs\/skein\/.*\n/m, "")).toBe(before.refs);
  expect(readFileSync(join(person.project, "ignored"), "utf8")).toBe("stays\n");

  await model.setScript({ steps: [], final: "continued" });
  const continued = await person.run(["run", "--fleet", "--resume", session, "and now?"]);
  expect([continued.code, continued.out]).toEqual([0, "continued\n"]);
  expect(continued.err).toContain("continues with the files of its last run");
  expect((await person.run(["fleet", "pull", session, "--json"])).json()).toMatchObject({ files: 1 });

  other.kill("SIGTERM");
  expect(await other.exited).toBe(0);
  expect((await status()).workers.filter(({ slots }) => slots === 1)).toEqual([]);
}, 180_000);

test("a run whose last changes were not stored continues, and the model is warned that they are missing", async () => {
  const { person, first, second } = homes;
  const wait = "touch begun; while [ ! -e stop ]; do sleep 0.2; done";
  await model.clear();
  await model.setScript({ steps: [shell("echo one > one.txt"), shell(wait), shell("ls")], final: "all done" });
  const killed = first.start(["worker", "start"]);
  const words = ["run", "--fleet", "--detach", "make files", "-m", "anthropic/claude-sonnet-4-5", "--json"];
  const session = String((await person.run(words)).json()["session_id"]);
  const begun = join(first.env["SKEIN_HOME"]!, "data-workspaces", session, "begun");
  await waitUntil("the second command starts", async () => existsSync(begun));
  killed.kill("SIGKILL");
  await killed.exited;
  await using sql = server.connect("d1");
  await sql.unsafe("delete from skein.packs where session = $1 and n > 1", [session]);
  await model.setScript({ steps: [], final: "all done" });
  const other = second.start(["worker", "start"]);
  const isOver = async () =>
    (await status("--all")).runs.some((run) => run.session === session && !["waiting", "running"].includes(run.state));
  await waitUntil("the run ends", isOver);
  const run = (await status("--all")).runs.find((entry) => entry.session === session);
  expect(run).toMatchObject({ state: "done", attempts: 2, why: null });
  expect(JSON.stringify((await model.requests()).at(-1))).toContain("Changes of your latest calls are missing");
  other.kill("SIGTERM");
  await other.exited;
}, 180_000);

test("a session that is purged leaves no file, run or text of its own in the database", async () => {
  const { person, third } = homes;
  await model.setScript({ steps: [shell("echo canary-of-the-purge > purged.txt")], final: "done" });
  const worker = homes.second.start(["worker", "start"]);
  const sent = (await person.run(["run", "--fleet", "canary-of-the-purge", "-m", "anthropic/claude-sonnet-4-5", "--json"])).json();
  worker.kill("SIGTERM");
  await worker.exited;
  const session = String(sent["session_id"]);
  const count = async () => {
    await using sql = server.connect("d1");
    const [row] = await sql.unsafe(`select (select count(*) from skein.packs where session = '${session}')::int as packs,
      (select count(*) from skein.runs where session = '${session}')::int as runs`);
    return row as { packs: number; runs: number };
  };
  expect(await count()).toEqual({ packs: 2, runs: 1 });
  expect((await third.run(["delete", session])).code).toBe(0);
  const purged = await third.run(["purge", session]);
  expect([purged.code, purged.err]).toEqual([0, ""]);
  expect(await count()).toEqual({ packs: 0, runs: 0 });
  const dump = Bun.spawnSync(["/bin/sh", "-c", `/usr/lib/postgresql/*/bin/pg_dump ${third.env["FLEET_URL"]}`]).stdout.toString();
  expect(dump).not.toContain("canary-of-the-purge");
}, 180_000);

test("a race and a team run on one worker, and their work comes back as commits", async () => {
  const { person, second } = homes;
  const worker = second.start(["worker", "start"]);
  await model.setScript({ steps: [shell("echo raced > raced.txt")], final: "done" });
  const agents = ["-a", "native:anthropic/claude-sonnet-4-5,native:openai/gpt-5.2"];
  const refused = await person.run(["race", "write raced.txt", ...agents, "--fleet", "--check", "test -s raced.txt"]);
  expect([refused.code, refused.err]).toEqual([2, expect.stringContaining("--adopt-first-passing")]);
  const check = ["--check", "test -s raced.txt", "--adopt-first-passing"];
  const race = await person.run(["race", "write raced.txt", ...agents, "--fleet", ...check, "--json"]);
  expect([race.code, race.err]).toEqual([0, ""]);
  const raced = race.json() as { session_id?: string; id?: string; adopted: unknown };
  expect(raced.adopted).not.toBeNull();
  const raceSession = (await status("--all")).runs[0]!.session;
  const pulledRace = (await person.run(["fleet", "pull", raceSession, "--json"])).json();
  expect(git(person.project, "show", `${String(pulledRace["commit"])}:raced.txt`)).toBe("raced\n");

  await model.setScript({ steps: [shell("echo teamed > teamed.txt")], final: "done" });
  const words = ["team", "run", "write teamed.txt", "--agents", "engineer", "-m", "anthropic/claude-sonnet-4-5", "--fleet"];
  const merged = await person.run([...words, "--merge"]);
  expect([merged.code, merged.err]).toEqual([2, expect.stringContaining("skein fleet pull")]);
  const team = await person.run(words);
  expect([team.code, team.err]).toEqual([0, expect.stringContaining("the team has finished")]);
  const teamSession = (await status("--all")).runs[0]!.session;
  const pulled = (await person.run(["fleet", "pull", teamSession, "--json"])).json();
  expect(git(person.project, "show", `${String(pulled["commit"])}:teamed.txt`)).toBe("teamed\n");
  worker.kill("SIGTERM");
  await worker.exited;
}, 180_000);

test("no key of a worker or of a person is in the database", async () => {
  const dump = Bun.spawnSync(["/bin/sh", "-c", `/usr/lib/postgresql/*/bin/pg_dump ${homes.third.env["FLEET_URL"]}`]).stdout.toString();
  expect(dump).toContain("make some files");
  for (const value of Object.values(vendorEnv(model.url)).filter((text) => text.startsWith("key-"))) expect(dump).not.toContain(value);
}, 60_000);

test("wrong use is refused in one line that says what to type", async () => {
  const { person } = homes;
  const refusals: [string[], number, string][] = [
    [["run", "x", "--needs", "gpu"], 2, "--needs needs --fleet"],
    [["run", "x", "--fleet", "--priority", "high"], 2, "whole number"],
    [["run", "x", "--fleet", "--ephemeral"], 2, "exclude each other"],
    [["run", "x", "--fleet", "--needs", "not a label"], 2, "is not a label"],
    [["worker"], 2, "skein worker"],
    [["worker", "stop"], 2, "start"],
    [["fleet", "drain", "nobody"], 2, "skein fleet status"],
    [["fleet", "pull"], 2, "skein fleet pull <session>"],
    [["fleet", "cap", "many"], 2, "skein fleet cap 3"],
    [["fleet", "schedule", "nightly", "soon", "do it"], 2, "five fields"],
    [["fleet", "setup", "--all"], 2, "takes no --all"],
    [["team", "run", "x", "--agents", "engineer", "--fleet", "--workspace", "worktree"], 2, "no git history"],
    [["race", "x", "-a", "native,native", "--fleet", "--check", "true", "--session", "s"], 2, "exclude each other"],
  ];
  for (const [args, code, text] of refusals) {
    const refused = await person.run(args);
    expect([args.join(" "), refused.code, refused.err]).toEqual([args.join(" "), code, expect.stringContaining(text)]);
  }
}, 180_000);
