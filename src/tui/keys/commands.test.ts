// The keys and commands that were promised, each of them tried on a state: that it is there, and that it does its own thing.
import { describe, expect, test } from "bun:test";
import { apply, blocksOf, nodeOf, press, sampleSession } from "../fixtures/press-keys.ts";
import { firstState, type Effect, type State } from "../model/state.ts";

const session = sampleSession("s-1", { tip: "n59" });
const said = Array.from({ length: 60 }, (_, at) => nodeOf(`n${at}`, at === 0 ? null : `n${at - 1}`, "user", `line ${at}`));
const opened = apply(firstState({ size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }), {
  type: "opened",
  session,
  blocks: blocksOf(said),
  turns: [],
});
const normal: State = { ...opened, mode: "normal", draft: { text: "draft", cursor: 2 } };

/** What pressing these leaves: the mode, what lies over the transcript, and the last effect that was asked for. */
function left(state: State, ...keys: string[]): { mode: string; over: string | null; asked: Effect["type"] | null } {
  const { state: now, effects } = press(state, ...keys);
  const over = now.overlay === null ? null : "purpose" in now.overlay ? `pick ${now.overlay.purpose}` : now.overlay.kind;
  return { mode: now.mode, over, asked: effects.at(-1)?.type ?? null };
}

const colon = (line: string) => [":", ...Array.from(line, (key) => (key === " " ? "space" : key)), "enter"];

describe("in Normal mode", () => {
  test("i, a, I and A start typing at their position, and o does without a block in focus", () => {
    const at = (key: string) => press(normal, key).state;
    expect(["i", "a", "I", "A", "o", "enter"].map((key) => [at(key).mode, at(key).draft.cursor])).toEqual([
      ["insert", 2],
      ["insert", 2],
      ["insert", 0],
      ["insert", 5],
      ["insert", 2],
      ["insert", 2],
    ]);
  });
  test("[ and ] move between blocks, Enter and o toggle one, Ctrl+O toggles all, Esc leaves it", () => {
    expect(["[", "]"].map((key) => press(normal, "[", "[", key).state.focus)).toEqual(["n57.0", "n59.0"]);
    for (const key of ["enter", "o"]) {
      const toggled = press(normal, "[", key).state;
      expect([toggled.mode, [...toggled.toggled]]).toEqual(["normal", ["n59.0"]]);
      expect([...press(toggled, key).state.toggled]).toEqual([]);
    }
    expect([press(normal, "ctrl+o").state.allOpen, press(normal, "ctrl+o", "ctrl+o").state.allOpen]).toEqual([true, false]);
    expect(press(normal, "[", "escape").state.focus).toBeNull();
  });
  test("j, k, gg and G scroll, / searches, : opens the command line and ? the help", () => {
    expect(press(normal, "k").state.top).not.toBe("end");
    expect(press(normal, "k", "j").state.top).toBe("end");
    expect(press(normal, "g", "g", "ctrl+d", "ctrl+u").state.top).toMatchObject({ block: 0, strip: 0 });
    expect(press(normal, "g", "g").state.top).toMatchObject({ block: 0, row: 0 });
    expect(press(normal, "g", "g", "G").state.top).toBe("end");
    expect([left(normal, "/").mode, left(normal, ":").mode, left(normal, "?").over]).toEqual(["search", "command", "reader"]);
  });
  test("Ctrl+G edits the plan, also while typing", () => {
    expect([normal, opened].map((state) => left(state, "ctrl+g").asked)).toEqual(["edit plan", "edit plan"]);
  });
});

describe("after Space", () => {
  const wanted: Record<string, { over?: string; asked?: Effect["type"] }> = {
    n: { asked: "net" },
    c: { asked: "clear" },
    p: { asked: "plan" },
    x: { asked: "execute plan" },
    e: { asked: "edit plan" },
    t: { over: "tree" },
    a: { over: "agents" },
    m: { over: "pick models", asked: "list" },
    f: { asked: "fork" },
    b: { over: "reader", asked: "read costs" },
    "?": { over: "reader" },
  };
  for (const [key, what] of Object.entries(wanted))
    test(`${key} does the same in Normal mode and on an empty prompt`, () => {
      const [inNormal, onPrompt] = [normal, opened].map((state) => left(state, "space", key));
      expect(inNormal).toMatchObject(what);
      expect(onPrompt).toMatchObject(what);
    });
});

describe("after a colon", () => {
  const wanted: [line: string, effect: Effect][] = [
    ["clear", { type: "clear" }],
    ["exec", { type: "execute plan" }],
    ["edit-plan", { type: "edit plan" }],
    ["net on", { type: "net", net: "on" }],
    ["net off", { type: "net", net: "off" }],
    ["model anthropic/x", { type: "model", name: "anthropic/x" }],
    ["agent codex", { type: "agent", name: "codex" }],
    ["fork", { type: "fork", name: null }],
    ["fork mine", { type: "fork", name: "mine" }],
    ["quit", { type: "quit" }],
  ];
  for (const [line, effect] of wanted)
    test(`:${line} asks for its effect and ends in Normal mode`, () => {
      const { state, effects } = press(normal, ...colon(line));
      expect([state.mode, effects]).toEqual(["normal", [effect]]);
    });
  test(":model and :agent open pickers, and :help opens the help", () => {
    expect(["model", "agent", "help"].map((line) => left(normal, ...colon(line)).over)).toEqual(["pick models", "pick agents", "reader"]);
  });
});
