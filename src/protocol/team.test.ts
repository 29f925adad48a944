import { expect, test } from "bun:test";
import { created, ended, memberOf, planOf, teamAfter } from "./fixtures/small-team.ts";
import type { Node } from "./node.ts";
import { unmergedIn } from "./team-views.ts";
import { membersOf, reasonOf, teamOn, workOf, type TeamEvent } from "./team.ts";

const plan = planOf();
const member = memberOf(plan, 0, "/w");
const phase = { name: "build", goal: "", members: [plan] };
const begun: TeamEvent[] = [
  { event: "phase_planned", phase: 0, plan: phase, ahead: [phase], reason: "" },
  { event: "agent_spawned", member },
  { event: "agent_started", agent: member.id, attempt: 1, given: ["m1"] },
];
const failed: TeamEvent = { event: "agent_failed", agent: member.id, attempt: 1, restarts: true, ...ended, status: "timed-out" };
const completed: TeamEvent = { event: "agent_completed", agent: member.id, attempt: 2, ...ended };
const over: TeamEvent = { event: "checkpoint", phase: 0, name: "build", commit: "joined", conflicts: [], summary: "It is built." };

test("what happened to a team is all that is known of it", () => {
  expect(membersOf(teamAfter(begun))[0]).toMatchObject({ state: "running", attempts: 1, given: ["m1"], ended: null });
  expect(membersOf(teamAfter([...begun, failed]))[0]).toMatchObject({ state: "waiting", attempts: 1, ended: { status: "timed-out" } });
  const again: TeamEvent = { event: "agent_started", agent: member.id, attempt: 2, given: ["m2"] };
  const team = teamAfter([...begun, failed, again, completed]);
  expect(membersOf(team)[0]).toMatchObject({ state: "completed", attempts: 2, given: ["m1", "m2"], ended: { status: "ok" } });
  expect([team.phases[0]?.isOver, team.ahead.length, workOf(team)]).toEqual([false, 1, null]);
  const done = teamAfter([...begun, completed, over]);
  expect([done.phases[0]?.isOver, done.phases[0]?.summary, workOf(done)]).toEqual([true, "It is built.", "joined"]);
});

test("a team that ended has not ended any more once somebody works again; who is nobody changes nothing", () => {
  const stopped: TeamEvent = { event: "session_failed", reason: "no" };
  expect(teamAfter([...begun, stopped]).end).toEqual(stopped);
  expect(teamAfter([...begun, stopped, { event: "agent_started", agent: member.id, attempt: 2, given: [] }]).end).toBeNull();
  const stranger: TeamEvent = { event: "artifact_created", agent: "agent_nobody", id: "a", path: "/x", description: "" };
  expect(teamAfter([...begun, stranger])).toEqual(teamAfter(begun));
});

test("a path is read from the team's beginning, past what else is on it", () => {
  const nodeOf = (happened: TeamEvent | null): Node =>
    ({ session: "s", author: "note", parts: [], ...(happened === null ? {} : { note: { about: "team", happened } }) }) as unknown as Node;
  expect(teamOn([nodeOf(null)])).toBeNull();
  const path = [nodeOf(null), ...[created, ...begun, completed].map(nodeOf), nodeOf(null), nodeOf(over)];
  expect(teamOn(path)).toEqual({ ...teamAfter([...begun, completed, over]), id: "s" });
});

test("what would be lost with a team's directory: work that is not in the project, or that was not even joined", () => {
  const said = (happened: TeamEvent[]) => unmergedIn(teamAfter(happened));
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
  expect(reasonOf({ ...ended, unmet: ["a.txt is not there"] })).toBe("does not hold: a.txt is not there");
  expect(reasonOf({ ...ended, status: "timed-out", error: "too slow" })).toBe("timed-out: too slow");
  expect(reasonOf({ ...ended, status: "stalled", unmet: ["it is committed"] })).toBe("stalled; does not hold: it is committed");
});
