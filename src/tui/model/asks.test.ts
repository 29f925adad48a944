// Tests of questions: chosen, typed and postponed answers, several questions, and the name of the asking agent.
import { describe, expect, test } from "bun:test";
import { viKeys } from "../fixtures/press-keys.ts";
import type { Ask } from "../../protocol/api/control.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { zeroUsage } from "../../protocol/tree/usage.ts";
import { firstState, type Effect, type UpdateMessage, type State } from "./state.ts";
import { update } from "./update.ts";
import { renderFrame } from "../views/screen.ts";
import { statusText } from "../views/status.ts";

const session = { id: "s-1", name: null, tip: null, agent: "native", model: null } as Session;
const fresh: State = { ...firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }), session };
const colour = ask({ id: "a1", question: "Which colour?", options: ["red", "a long one, ".repeat(10), "blue"] });
const name = ask({ id: "a2", question: "Which name?" });

describe("a question", () => {
  const withQuestion = withEvent(fresh, "ask.opened", colour);
  test("the first option is chosen, and arrows or its number choose another one", () => {
    expect(press(withQuestion, "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "1" }]);
    expect(press(withQuestion, "down", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "2" }]);
    expect(press(withQuestion, "3", "up", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "2" }]);
    expect(press(withQuestion, "3", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "3" }]);
    expect(press(withQuestion, "up", "up", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "1" }]);
  });
  test("a question is answered with typed text, also text that starts with j, k or the number of an option", () => {
    for (const text of ["just use Redis", "keep it", "2 replicas", "3rd"])
      expect(press(withQuestion, ...Array.from(text, (key) => (key === " " ? "space" : key)), "enter").effects).toEqual([
        { type: "answer", ask: "a1", text },
      ]);
    expect(press(withQuestion, "g", "r", "j", "7", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "grj7" }]);
    expect(press(withQuestion, "down", "down", "down", "j", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "j" }]);
    expect(press(withQuestion, "down", "down", "down", "enter").effects).toEqual([]);
    const pasted = update(withQuestion, { type: "paste", text: "two\nlines" }).state;
    expect(press(pasted, "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "two\nlines" }]);
    expect(press(press(withQuestion, "x").state, "up", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "3" }]);
  });
  test("a question stays until it is closed; Esc postpones it and Space q shows it again", () => {
    const postponed = press(withQuestion, "escape").state;
    expect([textOf(postponed).includes("Which colour?"), statusText(postponed)]).toEqual([false, expect.stringContaining("[asking]")]);
    expect(press(postponed, "h", "i").state.unsent.text).toBe("hi");
    const shownAgain = press(postponed, "space", "q").state;
    expect(textOf(shownAgain)).toMatch(/─ the agent asks ─[^]*Which colour\?[^]*Esc: later/);
    const closed = withEvent(shownAgain, "ask.closed", colour);
    expect([closed.asks, statusText(closed).includes("[idle]")]).toEqual([[], true]);
    expect(press(closed, "space", "q").effects).toEqual([{ type: "list asks" }]);
    const ended = { type: "turn.ended", turn: { usage: zeroUsage, costUsd: 0, steps: 1, enforced: null, error: null }, session };
    expect(withEvent(withQuestion, "turn.ended", ended).asks).toHaveLength(1);
  });
  test("another question starts with its own first option", () => {
    const second = withEvent(
      withEvent(press(withQuestion, "3").state, "ask.opened", { ...name, options: ["Al", "Bo"] }),
      "ask.closed",
      colour,
    );
    expect([textOf(second).includes("Which name?"), press(second, "enter").effects]).toEqual([
      true,
      [{ type: "answer", ask: "a2", text: "1" }],
    ]);
    const again = withEvent(press(press(withQuestion, "1").state, "escape").state, "ask.opened", name);
    expect(press({ ...again, mode: "normal" }, "enter").effects).toEqual([]);
  });
  test("a question takes no keys of the transcript, a command or the leader, and says how to answer it", () => {
    const spawned = withEvent(fresh, "session.spawned", { call: "c", session: "s-2", agent: "codex", task: "count" });
    const reading = withEvent(press(spawned, "escape", "[").state, "ask.opened", colour);
    expect(textOf(reading)).toMatch(/── the agent asks \(Tab answers\): Which colour\? ─/);
    expect(press(reading, "enter").effects).toMatchObject([{ type: "visit", session: "s-2" }]);
    expect(press(reading, "j", "k", "]", "1", "o").state).toMatchObject({
      askFocus: { option: 0, line: { text: "" } },
      toggled: new Set(["s-2"]),
    });
    expect(press(reading, "tab", "2", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "2" }]);
    expect(textOf(press(reading, "i").state)).toMatch(/─ the agent asks ─[^]*\[INSERT\]/);
    const typing = withEvent(press(fresh, "escape", ":", "q").state, "ask.opened", colour);
    expect(textOf(typing)).toContain("── the agent asks (Esc, then Tab answers): Which colour? ─");
    expect(press(typing, "enter").effects).toEqual([{ type: "quit" }]);
    expect(press(withEvent(press(fresh, "space").state, "ask.opened", colour), "f").effects).toMatchObject([{ type: "fork" }]);
  });
  test("a question shows the asking agent and how long it waits", () => {
    const expiresAt = new Date(2030, 0, 1, 14, 5).getTime();
    const withSubSession = withEvent(fresh, "session.spawned", { call: "c", session: "s-2", agent: "codex", task: "count the birds" });
    expect(textOf(withEvent(withSubSession, "ask.opened", { ...name, session: "s-2", expiresAt }))).toMatch(
      /─ codex, asked to count the birds, asks ─[^]*waits until 14:05/,
    );
    expect(textOf(withEvent(fresh, "ask.opened", { ...name, session: "0000-11111111" }))).toContain("─ session 11111111 asks ─");
  });
  test("a question fits on any screen, with its answers visible", () => {
    const many = ask({ id: "a3", question: "word ".repeat(800), options: Array.from({ length: 30 }, (_, index) => `option ${index}`) });
    for (const rows of [10, 24, 60])
      for (const columns of [24, 80]) {
        const small = { ...withEvent(fresh, "ask.opened", many), size: { columns, rows } };
        const chosen = press(small, ...Array.from({ length: 29 }, () => "down")).state;
        expect([textOf(small), textOf(chosen)]).toEqual([expect.stringContaining("1. option 0"), expect.stringContaining("30. option 29")]);
        expect(textOf(chosen)).toContain("answer >");
        expect(renderFrame(chosen).rows).toHaveLength(rows);
      }
  });
});

describe("several questions", () => {
  const both = withEvent(withEvent(fresh, "ask.opened", colour), "ask.opened", name);
  test("several questions are counted, and Tab goes to the next one", () => {
    expect(textOf(both)).toMatch(/the agent asks \(1 of 2\)[^]*Which colour\?[^]*Tab: next question/);
    const next = press(both, "x", "tab");
    expect([textOf(next.state).includes("Which name?"), next.state.askFocus.line.text]).toEqual([true, ""]);
    expect(press(next.state, "B", "o", "enter").effects).toEqual([{ type: "answer", ask: "a2", text: "Bo" }]);
  });
  test("a typed answer stays when other questions open or close", () => {
    const typing = press(withEvent(fresh, "ask.opened", name), "B").state;
    expect(press(withEvent(typing, "ask.opened", colour), "o", "enter").effects).toEqual([{ type: "answer", ask: "a2", text: "Bo" }]);
    expect(withEvent(withEvent(typing, "ask.opened", colour), "ask.closed", colour).askFocus.line.text).toBe("B");
    expect(withEvent(typing, "ask.closed", name)).toMatchObject({ asks: [], askFocus: { line: { text: "" } } });
  });
  test("postponed questions are listed again, the oldest first", () => {
    expect(update(fresh, { type: "asks", asks: [name, colour] }).state.asks.map(({ id }) => id)).toEqual(["a2", "a1"]);
    expect(update(both, { type: "answered", ask: "a1" }).state.asks.map(({ id }) => id)).toEqual(["a2"]);
  });
});

// --- helpers ----------------------------------------------------------------------------------------------

function ask(fields: Partial<Ask>): Ask {
  return { id: "a", session: "s-1", turn: "t", call: "c", question: "?", options: [], expiresAt: null, closedAt: null, ...fields } as Ask;
}

function withEvent(state: State, type: Event["type"], body: object): State {
  const head = { seq: 1, sessionId: "s-1", turnId: "t", at: 0, type };
  return update(state, { type: "event", event: (type.startsWith("ask.") ? { ...head, ask: body } : { ...head, ...body }) as Event }).state;
}

function press(state: State, ...names: string[]): { state: State; effects: Effect[] } {
  const key = (pressed: string): UpdateMessage => {
    const text = pressed === "space" ? " " : pressed.length === 1 ? pressed : "";
    return { type: "key", key: { name: pressed, text }, now: 0 };
  };
  return names.reduce<{ state: State; effects: Effect[] }>((result, pressed) => update(result.state, key(pressed)), { state, effects: [] });
}

function textOf(state: State): string {
  return renderFrame(state)
    .rows.map((row) => row.map((run) => run.text).join(""))
    .join("\n");
}
