import { expect, test } from "bun:test";
import { zeroUsage } from "../tree/usage.ts";
import { nextSteps, raceColumns, racerCells } from "./table.ts";
import type { RacerView, RaceView } from "./views.ts";

const session = (end: string) => `00000000-0000-7000-8000-0000${end}`;

function racer(key: string, change: Partial<RacerView> = {}): RacerView {
  return {
    key,
    sessionId: session("aaaaaaaa"),
    agent: key,
    model: null,
    state: "ended",
    status: "ok",
    error: null,
    check: { passed: true, exitCode: 0, problem: null },
    directory: "/project",
    files: [{ path: "a", kind: "modified", added: 3, removed: 1 }],
    added: 3,
    removed: 1,
    usage: zeroUsage,
    tokens: 1234,
    costUsd: 0.5,
    startedAt: 0,
    endedAt: 12_000,
    asks: [],
    answer: "done",
    ...change,
  };
}

function race(change: Partial<RaceView> = {}): RaceView {
  return {
    sessionId: session("eeeeeeee"),
    name: null,
    project: "/project",
    state: "ended",
    task: "fix it",
    check: "npm test",
    adoptFirstPassing: false,
    startedAt: 0,
    endedAt: 12_000,
    base: null,
    status: "ok",
    racers: [racer("claude"), racer("codex", { sessionId: session("bbbbbbbb") })],
    proposed: "codex",
    adopted: null,
    usage: zeroUsage,
    tokens: 0,
    costUsd: 0,
    ...change,
  };
}

test("a row has the outcome, the check, the changes, the usage and the time of an agent", () => {
  const view = race();
  expect(racerCells(view, view.racers[0]!, 0)).toEqual({
    agent: "claude",
    state: "ok",
    check: "passed",
    files: "1",
    lines: "+3 -1",
    tokens: "1.2k",
    cost: "$0.5000",
    time: "12 s",
    session: "aaaaaaaa",
    remark: "",
  });
  expect(racerCells(view, view.racers[1]!, 0).remark).toBe("proposed");
});

test("an agent that runs shows the time so far, and one that waits shows none", () => {
  const running = racer("claude", { state: "running", status: null, check: null, endedAt: null });
  const waiting = racer("codex", { state: "waiting", status: null, check: null, startedAt: null, endedAt: null, files: null });
  expect(racerCells(race(), running, 5_000)).toMatchObject({ state: "running", time: "5 s", check: "" });
  expect(racerCells(race(), waiting, 5_000)).toMatchObject({ state: "waiting", time: "", session: "", files: "?" });
});

test("a race without a check has no column for it", () => {
  expect(raceColumns({ check: null }).map(({ name }) => name)).not.toContain("check");
  expect(raceColumns({ check: "npm test" }).map(({ name }) => name)).toContain("check");
});

test("the next step is to adopt the proposed agent, to resume, or nothing", () => {
  expect(nextSteps(race())[0]).toStartWith("skein race adopt bbbbbbbb   adopts codex: it passed");
  expect(nextSteps(race({ check: null, proposed: null }))[0]).toBe("skein race adopt aaaaaaaa   adopts claude");
  expect(nextSteps(race({ state: "interrupted" }))).toEqual(["skein race resume eeeeeeee   continues the agents that did not end"]);
  expect(nextSteps(race({ state: "running" }))).toEqual([]);
  expect(nextSteps(race({ adopted: { session: "x", continuesIn: "x", grafted: [], files: 1 } }))).toEqual([]);
});
