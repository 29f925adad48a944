import { afterEach, beforeEach, expect, test } from "bun:test";
import { lstatSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Node } from "../../protocol/tree/node.ts";
import type { TeamEvent } from "../../protocol/team/team.ts";
import { roleFromDescription } from "../../roles/infer-role.ts";
import { sampleCreated, sampleMember, samplePlan, sampleTeam } from "../../protocol/fixtures/sample-team.ts";
import { memberEnvironment, logEvent, readLoggedTeam, createTeamDirectory, repairLog, teamPaths, writeRoster } from "./team-paths.ts";

const team = sampleTeam([]);
let project = "";
beforeEach(() => {
  project = mkdtempSync(join(tmpdir(), "skein-place-"));
});
afterEach(() => rmSync(project, { recursive: true, force: true }));

test("only the owner can read a team's directory, and its bin/skein starts this program", () => {
  const paths = teamPaths(project, team.id);
  createTeamDirectory(paths, ["/bin/echo", "it's", "me"]);
  createTeamDirectory(paths, ["/bin/echo", "it's", "me"]);
  expect(statSync(paths.root).mode & 0o777).toBe(0o700);
  expect(Bun.spawnSync([join(paths.bin, "skein"), "a b"]).stdout.toString()).toBe("it's me a b\n");
});

test("createTeamDirectory follows no symbolic link of a cloned repository, and writes nothing outside of the project", () => {
  const outside = join(project, "outside");
  const inside = join(project, "inside");
  for (const directory of [outside, join(inside, ".skein")]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(outside, "mine"), "mine");
  const paths = teamPaths(inside, team.id);
  symlinkSync(outside, join(inside, ".skein", "teams"));
  expect(() => createTeamDirectory(paths, ["true"])).toThrow("a directory of its path is a link");
  rmSync(join(inside, ".skein", "teams"));
  mkdirSync(join(inside, ".skein", "teams"));
  symlinkSync(join(outside, "mine"), join(inside, ".skein", "teams", ".gitignore"));
  createTeamDirectory(paths, ["true"]);
  expect(readFileSync(join(outside, "mine"), "utf8")).toBe("mine");
  expect(readFileSync(join(inside, ".skein", "teams", ".gitignore"), "utf8")).toBe("*\n");
});

test("team.json replaces whatever a member created under that name", () => {
  const paths = teamPaths(project, team.id);
  createTeamDirectory(paths, ["true"]);
  const file = join(paths.shared, "team.json");
  mkdirSync(join(file, "in the way"), { recursive: true });
  writeRoster(paths, team);
  rmSync(file);
  writeFileSync(join(project, "mine"), "mine");
  symlinkSync(join(project, "mine"), file);
  writeRoster(paths, team);
  expect([lstatSync(file).isFile(), readFileSync(join(project, "mine"), "utf8")]).toEqual([true, "mine"]);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ team_id: team.id, members: [] });
});

test("repairLog appends recorded events that are missing in the log once, after the last complete line", () => {
  const paths = teamPaths(project, team.id);
  createTeamDirectory(paths, ["true"]);
  const events: TeamEvent[] = [sampleCreated, { event: "session_failed", reason: "a" }, { event: "session_failed", reason: "b" }];
  const path = events.map((event, at) => ({ at, note: { about: "team", happened: event } }) as unknown as Node);
  const log = join(paths.root, "session.log");
  logEvent(paths, team.id, sampleCreated);
  writeFileSync(log, '{"timestamp":"19', { flag: "a" });
  for (const _ of [1, 2]) repairLog(paths, team.id, path, (message) => expect.unreachable(message));
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { event: string; data: { reason?: string } }).data.reason)).toEqual([
    undefined,
    "a",
    "b",
  ]);
  expect(readLoggedTeam(paths)).toEqual({ ...sampleTeam(events.slice(1)), id: team.id });
});

test("the environment of a member has all variables with the prefixes SKEIN_ and MAOS_, as single lines", () => {
  const paths = teamPaths(project, team.id);
  const role = { ...roleFromDescription("data_scientist", "counts\tthings"), prompt: "Count.\nTwice." };
  const member = sampleMember(samplePlan({ role: "data_scientist" }), 0, "/w");
  const env = memberEnvironment(member, role, { team, project, paths, path: "/usr/bin" });
  const maosNames = Object.keys(env).filter((name) => name.startsWith("MAOS_") && name !== "MAOS_SESSION_ID");
  for (const name of maosNames) expect([name, env[name]]).toEqual([name, env[name.replace("MAOS_", "SKEIN_")]]);
  expect(env).toMatchObject({
    SKEIN_AGENT_ID: member.id,
    SKEIN_AGENT_ROLE: "data_scientist",
    SKEIN_AGENT_INSTANCE: "1",
    SKEIN_AGENT_ROLE_DESC: "counts things",
    SKEIN_AGENT_ROLE_RESPONSIBILITIES: "Count. Twice.",
    SKEIN_SESSION_OBJECTIVE: "A small thing in two lines",
    SKEIN_TEAM_ID: team.id,
    MAOS_SESSION_ID: team.id,
    MAOS_PROJECT_ROOT: project,
    PATH: `${paths.bin}:/usr/bin`,
  });
  expect(env["SKEIN_SESSION_ID"]).toBeUndefined();
});
