import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Role } from "../../../protocol/api/role.ts";
import { defaultTeamLimits, type TeamRecord } from "../../../protocol/team/team.ts";
import { takeAddedMembers, hasAddedMembers } from "./added-members.ts";
import { addedMembersDirectory, teamPaths } from "../team-paths.ts";

const project = mkdtempSync(join(tmpdir(), "skein-asked-"));
afterAll(() => rmSync(project, { recursive: true, force: true }));

const place = teamPaths(project, "0000000a-0000-7000-8000-00000000000a");
const record = {
  wish: { limits: { ...defaultTeamLimits, maxPerRole: 2 } },
  phases: [{ members: [{ plan: { key: "ann", role: "qa" } }] }],
} as unknown as TeamRecord;

function asked(...texts: string[]) {
  mkdirSync(addedMembersDirectory(place), { recursive: true });
  for (const [at, text] of texts.entries()) writeFileSync(join(addedMembersDirectory(place), `${at}.json`), text);
  const warnings: string[] = [];
  const pass = (event: { type: string }) => void warnings.push((event as { message?: string }).message ?? "");
  const phase = takeAddedMembers({ paths: place, record, roles: [{ name: "qa" } as Role], emit: pass });
  return { phase, warnings };
}

const member = (key: string, change: Record<string, unknown> = {}) => JSON.stringify({ key, role: "qa", task: "look", ...change });

test("nobody is asked for where nothing lies", () => {
  expect(hasAddedMembers(place)).toBe(false);
  expect(asked().phase).toBeNull();
});

test("all that fit become one phase, and are dropped only when that is recorded", () => {
  const { phase, warnings } = asked(member("bob", { depends_on: ["ann"], timeout_ms: 5 }));
  expect(phase?.plan.members).toMatchObject([{ key: "bob", dependsOn: ["ann"], timeoutMs: 5 }]);
  expect([warnings, hasAddedMembers(place)]).toEqual([[], true]);
  phase?.drop();
  expect(hasAddedMembers(place)).toBe(false);
});

test("what is a member already was recorded before a crash; what can't be is told and goes", () => {
  const { phase, warnings } = asked(member("ann"), "no JSON", member("cid", { role: "nobody" }), member("dee", { depends_on: ["zoe"] }));
  expect(phase).toBeNull();
  expect(warnings).toHaveLength(3);
  expect(warnings.join("\n")).toMatch(/can't be[^]*no role "nobody"[^]*"zoe", which is nobody/);
  expect(readdirSync(addedMembersDirectory(place))).toEqual([]);
});

test("the limits of the team hold for them too", () => {
  const { phase, warnings } = asked(member("bob"), member("cid"));
  expect(phase?.plan.members.map(({ key }) => key)).toEqual(["bob"]);
  expect(warnings).toEqual([expect.stringContaining("the limit per role is 2")]);
  phase?.drop();
});
