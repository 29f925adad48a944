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

test("a place is only its owner's, and starts this program whatever its path is", () => {
  const place = teamPaths(project, team.id);
  createTeamDirectory(place, ["/bin/echo", "it's", "me"]);
  createTeamDirectory(place, ["/bin/echo", "it's", "me"]);
  expect(statSync(place.root).mode & 0o777).toBe(0o700);
  expect(Bun.spawnSync([join(place.bin, "skein"), "a b"]).stdout.toString()).toBe("it's me a b\n");
});

test("a link that a repository brings with it is not followed: nothing outside of the project is written", () => {
  const outside = join(project, "outside");
  const inside = join(project, "inside");
  for (const directory of [outside, join(inside, ".skein")]) mkdirSync(directory, { recursive: true });
  writeFileSync(join(outside, "mine"), "mine");
  const place = teamPaths(inside, team.id);
  symlinkSync(outside, join(inside, ".skein", "teams"));
  expect(() => createTeamDirectory(place, ["true"])).toThrow("no directory of the project's own");
  rmSync(join(inside, ".skein", "teams"));
  mkdirSync(join(inside, ".skein", "teams"));
  symlinkSync(join(outside, "mine"), join(inside, ".skein", "teams", ".gitignore"));
  createTeamDirectory(place, ["true"]);
  expect(readFileSync(join(outside, "mine"), "utf8")).toBe("mine");
  expect(readFileSync(join(inside, ".skein", "teams", ".gitignore"), "utf8")).toBe("*\n");
});

test("the list of members is written over whatever a member puts in its place", () => {
  const place = teamPaths(project, team.id);
  createTeamDirectory(place, ["true"]);
  const file = join(place.shared, "team.json");
  mkdirSync(join(file, "in the way"), { recursive: true });
  writeRoster(place, team);
  rmSync(file);
  writeFileSync(join(project, "mine"), "mine");
  symlinkSync(join(project, "mine"), file);
  writeRoster(place, team);
  expect([lstatSync(file).isFile(), readFileSync(join(project, "mine"), "utf8")]).toEqual([true, "mine"]);
  expect(JSON.parse(readFileSync(file, "utf8"))).toMatchObject({ team_id: team.id, members: [] });
});

test("what was recorded and not logged is logged later, once, after the last whole line", () => {
  const place = teamPaths(project, team.id);
  createTeamDirectory(place, ["true"]);
  const happened: TeamEvent[] = [sampleCreated, { event: "session_failed", reason: "a" }, { event: "session_failed", reason: "b" }];
  const path = happened.map((one, at) => ({ at, note: { about: "team", happened: one } }) as unknown as Node);
  const log = join(place.root, "session.log");
  logEvent(place, team.id, sampleCreated);
  writeFileSync(log, '{"timestamp":"19', { flag: "a" });
  for (const _ of [1, 2]) repairLog(place, team.id, path, (message) => expect.unreachable(message));
  const lines = readFileSync(log, "utf8").trimEnd().split("\n");
  expect(lines.map((line) => (JSON.parse(line) as { event: string; data: { reason?: string } }).data.reason)).toEqual([
    undefined,
    "a",
    "b",
  ]);
  expect(readLoggedTeam(place)).toEqual({ ...sampleTeam(happened.slice(1)), id: team.id });
});

test("a member finds its place in its environment by both names, in plain words", () => {
  const place = teamPaths(project, team.id);
  const role = { ...roleFromDescription("data_scientist", "counts\tthings"), prompt: "Count.\nTwice." };
  const member = sampleMember(samplePlan({ role: "data_scientist" }), 0, "/w");
  const env = memberEnvironment(member, role, { team: team.id, project, place, wish: team.wish, path: "/usr/bin" });
  const both = Object.keys(env).filter((name) => name.startsWith("MAOS_") && name !== "MAOS_SESSION_ID");
  for (const name of both) expect([name, env[name]]).toEqual([name, env[name.replace("MAOS_", "SKEIN_")]]);
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
    PATH: `${place.bin}:/usr/bin`,
  });
  expect(env["SKEIN_SESSION_ID"]).toBeUndefined();
});
