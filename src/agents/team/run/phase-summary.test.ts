import { expect, test } from "bun:test";
import { membersOf } from "../../../protocol/team/team.ts";
import { sampleResult, sampleMember, samplePlan, sampleTeam } from "../../../protocol/fixtures/sample-team.ts";
import { phaseSummary, type PhaseOutcome } from "./phase-summary.ts";

const plan = { name: "build", goal: "make it", members: [samplePlan()] };
const team = sampleTeam([
  { event: "phase_planned", phase: 0, plan, ahead: [], reason: "" },
  { event: "agent_spawned", member: sampleMember(samplePlan(), 0, "/w") },
]);
const member = {
  ...membersOf(team)[0]!,
  state: "completed" as const,
  ended: sampleResult,
  changedPaths: ["a.js", "b.js"],
  isInResult: true,
};
const outcome: PhaseOutcome = { plan, members: [member], conflicts: [], messageCount: 0 };

test("a summary prefers a member's report to its last answer", () => {
  expect(phaseSummary(outcome)).toBe("## build: make it\n\n### agent_engineer_1_0123abcd (builder): completed\ndone\nChanged: a.js, b.js");
  const reports = [{ id: "r", report: { type: "complete" as const, result: "success" as const, summary: "All of it.", outputs: [] } }];
  const artifacts = [{ id: "a", path: "/s/design.md", description: "the design" }];
  const text = phaseSummary({ ...outcome, members: [{ ...member, reports, artifacts, changedPaths: [] }], messageCount: 1 });
  expect(text).toBe(
    "## build: make it\n\n### agent_engineer_1_0123abcd (builder): completed\nAll of it.\nArtifacts: /s/design.md (the design)\n\n1 message among them.",
  );
});

test("a summary has failures and conflicts, and is at most 8,000 bytes", () => {
  const failed = {
    ...member,
    state: "failed" as const,
    isInResult: false,
    ended: null,
    changedPaths: Array.from({ length: 23 }, (_, index) => `f${index}`),
  };
  const conflicts = [{ agent: "x", paths: ["a.js"] }];
  const text = phaseSummary({ ...outcome, members: [failed], conflicts });
  expect(text).toContain("(builder): failed: it did not start\n");
  expect(text).toMatch(/\nChanged, but not in the result: f0, .* f19 and 3 more\n/);
  expect(text).toContain("Not in the result: the work of x conflicts in a.js.");
  const long = { ...member, ended: { ...sampleResult, answer: "word ".repeat(5_000) } };
  expect(Buffer.byteLength(phaseSummary({ ...outcome, members: Array.from({ length: 20 }, () => long) }))).toBeLessThanOrEqual(8_000);
});
