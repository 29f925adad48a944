// Tests of the update function without a terminal: keys and events in, state, effects and text out.
import { describe, expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import { defaultPolicy } from "../../protocol/api/policy.ts";
import type { Session, Turn } from "../../protocol/tree/turn.ts";
import { screenCommands } from "../keys/commands.ts";
import { viKeys, blocksOf } from "../fixtures/press-keys.ts";
import { firstState, type Effect, type UpdateMessage, type State } from "./state.ts";
import { allBlocks } from "./transcript.ts";
import { update } from "./update.ts";
import { renderFrame } from "../views/screen.ts";
import { statusRow, statusText } from "../views/status.ts";

const size = { columns: 80, rows: 24 };
const fresh = firstState({ bindings: viKeys, size, net: "off", sandbox: "on" });
const session = { id: "s-1", name: null, tip: null, agent: "native", model: null } as Session;

describe("typing", () => {
  test("Enter sends the message and clears the prompt", () => {
    const { state, effects } = press(fresh, "h", "i", "enter");
    expect({ text: state.unsent.text, effects, activity: state.activity }).toEqual({
      text: "",
      effects: [
        { type: "start", prompt: "hi", images: [] },
        { type: "add to history", text: "hi" },
      ],
      activity: "starting",
    });
  });
  test("a message during a turn is steered into it", () => {
    const running = { ...fresh, session, activity: "writing" };
    expect(press(running, "x", "enter").effects[0]).toEqual({ type: "steer", session: "s-1", text: "x", orStart: true });
  });
  test("a refused message returns to the prompt", () => {
    const refused = apply(press(fresh, "h", "i", "enter").state, { type: "refused", unsent: "hi", text: "busy", hint: null });
    expect([refused.unsent.text, refused.activity, refused.transcript.settled.at(-1)?.kind]).toEqual(["hi", null, "error"]);
    expect([refused.notice, renderFrame(refused).rows.at(-4)?.[0]?.text]).toEqual([
      { text: "not sent: busy", isError: true },
      "── not sent: busy ",
    ]);
    const again = apply(press(refused, "enter").state, { type: "refused", unsent: "hi", text: "busy", hint: null });
    expect([again.transcript.settled.length, again.notice?.text]).toEqual([1, "not sent: busy"]);
  });
  test("Esc and a key that arrive as one Alt key count as both, unless Alt has a meaning", () => {
    const { state } = press(press(fresh, "a", "b").state, "alt+I", "x");
    expect([state.mode, state.unsent.text]).toEqual(["insert", "xab"]);
    expect(press(fresh, "a", "alt+space", "c").effects.at(-1)).toEqual({ type: "clear" });
    expect(press(fresh, "a", "space", "b", "alt+b", "x").state.unsent.text).toBe("a xb");
    const running = { ...fresh, mode: "normal" as const, session, activity: "bash" };
    expect(press(running, "alt+j").effects).toEqual([]);
  });
  test("a paste is text, whatever it contains", () => {
    expect(apply(fresh, { type: "paste", text: " :quit\n" }).unsent.text).toBe(" :quit\n");
  });
});

describe("the space leader", () => {
  test("Space and a key run a command in Normal mode and on an empty prompt", () => {
    for (const mode of ["normal", "insert"] as const)
      expect(press({ ...fresh, mode }, "space", "c").effects.at(-1)).toEqual({ type: "clear" });
  });
  test("the leader shows its keys after 200 ms, and they stay until a key", () => {
    const leaderPressed = press({ ...fresh, mode: "normal" }, "space").state;
    const shown = apply(leaderPressed, { type: "tick", now: 200 });
    expect([apply(leaderPressed, { type: "tick", now: 199 }).leader?.isShown, shown.leader?.isShown]).toEqual([false, true]);
    expect(textOf(shown)).toContain("n  net — turn the network for tools on or off");
    expect(textOf(apply(shown, { type: "tick", now: 60_000 }))).toBe(textOf(shown));
    expect(press(shown, "c").effects.at(-1)).toEqual({ type: "clear" });
  });
  test("once the menu of the leader is drawn, no key types anything", () => {
    const shown = apply(press(fresh, "space").state, { type: "tick", now: 200 });
    for (const key of ["escape", "z", "enter"])
      expect(press(shown, key).state).toMatchObject({ leader: null, mode: "insert", unsent: { text: "" } });
    expect(press(press(shown, "escape").state, ..."/help".split(""), "enter").state.overlay).toMatchObject({ topic: "help" });
  });
  test("the leader says that it was cancelled, by Esc or by a key without a command", () => {
    const normal: State = { ...fresh, mode: "normal" };
    expect(press(normal, "space", "escape").state.notice?.text).toBe("Space cancelled");
    expect(press(normal, "space", "z").state.notice?.text).toBe("Space cancelled: no command for Space z");
    expect(press(normal, "space", "z", "j").state.notice).toBeNull();
  });
  test("the leader never drops a typed space", () => {
    expect(press(fresh, "space", "z").state.unsent.text).toBe(" z");
    expect(press(fresh, "a", "space", "c").state.unsent.text).toBe("a c");
    expect(apply(press(fresh, "space").state, { type: "paste", text: "n" }).unsent.text).toBe(" n");
  });
});

describe("commands", () => {
  test("a command is typed after a colon, and a unique prefix is enough", () => {
    expect(press({ ...fresh, mode: "normal" }, ":", "q", "enter").effects).toEqual([{ type: "quit" }]);
    expect(press({ ...fresh, mode: "normal" }, ":", ...Array.from("net"), "space", ...Array.from("on"), "enter").state.net).toBe("on");
  });
  test("an unknown command is reported with the nearest name", () => {
    expect(press({ ...fresh, mode: "normal" }, ":", ...Array.from("clera"), "enter").state.notice?.text).toBe(
      "no command :clera; did you mean :clear?",
    );
  });
  test("no two commands have the same name or key", () => {
    const names = screenCommands.map(({ name }) => name);
    expect(names.filter((name) => !/^[a-z]+(-[a-z]+)*$/.test(name) || names.indexOf(name) !== names.lastIndexOf(name))).toEqual([]);
    const keys = screenCommands.flatMap((command) => command.keys ?? []);
    expect(new Set(keys).size).toBe(keys.length);
  });
});

describe("Ctrl+C", () => {
  test("Ctrl+C stops the turn, and quits when it is pressed again within two seconds", () => {
    const running = { ...fresh, session, activity: "writing" };
    const pressedOnce = press(running, "ctrl+c");
    expect(pressedOnce.effects).toEqual([{ type: "cancel", session: "s-1" }]);
    expect(update(pressedOnce.state, key("ctrl+c", 2000)).effects).toEqual([{ type: "quit" }]);
    expect(update(pressedOnce.state, key("ctrl+c", 2001)).effects).toEqual([{ type: "cancel", session: "s-1" }]);
  });
});

describe("a turn", () => {
  const started = apply(fresh, { type: "set", fields: { session } });
  test("an answer streams into a block that the recorded node replaces", () => {
    const streamed = applyEvents(started, { type: "text.delta", text: "Hel" }, { type: "text.delta", text: "lo" });
    expect(streamed.transcript.writing).toMatchObject([{ kind: "text", text: "Hello", isLive: true }]);
    const recorded = applyEvents(streamed, { type: "node.added", node: node("agent", [{ kind: "text", text: "Hello." }]) });
    expect(allBlocks(recorded.transcript)).toEqual([{ id: "n-1.0", kind: "text", text: "Hello." }]);
  });
  test("a tool call is shown on one line with its result, and can be opened", () => {
    const call: Part = { kind: "call", id: "c1", name: "bash", input: { command: "ls" } };
    const result: Part = { kind: "result", call: "c1", name: "bash", text: "a\nb", isError: false };
    const done = applyEvents(
      started,
      { type: "node.added", node: node("agent", [call]) },
      { type: "node.added", node: node("tool", [result]) },
    );
    expect(textOf(done)).toContain("> bash ls · 2 lines");
    const focused = press({ ...done, mode: "normal" }, "[").state;
    const opened = press(focused, "enter").state;
    expect(textOf(opened)).toMatch(/v bash ls[^]*│ a\n[^]*│ b\n/);
    expect(textOf(press(opened, "o").state)).toBe(textOf(focused));
    expect(textOf(press(done, "ctrl+o").state)).toContain("v bash ls");
  });
  test("a command without network shows the whole reason below it, and the next step above the prompt", () => {
    const reason = "network is off (policy workspace): commands reach no host; --net on, or net in the config, allows it for the next run";
    const call: Part = { kind: "call", id: "c1", name: "bash", input: { command: "curl x.y" } };
    const text = `curl: (6) Could not resolve host: x.y\n[${reason}]\nexit code 6`;
    const denied = applyEvents(
      started,
      { type: "node.added", node: node("agent", [call]) },
      { type: "tool.denied", call: "c1", what: "net", text: reason },
      { type: "node.added", node: node("tool", [{ kind: "result", call: "c1", name: "bash", text, isError: true }]) },
    );
    expect(textOf(denied).replace(/\n\s+│ /g, " ")).toContain(`> bash curl x.y · exit 6 curl: (6) Could not resolve host: x.y [${reason}]`);
    expect(textOf(denied)).toContain("── the network of tools is off: :net on turns it on for the next turn ─");
  });
  test("a retry is announced with its time and reason until it begins", () => {
    const retried = applyEvents(started, {
      type: "model.retried",
      attempt: 1,
      waitMs: 1500,
      error: { kind: "overloaded", message: "busy" },
    });
    expect(textOf(retried)).toMatch(/── attempt 2, retrying in 1\.5 s: busy ─[^]*\[retrying\]/);
    for (const next of [{ type: "text.delta", text: "Hello" } as const, { type: "turn.ended", turn: turn({}), session } as const])
      expect(textOf(applyEvents(retried, next))).not.toContain("attempt 2");
  });
  test("events of another session change nothing but the questions", () => {
    const other = { ...event({ type: "text.delta", text: "old" }), sessionId: "s-0" };
    expect(apply(started, { type: "event", event: other })).toBe(started);
  });
  test("the status bar adds up the usage of turns", () => {
    const usage = { input: 434, output: 567, cacheRead: 800, cacheWrite: 0 };
    const wide = { ...started, size: { ...started.size, columns: 120 } };
    const ended = applyEvents(wide, { type: "turn.ended", turn: turn({ usage, costUsd: 0.42 }), session });
    expect(statusText(ended)).toBe("[INSERT] [idle] [i:1234(c:800) o:567 | total i:1234 o:567 $0.42] [NET: off] [SANDBOX: on]");
    const twice = applyEvents(ended, { type: "turn.ended", turn: turn({ usage, costUsd: null }), session });
    expect(statusText(twice)).toContain("| total i:2468 o:1134 $0.42+]");
  });
  test("the network in the status bar is green if it is on, and red if it is off", () => {
    const badge = (net: "on" | "off") => statusRow({ ...fresh, net }).find(({ text }) => text.includes("NET"));
    expect(badge("on")).toMatchObject({ text: "[NET: on]", style: { color: 2, inverse: true } });
    expect(badge("off")).toMatchObject({ text: "[NET: off]", style: { color: 1, inverse: true } });
  });
  test("mode and sandbox stay in the status bar at any width and usage", () => {
    const usage = { input: 43_400, output: 25_670, cacheRead: 1_800_000, cacheWrite: 0 };
    const ended = applyEvents(started, { type: "turn.ended", turn: turn({ usage, costUsd: 12.42 }), session });
    const statusAt = (columns: number) => statusText({ ...ended, size: { ...ended.size, columns } });
    expect(statusAt(200)).toBe("[INSERT] [idle] [i:1843400(c:1800000) o:25670 | total i:1843400 o:25670 $12.42] [NET: off] [SANDBOX: on]");
    expect(statusAt(80)).toBe("[INSERT] [idle] [total i:1.8M o:25.7k $12.42] [NET: off] [SANDBOX: on]");
    expect(statusAt(49)).toBe("[INSERT] [idle] [$12.42] [NET: off] [SANDBOX: on]");
    expect(statusAt(40)).toBe("[INSERT] [idle] [NET: off] [SANDBOX: on]");
    expect(statusAt(39)).toBe("[INSERT] [NET: off] [SANDBOX: on]");
  });
  test("a question is answered in an overlay, never by text of a message", () => {
    const ask = { id: "a1", session: "s-1", question: "Which colour?", options: ["red", "blue"], closedAt: null } as never;
    const typing = applyEvents(press(started, "d", "r").state, { type: "ask.opened", ask });
    const typed = press(typing, "2").state;
    expect(textOf(typed)).toContain("> dr2\n[INSERT] [asking]");
    expect(textOf(typing)).toContain("── the agent asks: send the message first, or Esc and Tab, to answer ─");
    expect(textOf(press(typed, "enter").state)).toMatch(/Which colour\?[^]*answer >[^]*>\n\[INSERT\] \[asking\]/);
    const asked = press(typing, "escape", "tab").state;
    expect(textOf(asked)).toMatch(/Which colour\?[^]*1\. red[^]*2\. blue[^]*answer >[^]*> dr\n\[NORMAL\] \[asking\]/);
    const answered = press(asked, "2", "enter");
    expect(answered.effects).toEqual([{ type: "answer", ask: "a1", text: "2" }]);
    expect(applyEvents(answered.state, { type: "ask.closed", ask }).asks).toEqual([]);
  });
});

describe("the view", () => {
  const many = Array.from({ length: 100 }, (_, index) => ({
    ...node("user", [{ kind: "text" as const, text: `line ${index}` }]),
    id: `n${index}`,
  }));
  const full = apply({ ...fresh, mode: "normal" }, { type: "opened", session, blocks: blocksOf(many), turns: [] });
  test("the view follows new output only at the end", () => {
    const more: EventBody = { type: "node.added", node: { ...node("user", [{ kind: "text", text: "more" }]), id: "x" } };
    expect(textOf(applyEvents(full, more))).toContain("▌ more");
    const scrolledUp = press(full, "k").state;
    const rows = (state: State) => renderFrame(state).rows.slice(0, 20);
    expect(rows(applyEvents(scrolledUp, more))).toEqual(rows(scrolledUp));
    expect(textOf(press(applyEvents(scrolledUp, more), "G").state)).toContain("▌ more");
  });
  test("gg scrolls to the beginning, and no further", () => {
    const top = press(full, "g", "g", "k").state;
    expect([textOf(top).split("\n")[0], press(full, "g", "j").state.pending]).toEqual(["  ▌ line 0", null]);
  });
  test("the end of the conversation stays visible above a question", () => {
    const ask = { id: "a1", session: "s-1", question: "Which?", options: [], closedAt: null } as never;
    const [transcript] = textOf(press(applyEvents(full, { type: "ask.opened", ask }), "tab").state).split("┌─ the agent asks");
    expect(transcript).toEndWith("  ▌ line 99\n");
  });
  test("the whole help can be scrolled at 80 × 24, and no line is cut", () => {
    const scrolled = Array.from({ length: 110 }).reduce<{ state: State; text: string }>(
      ({ state, text }) => ({ state: press(state, "j").state, text: text + textOf(state) }),
      { state: press(full, "?").state, text: "" },
    );
    expect(screenCommands.filter((command) => !scrolled.text.includes(` ${command.summary} `)).map((command) => command.summary)).toEqual(
      [],
    );
    expect(scrolled.text).not.toContain("… │");
    expect(textOf(press(scrolled.state, "G", "k", "j").state)).toBe(textOf(press(scrolled.state, "G").state));
    expect(textOf(press(scrolled.state, "G", "k").state)).not.toBe(textOf(press(scrolled.state, "G").state));
    expect(press(scrolled.state, "escape").state.overlay).toBeNull();
  });
  const help = { kind: "text" as const, topic: "help" as const, lines: [], top: 0 };
  test("the frame is as high as the terminal and never wider, at every size", () => {
    for (const columns of [20, 40, 80, 200])
      for (const rows of [8, 24, 60]) {
        const frame = renderFrame(
          apply({ ...full, overlay: rows === 24 ? help : null }, { type: "set", fields: { size: { columns, rows } } }),
        );
        expect(frame.rows).toHaveLength(rows);
        expect(frame.rows.filter((row) => Bun.stringWidth(row.map((run) => run.text).join("")) > columns)).toEqual([]);
      }
  });
});

// --- helpers ----------------------------------------------------------------------------------------------

type EventBody = { [T in Event["type"]]: Omit<Extract<Event, { type: T }>, "seq" | "n" | "sessionId" | "turnId" | "at"> }[Event["type"]];

function apply(state: State, message: UpdateMessage): State {
  return update(state, message).state;
}

function applyEvents(state: State, ...events: EventBody[]): State {
  return events.reduce((current, body) => apply(current, { type: "event", event: event(body) }), state);
}

function event(body: EventBody): Event {
  return { seq: 1, n: 1, sessionId: "s-1", turnId: "t-1", at: 0, ...body } as Event;
}

function key(name: string, now = 0): UpdateMessage {
  return { type: "key", key: { name, text: name === "space" ? " " : name.length === 1 ? name : "" }, now };
}

function press(state: State, ...names: string[]): { state: State; effects: Effect[] } {
  return names.reduce<{ state: State; effects: Effect[] }>((result, name) => update(result.state, key(name)), { state, effects: [] });
}

function textOf(state: State): string {
  return renderFrame(state)
    .rows.map((row) =>
      row
        .map((run) => run.text)
        .join("")
        .trimEnd(),
    )
    .join("\n");
}

function node(author: Node["author"], parts: Part[]): Node {
  return { id: "n-1", parent: null, tree: "t", session: "s-1", turn: "t-1", at: 0, author, parts };
}

function turn(fields: Partial<Turn>): Turn {
  const spent = { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, costUsd: 0, steps: 1 };
  const ids = { id: "t-1", session: "s-1", parent: null, tip: null, nativeId: null };
  const ended = { startedAt: 0, endedAt: 1, status: "ok" as const, error: null, enforced: null };
  return { ...ids, agent: "native", model: null, policy: defaultPolicy, ...spent, ...ended, ...fields };
}
