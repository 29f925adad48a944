import { expect, test } from "bun:test";
import { sampleCreated, sampleResult, sampleMember, samplePlan, sampleTeam } from "../fixtures/sample-team.ts";
import type { Node } from "../tree/node.ts";
import { unmergedWork } from "./views.ts";
import { membersOf, failureReason, readTeam, combinedCommit, type TeamEvent } from "./team.ts";

const plan = samplePlan();
const member = sampleMember(plan, 0, "/w");
const phase = { name: "build", goal: "", members: [plan] };
const started: TeamEvent[] = [
  { event: "phase_planned", phase: 0, plan: phase, ahead: [phase], reason: "" },
  { event: "agent_spawned", member },
  { event: "agent_started", agent: member.id, attempt: 1, given: ["m1"] },
];
const failed: TeamEvent = { event: "agent_failed", agent: member.id, attempt: 1, restarts: true, ...sampleResult, status: "timed-out" };
const completed: TeamEvent = { event: "agent_completed", agent: member.id, attempt: 2, ...sampleResult };
const checkpoint: TeamEvent = { event: "checkpoint", phase: 0, name: "build", commit: "combined", conflicts: [], summary: "It is built." };

test("the events of a team make up its record", () => {
  expect(membersOf(sampleTeam(started))[0]).toMatchObject({ state: "running", attempts: 1, given: ["m1"], ended: null });
  expect(membersOf(sampleTeam([...started, failed]))[0]).toMatchObject({ state: "waiting", attempts: 1, ended: { status: "timed-out" } });
  const again: TeamEvent = { event: "agent_started", agent: member.id, attempt: 2, given: ["m2"] };
  const team = sampleTeam([...started, failed, again, completed]);
  expect(membersOf(team)[0]).toMatchObject({ state: "completed", attempts: 2, given: ["m1", "m2"], ended: { status: "ok" } });
  expect([team.phases[0]?.isOver, team.ahead.length, combinedCommit(team)]).toEqual([false, 1, null]);
  const finished = sampleTeam([...started, completed, checkpoint]);
  expect([finished.phases[0]?.isOver, finished.phases[0]?.summary, combinedCommit(finished)]).toEqual([true, "It is built.", "combined"]);
});

test("a new member run reopens an ended team; an event of an unknown member changes nothing", () => {
  const stopped: TeamEvent = { event: "session_failed", reason: "no" };
  expect(sampleTeam([...started, stopped]).end).toEqual(stopped);
  expect(sampleTeam([...started, stopped, { event: "agent_started", agent: member.id, attempt: 2, given: [] }]).end).toBeNull();
  const unknownMember: TeamEvent = { event: "artifact_created", agent: "agent_unknown", id: "a", path: "/x", description: "" };
  expect(sampleTeam([...started, unknownMember])).toEqual(sampleTeam(started));
});

test("readTeam starts at the latest session_created event and skips other nodes", () => {
  const nodeOf = (happened: TeamEvent | null): Node =>
    ({ session: "s", author: "note", parts: [], ...(happened === null ? {} : { note: { about: "team", happened } }) }) as unknown as Node;
  expect(readTeam([nodeOf(null)])).toBeNull();
  const path = [nodeOf(null), ...[sampleCreated, ...started, completed].map(nodeOf), nodeOf(null), nodeOf(checkpoint)];
  expect(readTeam(path)).toEqual({ ...sampleTeam([...started, completed, checkpoint]), id: "s" });
});

test("unmergedWork names work that is not in the project or was not combined", () => {
  const lostWork = (events: TeamEvent[]) => unmergedWork(sampleTeam(events));
  expect([lostWork([]), lostWork(started.slice(0, 2))]).toEqual([null, null]);
  expect(lostWork(started)).toBe("it stopped before the work of its members was combined");
  const last = { ...failed, restarts: false };
  expect([lostWork([...started, { ...last, commit: null }]), lostWork([...started, { ...last, commit: "c" }])]).toEqual([
    null,
    "it stopped before the work of its members was combined",
  ]);
  expect(lostWork([...started, completed, checkpoint])).toBe("its work is not in the project yet");
  expect(lostWork([...started, completed, checkpoint, { event: "work_merged", commit: "combined", changes: [] }])).toBeNull();
});

test("the reason of a failure has the status, the error and the failed checks", () => {
  expect(failureReason({ ...sampleResult, unmet: ["a.txt is not there"] })).toBe("failed checks: a.txt is not there");
  expect(failureReason({ ...sampleResult, status: "timed-out", error: "too slow" })).toBe("timed-out: too slow");
  expect(failureReason({ ...sampleResult, status: "stalled", unmet: ["it is committed"] })).toBe("stalled; failed checks: it is committed");
});
