// Feeds events to activities and renders their rows at a given time.
import { describe, expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import type { Part } from "../../protocol/tree/node.ts";
import { styleOf } from "../terminal/style.ts";
import { Activity } from "./activity.ts";
import { liveRows, type SubSession } from "./live-rows.ts";

const rowStyle = { style: styleOf({ color: false }), isUnicode: false };
const size = { columns: 60, rows: 24 };

function event(at: number, body: Record<string, unknown>): Event {
  return { seq: 1, n: 1, sessionId: "s", turnId: "t", at, ...body } as unknown as Event;
}
const started = event(0, { type: "turn.started", turn: { agent: "native", model: "test/one" } });
const node = (at: number, author: string, ...parts: Part[]) => event(at, { type: "node.added", node: { author, parts } });
const call = (id: string, command = "make"): Part => ({ kind: "call", id, name: "bash", input: { command } });
const result = (id: string): Part => ({ kind: "result", call: id, name: "bash", text: "", isError: false });
const begin = (at: number, id: string, command = "make") => event(at, { type: "tool.started", call: id, name: "bash", input: { command } });
const output = (id: string, text: string) => event(0, { type: "tool.output", call: id, text });

function activityOf(...events: Event[]): Activity {
  const activity = new Activity();
  for (const item of events) activity.apply(item);
  return activity;
}

/** The rows without the spinner. */
function rowsAt(now: number, main: Activity, subSessions: SubSession[] = [], screen = size): string[] {
  return liveRows({ main, subSessions }, now, screen, rowStyle).map((row) => row.replace(/^[|/\\-] /, "* "));
}

describe("a wait", () => {
  test("a slow model is named with the elapsed time, and a fast one is not", () => {
    const main = activityOf(started);
    expect(rowsAt(200, main)).toEqual([]);
    expect(rowsAt(4_200, main)).toEqual(["* waiting for test/one · 4 s"]);
  });

  test("streaming text is its own sign of life until it stalls", () => {
    const main = activityOf(started, event(5_000, { type: "text.delta", text: "Hel" }));
    expect(rowsAt(6_000, main)).toEqual([]);
    expect(rowsAt(8_000, main)).toEqual(["* waiting for test/one · 3 s"]);
  });

  test("a call that waits for the snapshot is not shown as running", () => {
    const main = activityOf(started, event(1_000, { type: "snapshot.started" }), node(2_000, "agent", call("c")));
    expect(rowsAt(9_000, main)).toEqual(["* recording files · 8 s"]);
    main.apply(event(9_000, { type: "snapshot.ended" }));
    main.apply(begin(9_000, "c"));
    expect(rowsAt(12_000, main)).toEqual(["* bash make · 3 s"]);
  });

  test("a snapshot after the answer does not wait for the model", () => {
    const main = activityOf(started, node(1_000, "agent", { kind: "text", text: "done" }), event(2_000, { type: "snapshot.started" }));
    expect(rowsAt(4_000, main)).toEqual(["* recording files · 2 s"]);
  });

  test("nothing moves while the turn is paused, asks or has ended", () => {
    expect(rowsAt(9_000, activityOf(started, event(1_000, { type: "turn.paused" })))).toEqual([]);
    expect(rowsAt(9_000, activityOf(started, event(1_000, { type: "ask.opened", ask: { id: "a" } })))).toEqual([]);
    expect(rowsAt(9_000, activityOf(started, event(1_000, { type: "turn.ended" })))).toEqual([]);
  });
});

describe("running calls", () => {
  test("every running command shows its last lines, and the model is awaited when the last one has ended", () => {
    const main = activityOf(started, node(0, "agent", call("a"), call("b", "sleep 9")), begin(0, "a"), begin(1_000, "b", "sleep 9"));
    main.apply(output("a", "1\n2\n3\n4\n5\n6\n\n"));
    main.apply(output("b", "waits"));
    expect(rowsAt(3_000, main, [], { columns: 60, rows: 16 })).toEqual([
      "* bash make · 3 s",
      "    4",
      "    5",
      "    6",
      "* bash sleep 9 · 2 s",
      "    waits",
    ]);
    main.apply(node(3_000, "tool", result("a")));
    expect(rowsAt(4_000, main)).toEqual(["* bash sleep 9 · 3 s", "    waits"]);
    main.apply(node(4_000, "tool", result("b")));
    expect(rowsAt(6_000, main)).toEqual(["* waiting for test/one · 2 s"]);
  });

  test("output can't move the cursor or leave its row", () => {
    const main = activityOf(started, node(0, "agent", call("c", "x\x1b[2J")), begin(0, "c", "x\x1b[2J"));
    main.apply(output("c", `10%\r20%\r30%\n\x1b]0;t\x07\x1b[31mred\tx\x1b[0m${"y".repeat(5_000)}`));
    const rows = rowsAt(1_000, main);
    expect(rows.join("")).not.toMatch(/\p{Cc}/u);
    expect(rows[1]).toBe("    30%");
    expect(Math.max(...rows.map((row) => Bun.stringWidth(row)))).toBeLessThan(60);
  });

  test("many commands fit half of the screen, and the rest is counted", () => {
    const ids = Array.from({ length: 40 }, (_, index) => `c${index}`);
    const main = activityOf(started, ...ids.map((id) => begin(0, id)), ...ids.map((id) => output(id, "line\n")));
    const rows = rowsAt(1_000, main);
    expect(rows).toHaveLength(12);
    expect(rows.at(-1)).toBe("  and 29 more");
  });
});

describe("sub-sessions", () => {
  const subOf = (number: number, activity: Activity): SubSession => {
    return {
      id: `00000000-0000-7000-8000-00000000000${number}`,
      call: `c${number}`,
      agent: "native",
      task: `task ${number}`,
      since: 0,
      activity,
    };
  };

  test("three sub-sessions are shown at once, instead of the calls that started them", () => {
    const spawn = (id: string) => event(0, { type: "tool.started", call: id, name: "spawn_session", input: { task: id } });
    const main = activityOf(started, spawn("c1"), spawn("c2"), spawn("c3"));
    const subs = [1, 2, 3].map((number) => subOf(number, activityOf(started, begin(0, "x", "ls"), output("x", `from ${number}\n`))));
    expect(rowsAt(2_000, main, subs)).toEqual(
      [1, 2, 3].flatMap((number) => [`* 0000000${number} native · task ${number} · bash ls · 2 s`, `    from ${number}`]),
    );
  });

  test("a sub-session that has ended is not shown", () => {
    const main = activityOf(started, begin(0, "c"));
    expect(rowsAt(2_000, main, [subOf(1, activityOf(started, event(1, { type: "turn.ended" })))])).toEqual(["* bash make · 2 s"]);
  });
});
