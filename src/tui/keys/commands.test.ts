// Tests of each documented key and command: it exists and has its effect.
import { describe, expect, test } from "bun:test";
import { viKeys, apply, blocksOf, nodeOf, press, sampleSession } from "../fixtures/press-keys.ts";
import { firstState, type Effect, type State } from "../model/state.ts";

const session = sampleSession("s-1", { tip: "n59" });
const nodes = Array.from({ length: 60 }, (_, index) => nodeOf(`n${index}`, index === 0 ? null : `n${index - 1}`, "user", `line ${index}`));
const opened = apply(firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }), {
  type: "opened",
  session,
  blocks: blocksOf(nodes),
  turns: [],
});
const normal: State = { ...opened, mode: "normal", unsent: { text: "hello", cursor: 2 } };

/** The mode, the overlay and the last effect after these keys. */
function resultOf(state: State, ...keys: string[]): { mode: string; overlay: string | null; effect: Effect["type"] | null } {
  const { state: result, effects } = press(state, ...keys);
  const overlay = result.overlay === null ? null : "purpose" in result.overlay ? `pick ${result.overlay.purpose}` : result.overlay.kind;
  return { mode: result.mode, overlay, effect: effects.at(-1)?.type ?? null };
}

const colon = (line: string) => [":", ...Array.from(line, (key) => (key === " " ? "space" : key)), "enter"];

describe("in Normal mode", () => {
  test("i, a, I and A start typing at their position, and o does without a block in focus", () => {
    const stateAfter = (key: string) => press(normal, key).state;
    expect(["i", "a", "I", "A", "o", "enter"].map((key) => [stateAfter(key).mode, stateAfter(key).unsent.cursor])).toEqual([
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
    expect([resultOf(normal, "/").mode, resultOf(normal, ":").mode, resultOf(normal, "?").overlay]).toEqual(["search", "command", "text"]);
  });
  test("Ctrl+G edits the plan, also while typing", () => {
    expect([normal, opened].map((state) => resultOf(state, "ctrl+g").effect)).toEqual(["edit plan", "edit plan"]);
  });
});

describe("after Space", () => {
  const expected: Record<string, { overlay?: string; effect?: Effect["type"] }> = {
    n: { effect: "net" },
    c: { effect: "clear" },
    p: { effect: "plan" },
    x: { effect: "execute plan" },
    e: { effect: "edit plan" },
    t: { overlay: "tree" },
    a: { overlay: "agents" },
    m: { overlay: "pick models", effect: "list" },
    f: { effect: "fork" },
    b: { overlay: "text", effect: "read costs" },
    "?": { overlay: "text" },
  };
  for (const [key, result] of Object.entries(expected))
    test(`Space ${key} does the same in Normal mode and on an empty prompt`, () => {
      const [inNormal, onPrompt] = [normal, opened].map((state) => resultOf(state, "space", key));
      expect(inNormal).toMatchObject(result);
      expect(onPrompt).toMatchObject(result);
    });
});

describe("after a colon", () => {
  const expected: [line: string, effect: Effect][] = [
    ["clear", { type: "clear" }],
    ["exec", { type: "execute plan" }],
    ["edit-plan", { type: "edit plan" }],
    ["net on", { type: "net", net: "on" }],
    ["net off", { type: "net", net: "off", hosts: [] }],
    ["model anthropic/x", { type: "model", name: "anthropic/x" }],
    ["agent codex", { type: "agent", name: "codex" }],
    ["fork", { type: "fork", name: null }],
    ["fork mine", { type: "fork", name: "mine" }],
    ["quit", { type: "quit" }],
  ];
  for (const [line, effect] of expected)
    test(`:${line} asks for its effect and ends in Normal mode`, () => {
      const { state, effects } = press(normal, ...colon(line));
      expect([state.mode, effects]).toEqual(["normal", [effect]]);
    });
  test(":model and :agent open pickers, and :help opens the help", () => {
    expect(["model", "agent", "help"].map((line) => resultOf(normal, ...colon(line)).overlay)).toEqual([
      "pick models",
      "pick agents",
      "text",
    ]);
  });
});
