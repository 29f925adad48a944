// Tests of the agents panel: keys, remaining budgets and its layout at several sizes.
import { describe, expect, test } from "bun:test";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { viKeys, apply, blocksOf, effectsOf, badRows, nodeOf, press, sampleSession, textOf, turnOf } from "../fixtures/press-keys.ts";
import { firstState, type UpdateMessage, type State } from "../model/state.ts";

const size = { columns: 80, rows: 24 };
const ours = sampleSession("ours", { task: "fix the build" });
const normal: State = { ...firstState({ bindings: viKeys, size, net: "off", sandbox: "on" }), mode: "normal", session: ours };

function turnInfo(id: string, state: TurnInfo["state"], parent: string | null = null): TurnInfo {
  const session = sampleSession(id, { parentSession: parent, task: `do ${id}` });
  const usage = { input: 1000, output: 200, cacheRead: 9000, cacheWrite: 0 };
  const status = state === "ended" ? ("network" as const) : null;
  const error = state === "ended" ? { kind: "network" as const, message: "it broke" } : null;
  const turn = turnOf({ id: `t-${id}`, session: id, usage, costUsd: 0.25, startedAt: 5000, model: "acme/large", status, error });
  return { session, turn, state, pid: state === "ended" ? null : 7 };
}
const turns = [
  turnInfo("subtask", "asking", "ours"),
  { ...turnInfo("ours", "running"), left: { costUsd: 1.5, tokens: null } },
  turnInfo("other", "paused"),
  turnInfo("gone", "ended"),
];

function listed(rows: TurnInfo[], reading = 0): UpdateMessage {
  return { type: "agents", message: { type: "listed", reading, rows, now: 70_000 } };
}
const open = apply(press(normal, "space", "a").state, listed(turns));

describe("the agents panel", () => {
  test("the agents panel lists running and recent turns, sub-sessions under their parents, with remaining budgets", () => {
    expect(textOf(open)).toMatch(
      /agents: 3 running, 1 ended in the last 15 minutes[^]*SESSION +STATE +AGE[^]*ours ← +running +1 m 05 s[^]*\$0\.2500 +\$1\.50 +do ours[^]*│ {3}subtask +asking[^]*other +paused[^]*gone +network/,
    );
    expect(textOf({ ...open, size: { columns: 200, rows: 60 } })).toMatch(
      /AGENT +MODEL +TOKENS +COST +LEFT +TASK[^]*native +acme\/large +1\.2k/,
    );
    const counted = [{ ...turnInfo("ours", "running"), left: { costUsd: 0.5, tokens: 12_300 } }];
    expect(textOf(apply(open, listed(counted, 1)))).toMatch(/\$0\.2500 +\$0\.50 12\.3k tokens +do ours/);
    expect(textOf(press(open, "G").state)).toMatch(/gone · native · acme\/large · policy \w+, network off[^]*it broke[^]*do gone/);
    for (const columns of [44, 80, 120, 200])
      for (const height of [8, 24, 60]) expect(badRows({ ...open, size: { columns, rows: height } })).toEqual([]);
  });
  test("the agents panel is listed again every second, and the chosen turn stays chosen", () => {
    expect(press(normal, "space", "a").effects).toContainEqual({ type: "list agents", reading: 0, sinceMs: 900_000, afterMs: 0 });
    const chosen = press(open, "j", "j").state;
    const more = apply(chosen, listed([turnInfo("new", "running"), ...turns], 1));
    expect(effectsOf(more, "p")).toEqual([{ type: "resume", session: "other" }]);
    expect(apply(chosen, listed([], 0))).toBe(chosen);
    expect(apply(chosen, { type: "agents", message: { type: "failed", reading: 1 } }).overlay).toMatchObject({ reading: 2 });
    expect(effectsOf(open, "e")).toEqual([{ type: "list agents", reading: 2, sinceMs: 86_400_000, afterMs: 0 }]);
    expect(textOf(apply(press(normal, "space", "a").state, listed([])))).toContain("no turn runs in this project");
    expect(textOf(apply(press(normal, "space", "a").state, { type: "tick", now: 150 }))).toContain("loading…");
  });
  test("keys of the agents panel pause, resume, steer, answer and, pressed twice, stop a turn", () => {
    expect(effectsOf(open, "p")).toEqual([{ type: "pause", session: "ours" }]);
    expect(effectsOf(open, "j", "s", ...Array.from("hi"), "enter")).toEqual([{ type: "send to agent", session: "subtask", text: "hi" }]);
    expect(effectsOf(open, "s", "x", "escape", "j", "a")).toEqual([{ type: "find ask", session: "subtask" }]);
    expect(effectsOf(open, "x", "x")).toEqual([{ type: "kill", session: "ours" }]);
    expect(effectsOf(open, "x", "j", "x")).toEqual([]);
    expect(press(open, "j", "x").state.notice?.text).toBe("press x again to stop subtask and its sub-sessions");
    for (const key of ["p", "s", "x"]) expect(press(open, "G", key)).toMatchObject({ effects: [], state: { notice: { isError: false } } });
    const ask = { id: "a1", session: "subtask", question: "Which?", options: [] } as never;
    expect(textOf(apply(open, { type: "ask found", ask }))).toContain("Which?");
  });
});

describe("a session opened from the agents panel", () => {
  const subtask = sampleSession("subtask");
  const visiting = apply(
    open,
    { type: "opened", session: subtask, blocks: [], turns: [] },
    { type: "visited", visit: { home: "ours", mode: "normal" } },
  );
  const home = { type: "visit", session: "ours", visit: null } as const;
  test("an opened session is only watched: q, Esc and Space a go back, and no turn starts in it", () => {
    expect(effectsOf(open, "j", "enter")).toEqual([{ type: "visit", session: "subtask", visit: { home: "ours", mode: "normal" } }]);
    expect(textOf(visiting)).toContain("subtask (watched; q goes back)");
    for (const keys of [["q"], ["escape"], ["space", "a"]]) expect(press(visiting, ...keys).effects).toEqual([home]);
    expect(press(visiting, "i", "x", "enter")).toMatchObject({ effects: [], state: { unsent: { text: "x" } } });
    expect(press({ ...visiting, activity: "writing" }, "i", "x", "enter").effects[0]).toEqual({
      type: "steer",
      session: "subtask",
      text: "x",
      orStart: false,
    });
    expect(press({ ...visiting, activity: "writing" }, "escape").effects).toEqual([home]);
    expect(apply(visiting, { type: "visited", visit: null }).visit).toBeNull();
    const typing = apply({ ...open, mode: "insert" }, { type: "visited", visit: { home: "ours", mode: "insert" } });
    expect([typing.mode, apply(typing, { type: "visited", visit: null }).mode]).toEqual(["normal", "insert"]);
    expect(press(normal, "q").effects).toEqual([]);
  });
  test("a sub-session is also opened from its block or from its call", () => {
    const id = "01a1e467-b234-749a-8000-000000000001";
    const call = nodeOf("n1", null, "agent", [{ kind: "call", id: "c1", name: "spawn_session", input: {} }]);
    const result = { kind: "result" as const, call: "c1", name: "spawn_session", text: `done [session ${id}]`, isError: false };
    const shown = apply(normal, {
      type: "opened",
      session: ours,
      blocks: blocksOf([call, nodeOf("n2", "n1", "tool", [result])]),
      turns: [],
    });
    expect(press(shown, "[", "O").effects).toEqual([{ type: "visit", session: id, visit: { home: "ours", mode: "normal" } }]);
    expect(press(shown, "O")).toMatchObject({ effects: [], state: { notice: { isError: false } } });
    const spawned = apply(normal, spawnedEvent(id));
    expect(press(spawned, "[", "enter").effects).toEqual([{ type: "visit", session: id, visit: { home: "ours", mode: "normal" } }]);
    expect(press(spawned, "[", "o")).toMatchObject({ effects: [], state: { toggled: new Set([id]) } });
  });
});

function spawnedEvent(session: string): UpdateMessage {
  const head = { seq: 1, n: 1, sessionId: "ours", turnId: "t-ours", at: 0 };
  return { type: "event", event: { ...head, type: "session.spawned", call: "c1", session, agent: "native", task: "count" } };
}
