// Tests of the plain preset: no modes, and the keys that users of other programs expect.
import { describe, expect, test } from "bun:test";
import { slashTable } from "../../protocol/api/slash-commands.ts";
import { apply, blocksOf, effectsOf, nodeOf, press, sampleSession, textOf, viKeys } from "../fixtures/press-keys.ts";
import { firstState, type State } from "../model/state.ts";
import { update } from "../model/update.ts";
import { screenCommands } from "./commands.ts";
import { keysOf } from "./keymap.ts";

const size = { columns: 80, rows: 24 };
const fresh = firstState({ size, net: "off", sandbox: "on" });
const session = sampleSession("s-1", { tip: "n2" });
const nodes = [
  nodeOf("n0", null, "user", "first question"),
  nodeOf("n1", "n0", "agent", "first answer"),
  nodeOf("n2", "n1", "user", "second\nquestion"),
];
const opened = apply(fresh, { type: "opened", session, blocks: blocksOf(nodes), turns: [] });
const running: State = { ...opened, activity: "bash" };
const keysFor = (text: string) => Array.from(text, (key) => (key === " " ? "space" : key));

describe("typing", () => {
  test("every character is typed, also Space on an empty prompt and letters that are vi commands", () => {
    for (const text of [" j", "iaIA", ":q", "[]o", "q n N", "gg"]) expect(press(fresh, ...keysFor(text)).state.unsent.text).toBe(text);
    expect(press(fresh, "space").state.leader).toBeNull();
  });
  test("a line break is typed with its keys, or with a backslash before Enter", () => {
    const typed = press(fresh, "a", "\\", "enter", "b").state;
    expect(typed.unsent.text).toBe("a\nb");
    const broken = update(typed, { type: "key", key: { name: "newline", text: "\n" }, now: 0 }).state;
    expect(press(broken, "c").state.unsent.text).toBe("a\nb\nc");
    expect(effectsOf(fresh, "a", "\\", "\\", "enter")[0]).toMatchObject({ type: "start", prompt: "a\\\\" });
  });
  test("Ctrl+D leaves on an empty prompt, and deletes a character in a message", () => {
    expect(press(fresh, "ctrl+d").effects).toEqual([{ type: "quit" }]);
    expect(press(fresh, "a", "b", "home", "ctrl+d")).toMatchObject({ state: { unsent: { text: "b" } }, effects: [] });
  });
  test("Ctrl+G opens the message in the editor, and the edited text is back in the prompt", () => {
    expect(press(fresh, "h", "i", "ctrl+g").effects).toEqual([{ type: "edit prompt", text: "hi" }]);
    expect(apply(fresh, { type: "prompt", text: "longer\ntext" }).unsent.text).toBe("longer\ntext");
  });
  test("Shift+Tab and /policy change the policy", () => {
    expect(press(fresh, "shift+tab").effects).toEqual([{ type: "policy", name: null }]);
    expect(press(fresh, ...keysFor("/policy plan"), "enter").effects).toEqual([{ type: "policy", name: "plan" }]);
    expect(press(fresh, ...keysFor("/policy all"), "enter").state.notice?.text).toBe('policy takes workspace, plan, readonly; not "all"');
  });
});

describe("Esc", () => {
  test("one Esc stops the turn and says so, and the next words are typed whole", () => {
    const stopped = press(running, "escape");
    expect([stopped.effects, stopped.state.notice?.text]).toEqual([[{ type: "cancel", session: "s-1" }], "stopping the turn"]);
    expect(press(stopped.state, ...keysFor("stop, use tabs")).state.unsent.text).toBe("stop, use tabs");
  });
  test("Esc and a fast key that arrive as one Alt key stop the turn and type the key", () => {
    const { state, effects } = press(running, "alt+s");
    expect([effects, state.unsent.text]).toEqual([[{ type: "cancel", session: "s-1" }], "s"]);
  });
  test("Esc keeps a message that is typed while the turn runs", () => {
    expect(press(running, "h", "i", "escape")).toMatchObject({ state: { unsent: { text: "hi" } }, effects: [{ type: "cancel" }] });
  });
  test("Esc first closes a menu, an overlay, a focus and a search", () => {
    for (const keys of [["/"], ["f1"], ["alt+up"], ["ctrl+f", "x"]]) {
      const closed = press(press(running, ...keys).state, "escape");
      expect(closed.effects).toEqual([]);
      expect(press(closed.state, "escape").effects).toEqual([{ type: "cancel", session: "s-1" }]);
    }
  });
  test("Esc twice lists earlier messages, and the chosen one is forked with its text in the prompt", () => {
    const once = press(opened, "escape").state;
    expect(once.notice?.text).toBe("press Esc again to go back to an earlier message");
    expect(press(once, "x", "escape").state.overlay).toBeNull();
    const listed = press(once, "escape").state;
    expect(textOf(listed)).toMatch(/go back to before a message[^]*second question[^]*first question/);
    expect(press(listed, "down", "enter").effects).toEqual([{ type: "go back", node: "n0" }]);
    expect(press(opened, "alt+escape", "enter").effects).toEqual([{ type: "go back", node: "n2" }]);
    expect(press(opened, ...keysFor("/back 2"), "enter").effects).toEqual([{ type: "go back", node: "n0" }]);
    expect(press(fresh, "escape", "escape").state.overlay).toBeNull();
  });
});

test("Ctrl+C clears the message, then stops the turn, then quits", () => {
  const cleared = press(running, "h", "i", "ctrl+c");
  expect([cleared.effects, cleared.state.unsent.text]).toEqual([[], ""]);
  expect(press(cleared.state, "ctrl+_").state.unsent.text).toBe("hi");
  const stopped = press(cleared.state, "ctrl+c");
  expect(stopped.effects).toEqual([{ type: "cancel", session: "s-1" }]);
  expect(press(stopped.state, "ctrl+c").effects).toEqual([{ type: "quit" }]);
});

test("Alt+Up focuses a block, Enter on an empty prompt opens it, and typing leaves it", () => {
  const focused = press(opened, "alt+up").state;
  expect(focused.focus).toBe("n2.0");
  expect([...press(focused, "enter").state.toggled]).toEqual(["n2.0"]);
  expect(press(focused, "a").state).toMatchObject({ focus: null, unsent: { text: "a" } });
});

test("Ctrl+F finds words, Enter goes to the next match, and Esc returns to typing", () => {
  const found = press(opened, "ctrl+f", ...keysFor("question")).state;
  expect(textOf(found)).toContain('"question" in block');
  expect(press(found, "enter").state.mode).toBe("search");
  expect(press(found, "escape", "x").state).toMatchObject({ mode: "insert", unsent: { text: "x" } });
  expect(press(opened, ...keysFor("/find answer"), "enter").state.focus).toBe("n1.0");
});

test("a waiting question is answered after Tab on an empty prompt", () => {
  const ask = {
    id: "a1",
    session: "s-1",
    turn: "t",
    call: "c",
    question: "Which?",
    options: ["red", "blue"],
    expiresAt: null,
    closedAt: null,
  };
  const asked = apply(running, { type: "asks", asks: [ask as never] });
  const postponed = press(asked, "escape").state;
  expect(postponed.notice?.text).toBe("the question stays open; Tab shows it again");
  expect(press(postponed, "tab", "enter").effects).toEqual([{ type: "answer", ask: "a1", text: "1" }]);
});

test("the palette starts each line with the name of the command, and puts a command with an argument into the prompt", () => {
  const palette = press(fresh, "ctrl+p", ...keysFor("model")).state;
  expect(textOf(palette)).toContain("model — choose the model that answers");
  expect(press(fresh, "ctrl+p", ...keysFor("rename"), "enter").state).toMatchObject({ mode: "insert", unsent: { text: "/rename " } });
});

test("every function of the vi leader is a slash command or has a key in the plain preset", () => {
  const leader = screenCommands.filter((command) => keysOf(viKeys, command).some((key) => key.startsWith("space ")));
  expect(leader.length).toBeGreaterThan(10);
  expect(leader.filter(({ name, typed }) => typed === undefined || !(name in slashTable))).toEqual([]);
});

test("the help says how to get the other keys", () => {
  expect(textOf(press(fresh, "f1", "G").state)).not.toContain("gg to the beginning");
  const pages = ["f1", "pagedown", "pagedown", "pagedown", "pagedown"].map((_, index, keys) =>
    textOf(press(fresh, ...keys.slice(0, index + 1)).state),
  );
  expect(pages.join("\n")).toContain("Keys like those of vi: skein config set keys vi");
});

test("slash commands ask for their effects", () => {
  const expected: [line: string, effect: object][] = [
    ["/new", { type: "new" }],
    ["/clear", { type: "clear" }],
    ["/compact", { type: "start", isCompaction: true }],
    ["/resume", { type: "list sessions" }],
    ["/resume mine", { type: "switch", query: "mine" }],
    ["/fork mine", { type: "fork", name: "mine" }],
    ["/diff", { type: "report", topic: "diff" }],
    ["/undo", { type: "undo" }],
    ["/redo", { type: "redo" }],
    ["/cost", { type: "read costs" }],
    ["/context", { type: "report", topic: "context" }],
    ["/review", { type: "start", prompt: expect.stringContaining("Review the uncommitted changes") }],
    ["/review src/a.ts", { type: "start", prompt: expect.stringContaining("Review src/a.ts") }],
    ["/copy", { type: "copy", text: "first answer", name: "the last answer, 1 line" }],
    ["/export out.html", { type: "export", file: "out.html" }],
    ["/init", { type: "start", prompt: expect.stringContaining("AGENTS.md") }],
    ["/login", { type: "report", topic: "login" }],
    ["/mcp", { type: "report", topic: "mcp" }],
    ["/race", { type: "read race" }],
    ["/race claude,codex:gpt-5 fix the tests", { type: "race", agents: "claude,codex:gpt-5", task: "fix the tests" }],
    ["/exit", { type: "quit" }],
  ];
  for (const [line, effect] of expected) expect(press(opened, ...keysFor(line), "enter").effects[0]).toMatchObject(effect);
  expect(press(fresh, ...keysFor("/compact"), "enter").state.notice?.text).toBe("there is nothing to summarise yet");
  expect(press(opened, ...keysFor("/race claude"), "enter").state.notice?.text).toStartWith("race takes [agents task]");
  expect(press(running, ...keysFor("/review"), "enter").effects).toEqual([]);
});
