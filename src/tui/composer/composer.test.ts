// Tests of the composer: keys in, the unsent message and the effects out.
import { describe, expect, test } from "bun:test";
import { viKeys } from "../fixtures/press-keys.ts";
import { firstState, type Effect, type UpdateMessage, type State } from "../model/state.ts";
import type { PendingTurn } from "../../protocol/api/control.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { update } from "../model/update.ts";
import { renderFrame } from "../views/screen.ts";

const fresh = firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" });
const session = { id: "s-1", name: null, tip: null, agent: "native", model: null } as Session;

describe("history", () => {
  const sent = apply(fresh, { type: "history", entries: ["one", "two\nlines", "three"] });
  test("Up in the first row and Down in the last row go through history, and the unsent message is kept", () => {
    const typing = press(sent, "x").state;
    expect(unsentTexts(typing, "up", "up", "up", "up", "up", "down", "down", "down", "down")).toEqual([
      "three",
      "two\nlines",
      "two\nlines", // moves to its first row
      "one",
      "one",
      "two\nlines",
      "three",
      "x",
      "x",
    ]);
  });
  test("Up and Down move by visible rows in a long line", () => {
    const withLongLine = apply(sent, { type: "paste", text: "w".repeat(200) });
    const movedUp = press(withLongLine, "up");
    expect([movedUp.state.unsent.text, movedUp.state.unsent.cursor]).toEqual([withLongLine.unsent.text, 120]);
    expect(press(movedUp.state, "up", "up").state.unsent.text).toBe("three");
  });
  test("sent messages are added to the history, and Ctrl+R finds them", () => {
    const { state, effects } = press(sent, "n", "e", "w", "enter");
    expect(effects.at(-1)).toEqual({ type: "add to history", text: "new" });
    const picker = press(state, "ctrl+r", "l", "i", "n");
    expect(textOf(picker.state)).toContain("two lines");
    expect(press(picker.state, "enter").state.unsent.text).toBe("two\nlines");
    expect(press(fresh, "ctrl+r").state.notice?.text).toBe("no messages sent in this project yet");
  });
});

describe("undo", () => {
  test("undo reverts a word, a deletion or a paste", () => {
    const typed = press(fresh, ..."one two".split(""), "ctrl+w").state;
    const steps = unsentTexts(apply(typed, { type: "paste", text: "ABC" }), "ctrl+_", "ctrl+_", "ctrl+_", "ctrl+_", "ctrl+_");
    expect(steps).toEqual(["one ", "one two", "one ", "one", ""]);
  });
});

describe("a long paste", () => {
  const text = Array.from({ length: 340 }, (_, index) => `row ${index}`).join("\n");
  const pasted = apply(press(fresh, "a", "space").state, { type: "paste", text });
  test("a long paste is a label, and its text is sent", () => {
    expect(pasted.unsent.text).toBe("a [pasted 340 lines]");
    const twice = apply(pasted, { type: "paste", text });
    expect(twice.unsent.text).toBe("a [pasted 340 lines][pasted 340 lines, 2]");
    expect(press(pasted, "!", "enter").effects[0]).toEqual({ type: "start", prompt: `a ${text}!`, images: [] });
  });
  test("one key deletes a whole label, and a refused message has its labels again", () => {
    expect(press(pasted, "backspace").state.unsent.text).toBe("a ");
    const sent = press(pasted, "enter").state;
    const refused = apply(sent, { type: "refused", unsent: `a ${text}`, text: "busy", hint: null });
    expect([refused.unsent.text, press(refused, "enter").effects[0]]).toEqual([
      "a [pasted 340 lines]",
      { type: "start", prompt: `a ${text}`, images: [] },
    ]);
  });
  test("the label of a long line shows its number of characters", () => {
    expect(apply(fresh, { type: "paste", text: "x".repeat(2001) }).unsent.text).toBe("[pasted 2001 characters]");
  });
});

describe("a pasted image path", () => {
  test("the path of an image is attached if it is pasted alone, in any notation", () => {
    const notations = ["/tmp/a b.png", "'/tmp/a b.png'", "/tmp/a\\ b.png", "file:///tmp/a%20b.png"];
    const effects = notations.map((text) => update(fresh, { type: "paste", text }).effects[0]);
    expect(effects.map((effect) => (effect?.type === "attach" ? effect.path : null))).toEqual([
      null,
      ...notations.slice(1).map(() => "/tmp/a b.png"),
    ]);
    expect(update(fresh, { type: "paste", text: "look at /tmp/a.png" }).effects).toEqual([]);
  });
  test("an image is sent with the message, unless its label was deleted", () => {
    const attached = apply(fresh, { type: "attached", path: "/tmp/a.png", text: "/tmp/a.png", problem: null });
    expect(attached.unsent.text).toBe("[image a.png]");
    expect(press(attached, "?", "enter").effects[0]).toEqual({ type: "start", prompt: "[image a.png]?", images: ["/tmp/a.png"] });
    expect(press(attached, "backspace", "x", "enter").effects[0]).toEqual({ type: "start", prompt: "x", images: [] });
    const running = press({ ...attached, session, activity: "writing" }, "enter");
    expect([running.effects, running.state.unsent.text]).toEqual([[], "[image a.png]"]);
  });
  test("the path of a missing image stays text", () => {
    const text = apply(fresh, { type: "attached", path: null, text: "/x.png", problem: "no file /x.png" });
    expect([text.unsent.text, text.notice?.text]).toEqual(["/x.png", "no file /x.png"]);
  });
});

describe("completion", () => {
  test("files are searched with every letter, and only the latest result is shown", () => {
    const typed = press(fresh, "s", "e", "e", "space", "@", "a", "p");
    expect(typed.effects).toEqual(["", "a", "ap"].map((query) => ({ type: "find files", query })));
    expect(textOf(typed.state)).toContain("searching…");
    const late = apply(typed.state, { type: "found files", query: "a", files: ["a.ts"], problem: null });
    expect(late).toBe(typed.state);
    const withFiles = apply(typed.state, { type: "found files", query: "ap", files: ["src/app.ts", "a pie.ts"], problem: null });
    expect(textOf(withFiles)).toMatch(/@src\/app\.ts/);
    expect(press(withFiles, "tab").state.unsent.text).toBe("see @src/app.ts ");
    expect(press(withFiles, "down", "enter").state.unsent.text).toBe('see @"a pie.ts" ');
    expect(renderFrame(withFiles).cursor).toEqual({ row: 21, column: 9 });
  });
  test("Esc closes the menu until another word starts, and an email address opens none", () => {
    const open = apply(press(fresh, "@", "a").state, { type: "found files", query: "a", files: ["a.ts"], problem: null });
    const closed = press(open, "escape").state;
    expect([closed.mode, textOf(closed).includes("@a.ts"), textOf(press(closed, "b").state).includes("files")]).toEqual([
      "insert",
      false,
      false,
    ]);
    expect(press(closed, "enter").effects[0]).toMatchObject({ type: "start", prompt: "@a" });
    expect(press(closed, "space", "@").effects.at(-1)).toEqual({ type: "find files", query: "" });
    expect(press(fresh, ..."a@b".split("")).effects).toEqual([]);
  });
  test("a slash opens the menu of commands, and Enter runs one", () => {
    const typed = press(fresh, "/", "q", "u");
    expect(textOf(typed.state)).toMatch(/\/quit +leave; the session is saved/);
    expect(press(typed.state, "enter")).toMatchObject({ state: { unsent: { text: "" } }, effects: [{ type: "quit" }] });
    expect(press(typed.state, "tab").state.unsent.text).toBe("/quit ");
  });
});

describe("the first character of a message", () => {
  test("a message that starts with a slash is a command if it exists, else text", () => {
    expect(press(fresh, ..."/net on".split(""), "enter").state.net).toBe("on");
    const path = "/etc/hosts is a file";
    expect(press(fresh, ...path.split(""), "enter").effects[0]).toMatchObject({ type: "start", prompt: path });
    const misspelled = press(fresh, ..."/modle x".split(""), "enter");
    expect([misspelled.effects, misspelled.state.notice?.text, misspelled.state.unsent.text]).toEqual([
      [],
      "no command /modle; did you mean /model? A space before it sends it as text",
      "/modle x",
    ]);
  });
  test("an unknown command is never sent, and a space before it sends it", () => {
    for (const word of ["/xylophone", "/Foo2", "/frobnicate now", "/x_y"]) {
      const unknown = press(fresh, ...word.split(""), "enter");
      expect([unknown.effects, unknown.state.unsent.text]).toEqual([[], word]);
      expect(unknown.state.notice?.text).toMatch(/^no command \/\w+; .* A space before it sends it as text$/);
    }
    expect(press(fresh, "x", ..."/xylophone".split(""), "home", "delete", "space", "enter").effects.at(-2)).toMatchObject({
      type: "start",
      prompt: "/xylophone",
    });
  });
  test("Enter after the whole name of a command runs that command, not a longer one", () => {
    expect(press(fresh, ..."/agent".split(""), "enter").effects.at(-1)).toEqual({ type: "list", purpose: "agents" });
    expect(press(fresh, ..."/exit".split(""), "enter").effects).toEqual([{ type: "quit" }]);
    expect(press(fresh, ..."/MODEL x/y".split(""), "enter").effects).toEqual([{ type: "model", name: "x/y" }]);
  });
  test("a message that starts with an exclamation mark runs in a shell, and waits while a turn runs", () => {
    expect(press(fresh, ..."!ls -l".split(""), "enter").effects[0]).toEqual({ type: "execute", command: "ls -l", unsent: "!ls -l" });
    const running = press({ ...fresh, session, activity: "writing" }, "!", "l", "s", "enter");
    expect([running.effects, running.state.unsent.text]).toEqual([[], "!ls"]);
    expect(textOf(running.state)).toContain("── a turn is running: press Enter again when it has ended; Ctrl+C stops it ");
    expect(press({ ...running.state, activity: null }, "enter").effects[0]).toMatchObject({ type: "execute", command: "ls" });
  });
});

describe("Esc", () => {
  test("Esc leaves Insert mode, then the block in focus, then stops the turn", () => {
    const running = { ...fresh, session, activity: "writing", focus: "x" };
    const first = press(running, "escape");
    const second = press(first.state, "escape");
    const third = press(second.state, "escape");
    expect([first, second, third].map(({ state, effects }) => [state.mode, state.focus, effects])).toEqual([
      ["normal", "x", []],
      ["normal", null, []],
      ["normal", null, [{ type: "cancel", session: "s-1" }]],
    ]);
    expect(press(third.state, "escape").effects).toEqual([]);
  });
});

describe("a message as a turn of its own", () => {
  const type = (state: State, text: string) => press({ ...state, unsent: { text, cursor: text.length } }, "enter");
  test("/queue queues it while a turn runs, and starts it at once in an idle session", () => {
    const text = "/queue then lint";
    expect(type({ ...fresh, session, activity: "writing" }, text).effects).toEqual([{ type: "queue", text: "then lint" }]);
    expect(type({ ...fresh, session }, text).effects).toEqual([{ type: "start", prompt: "then lint", images: [] }]);
  });
  test("/loop starts a turn that is repeated until the command succeeds", () => {
    const started = type({ ...fresh, session }, '/loop "npm test" fix it');
    expect(started.effects).toEqual([{ type: "start", prompt: "fix it", images: [], until: "npm test" }]);
    expect(type({ ...fresh, session }, "/loop").state.notice?.text).toContain('/loop "npm test" make the tests pass');
  });
  test("/check sets the check of the next turns, and off removes it", () => {
    expect(type(fresh, "/check npm test").effects).toEqual([{ type: "check", command: "npm test" }]);
    expect(type(fresh, "/check off").effects).toEqual([{ type: "check", command: null }]);
  });
  test("turns that start later have one line, and /cancel ends a wait", () => {
    const turn = { id: "p", session: session.id, prompt: "lint", place: 1, queuedAt: 0, problem: null } as PendingTurn;
    const wakeAt = Date.now() + 3_600_000;
    const later = [
      { ...turn, kind: "waiting", wakeAt },
      { ...turn, kind: "queued", wakeAt: null },
    ] as PendingTurn[];
    const state = { ...fresh, session, later };
    expect(textOf(state)).toMatch(/^waiting until [^\n]*\d\d:\d\d · queued 1: lint *$/m);
    const cancelled = type(state, "/cancel");
    expect([cancelled.effects, cancelled.state.later.length]).toEqual([[{ type: "cancel", session: session.id }], 1]);
  });
});

describe("a queued message", () => {
  const queue = [{ id: "q1", text: "later", queuedAt: 0 }];
  const running = { ...fresh, session, activity: "writing", queue };
  test("Up in an empty prompt withdraws a queued message, and text typed since stays after it", () => {
    expect(press(running, "up").effects).toEqual([{ type: "take back", session: "s-1", input: "q1" }]);
    const restored = apply(press(running, "x").state, { type: "taken back", input: "q1", text: "later" });
    expect([restored.unsent.text, restored.queue]).toEqual(["later\nx", []]);
  });
  test("a queued message says which key withdraws it, and after a stopped turn that it goes with the next one", () => {
    expect(textOf(running)).toMatch(/^queued: later · Up takes it back *$/m);
    expect(textOf({ ...running, activity: null })).toMatch(/^queued for the next turn: later · Up takes it back *$/m);
    expect(textOf(press(running, "x").state)).toMatch(/^queued: later *$/m);
    expect(textOf({ ...running, size: { columns: 24, rows: 24 } })).toMatch(/^queued: later *$/m);
  });
  test("a queued message that the agent already has is not withdrawn", () => {
    const late = apply(running, { type: "taken back", input: "q1", text: null });
    expect([late.unsent.text, late.notice?.text]).toEqual(["", "the agent already has that message"]);
  });
});

describe("the unsent messages of several sessions", () => {
  const opened = (id: string): UpdateMessage => ({ type: "opened", session: { ...session, id }, blocks: [], turns: [] });
  test("text that is typed before the first session is shown stays", () => {
    expect(apply(press(fresh, "h", "i").state, opened("s-1")).unsent.text).toBe("hi");
  });
  test("each session keeps its own unsent message", () => {
    const first = press(apply(fresh, opened("s-1")), "o", "n", "e").state;
    const second = apply(first, opened("s-2"));
    expect(second.unsent.text).toBe("");
    const back = apply(press(second, "t", "w", "o").state, opened("s-1"));
    expect(back.unsent.text).toBe("one");
    expect(apply(back, opened("s-2")).unsent.text).toBe("two");
  });
  test("a fork takes the unsent message over", () => {
    const typed = apply(press(apply(fresh, opened("s-1")), "h", "i").state, { type: "set", fields: { carriesDraft: true } });
    const forked = apply(typed, opened("s-2"));
    expect([forked.unsent.text, apply(forked, opened("s-1")).unsent.text]).toEqual(["hi", ""]);
  });
});

// --- helpers ----------------------------------------------------------------------------------------------

function apply(state: State, message: UpdateMessage): State {
  return update(state, message).state;
}

function press(state: State, ...keys: string[]): { state: State; effects: Effect[] } {
  return keys.reduce<{ state: State; effects: Effect[] }>(
    (result, name) => {
      const text = name === "space" || name === " " ? " " : name.length === 1 ? name : "";
      const next = update(result.state, { type: "key", key: { name: name === " " ? "space" : name, text }, now: 0 });
      return { state: next.state, effects: [...result.effects, ...next.effects] };
    },
    { state, effects: [] },
  );
}

/** The unsent message after each key. */
function unsentTexts(state: State, ...keys: string[]): string[] {
  return keys.map((_, index) => press(state, ...keys.slice(0, index + 1)).state.unsent.text);
}

function textOf(state: State): string {
  return renderFrame(state)
    .rows.map((row) => row.map((run) => run.text).join(""))
    .join("\n");
}
