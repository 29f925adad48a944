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

const paths = teamPaths(project, "0000000a-0000-7000-8000-00000000000a");
const record = {
  wish: { limits: { ...defaultTeamLimits, maxPerRole: 2 } },
  phases: [{ members: [{ plan: { key: "ann", role: "qa" } }] }],
} as unknown as TeamRecord;

async function takeAdded(...texts: string[]) {
  mkdirSync(addedMembersDirectory(paths), { recursive: true });
  for (const [index, text] of texts.entries()) writeFileSync(join(addedMembersDirectory(paths), `${index}.json`), text);
  const warnings: string[] = [];
  const emit = (event: { type: string }) => void warnings.push((event as { message?: string }).message ?? "");
  const phase = await takeAddedMembers({ paths, record, roles: [{ name: "qa" } as Role], emit });
  return { phase, warnings };
}

const member = (key: string, change: Record<string, unknown> = {}) => JSON.stringify({ key, role: "qa", task: "look", ...change });

test("takeAddedMembers returns null if there is no request file", async () => {
  expect(hasAddedMembers(paths)).toBe(false);
  expect((await takeAdded()).phase).toBeNull();
});

test("requested members become one phase, and their files are deleted only by drop", async () => {
  const { phase, warnings } = await takeAdded(member("bob", { depends_on: ["ann"], timeout_ms: 5 }));
  expect(phase?.plan.members).toMatchObject([{ key: "bob", dependsOn: ["ann"], timeoutMs: 5 }]);
  expect([warnings, hasAddedMembers(paths)]).toEqual([[], true]);
  phase?.drop();
  expect(hasAddedMembers(paths)).toBe(false);
});

test("the request file of an existing member is deleted, and an invalid request is deleted with a warning", async () => {
  const { phase, warnings } = await takeAdded(
    member("ann"),
    "no JSON",
    member("cid", { role: "nobody" }),
    member("dee", { depends_on: ["zoe"] }),
  );
  expect(phase).toBeNull();
  expect(warnings).toHaveLength(3);
  expect(warnings.join("\n")).toMatch(/can't be added[^]*role "nobody" is unknown[^]*"zoe", which is no member/);
  expect(readdirSync(addedMembersDirectory(paths))).toEqual([]);
});

test("a requested member over the limit per role is refused with a warning", async () => {
  const { phase, warnings } = await takeAdded(member("bob"), member("cid"));
  expect(phase?.plan.members.map(({ key }) => key)).toEqual(["bob"]);
  expect(warnings).toEqual([expect.stringContaining("the limit per role is 2")]);
  phase?.drop();
});
