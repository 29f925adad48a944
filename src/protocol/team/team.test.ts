import { expect, test } from "bun:test";
import { sampleCreated, sampleResult, sampleMember, samplePlan, sampleTeam } from "../fixtures/sample-team.ts";
import type { Node } from "../tree/node.ts";
import { unmergedWork } from "./views.ts";
import { membersOf, failureReason, readTeam, joinedCommit, type TeamEvent } from "./team.ts";

const plan = samplePlan();
const member = sampleMember(plan, 0, "/w");
const phase = { name: "build", goal: "", members: [plan] };
const begun: TeamEvent[] = [
  { event: "phase_planned", phase: 0, plan: phase, ahead: [phase], reason: "" },
  { event: "agent_spawned", member },
  { event: "agent_started", agent: member.id, attempt: 1, given: ["m1"] },
];
const failed: TeamEvent = { event: "agent_failed", agent: member.id, attempt: 1, restarts: true, ...sampleResult, status: "timed-out" };
const completed: TeamEvent = { event: "agent_completed", agent: member.id, attempt: 2, ...sampleResult };
const over: TeamEvent = { event: "checkpoint", phase: 0, name: "build", commit: "joined", conflicts: [], summary: "It is built." };

test("what happened to a team is all that is known of it", () => {
  expect(membersOf(sampleTeam(begun))[0]).toMatchObject({ state: "running", attempts: 1, given: ["m1"], ended: null });
  expect(membersOf(sampleTeam([...begun, failed]))[0]).toMatchObject({ state: "waiting", attempts: 1, ended: { status: "timed-out" } });
  const again: TeamEvent = { event: "agent_started", agent: member.id, attempt: 2, given: ["m2"] };
  const team = sampleTeam([...begun, failed, again, completed]);
  expect(membersOf(team)[0]).toMatchObject({ state: "completed", attempts: 2, given: ["m1", "m2"], ended: { status: "ok" } });
  expect([team.phases[0]?.isOver, team.ahead.length, joinedCommit(team)]).toEqual([false, 1, null]);
  const done = sampleTeam([...begun, completed, over]);
  expect([done.phases[0]?.isOver, done.phases[0]?.summary, joinedCommit(done)]).toEqual([true, "It is built.", "joined"]);
});

test("a team that ended has not ended any more once somebody works again; who is nobody changes nothing", () => {
  const stopped: TeamEvent = { event: "session_failed", reason: "no" };
  expect(sampleTeam([...begun, stopped]).end).toEqual(stopped);
  expect(sampleTeam([...begun, stopped, { event: "agent_started", agent: member.id, attempt: 2, given: [] }]).end).toBeNull();
  const stranger: TeamEvent = { event: "artifact_created", agent: "agent_nobody", id: "a", path: "/x", description: "" };
  expect(sampleTeam([...begun, stranger])).toEqual(sampleTeam(begun));
});

test("a path is read from the team's beginning, past what else is on it", () => {
  const nodeOf = (happened: TeamEvent | null): Node =>
    ({ session: "s", author: "note", parts: [], ...(happened === null ? {} : { note: { about: "team", happened } }) }) as unknown as Node;
  expect(readTeam([nodeOf(null)])).toBeNull();
  const path = [nodeOf(null), ...[sampleCreated, ...begun, completed].map(nodeOf), nodeOf(null), nodeOf(over)];
  expect(readTeam(path)).toEqual({ ...sampleTeam([...begun, completed, over]), id: "s" });
});

test("what would be lost with a team's directory: work that is not in the project, or that was not even joined", () => {
  const said = (happened: TeamEvent[]) => unmergedWork(sampleTeam(happened));
  expect([said([]), said(begun.slice(0, 2))]).toEqual([null, null]);
  expect(said(begun)).toBe("it stopped before its work was joined");
  const last = { ...failed, restarts: false };
  expect([said([...begun, { ...last, commit: null }]), said([...begun, { ...last, commit: "c" }])]).toEqual([
    null,
    "it stopped before its work was joined",
  ]);
  expect(said([...begun, completed, over])).toBe("its work is not in the project yet");
  expect(said([...begun, completed, over, { event: "work_merged", commit: "joined", changes: [] }])).toBeNull();
});

test("why it does not count: how it ended, and what does not hold", () => {
  expect(failureReason({ ...sampleResult, unmet: ["a.txt is not there"] })).toBe("does not hold: a.txt is not there");
  expect(failureReason({ ...sampleResult, status: "timed-out", error: "too slow" })).toBe("timed-out: too slow");
  expect(failureReason({ ...sampleResult, status: "stalled", unmet: ["it is committed"] })).toBe("stalled; does not hold: it is committed");
});
