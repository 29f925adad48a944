// Tests of search in the transcript: keys in, visible rows and highlighted matches out.
import { describe, expect, test } from "bun:test";
import type { Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { viKeys, blocksOf } from "../fixtures/press-keys.ts";
import { firstState, type State } from "../model/state.ts";
import { update } from "../model/update.ts";
import { renderFrame } from "../views/screen.ts";
import { highlightRow } from "./find.ts";

const session = { id: "s-1", name: "main", tip: null, agent: "native", model: null } as Session;
const longText = `${"filler\n".repeat(40)}a needle, deep\n${"filler\n".repeat(40)}another needle`;
const call: Part = { kind: "call", id: "c1", name: "bash", input: { command: "grep x" } };
const result: Part = { kind: "result", call: "c1", name: "bash", text: "folded Needle here", isError: false };
const nodes = [
  node(0, "user", { kind: "text", text: "first needle" }),
  node(1, "agent", call),
  node(2, "tool", result),
  ...Array.from({ length: 50 }, (_, index) => node(index + 3, "user", { kind: "text", text: `line ${index}` })),
  node(60, "agent", { kind: "text", text: longText }),
  node(61, "user", { kind: "text", text: "last **needle** of all" }),
];
const fullState = opened(nodes);

describe("a search", () => {
  test("a search shows the nearest match while typing, and Esc goes back", () => {
    const typed = press(fullState, "/", ...Array.from("needle"));
    expect(lines(typed)).toContain('── "needle" in block 3 of 4 ');
    expect(lines(typed)).toMatch(/another needle[^]*\/needle\n\[SEARCH\]/);
    expect(highlighted(typed)).toEqual(["needle", "needle"]);
    const first = press({ ...fullState, top: { block: 0, strip: 0, row: 0 } }, "/", ...Array.from("needle"));
    expect(lines(first)).toContain("block 1 of 4");
    expect(frameText(press(typed, "escape"))).toBe(frameText(fullState));
    expect(frameText(press(typed, ...Array.from("needle!", () => "backspace")))).toBe(frameText(fullState));
  });
  test("n and N go through the matches, open folded blocks, and say when they wrap around", () => {
    const atMatch = press(fullState, "/", ...Array.from("needle"), "enter");
    const screens = ["n", "n", "n", "n", "n"].map((_, index, keys) => lines(press(atMatch, ...keys.slice(0, index + 1))));
    expect(screens.map((shown) => /block \d of \d|continued from the \w+/.exec(shown)?.[0])).toEqual([
      "block 4 of 4",
      "continued from the beginning",
      "block 2 of 4",
      "block 3 of 4",
      "block 3 of 4",
    ]);
    expect(screens[2]).toMatch(/v bash grep x[^]*folded Needle here/);
    expect(screens[3]).toContain("a needle, deep");
    expect(press(atMatch, "n", "n", "n", "n").toggled.size).toBe(0);
    expect(lines(press(atMatch, "n", "n", "N"))).toContain("continued from the end");
  });
  test("Esc ends a search at its match, and n continues it", () => {
    const ended = press(fullState, "/", ...Array.from("needle"), "enter", "N", "escape");
    expect([highlighted(ended), ended.mode, lines(ended).includes("a needle, deep")]).toEqual([[], "normal", true]);
    expect(highlighted(press(ended, "n")).length).toBeGreaterThan(0);
  });
  test("a search with capitals is case-sensitive, and reports no match", () => {
    expect(lines(press(fullState, "/", ...Array.from("Needle")))).toContain('"Needle" in block 1 of 1');
    const noMatch = press(fullState, "/", ...Array.from("haystack"));
    expect(lines(noMatch)).toContain('── no match for "haystack"');
    expect(lines(press(noMatch, "enter"))).toContain('no match for "haystack"');
    expect(frameText(press(noMatch, "enter", "j"))).toBe(frameText(press(fullState, "j")));
    expect(lines(press(fullState, "n"))).toContain("no search yet");
  });
  test("a search accepts a paste, and ends when another session is shown", () => {
    const pasted = update(press(fullState, "/"), { type: "paste", text: "deep\n" }).state;
    expect(lines(pasted)).toContain('"deep" in block 1 of 1');
    expect(update(pasted, { type: "opened", session: { ...session, id: "s-2" }, blocks: [], turns: [] }).state.search).toBeNull();
  });
});

test("matches are highlighted across runs, and nothing else changes", () => {
  const row = [
    { text: "a nee", style: { bold: true } },
    { text: "dle b", style: {} },
  ];
  expect(highlightRow(row, /needle/gi)).toEqual([
    { text: "a ", style: { bold: true } },
    { text: "nee", style: { bold: true, inverse: true } },
    { text: "dle", style: { inverse: true } },
    { text: " b", style: {} },
  ]);
});

// --- helpers ----------------------------------------------------------------------------------------------

function node(at: number, author: Node["author"], part: Part): Node {
  return { id: `n${at}`, parent: null, tree: "t", session: "s-1", turn: null, at, author, parts: [part] };
}

function opened(
  shown: Node[],
  state = firstState({ bindings: viKeys, size: { columns: 80, rows: 24 }, net: "off", sandbox: "on" }),
): State {
  return update({ ...state, mode: "normal" }, { type: "opened", session, blocks: blocksOf(shown), turns: [] }).state;
}

function press(state: State, ...keys: string[]): State {
  return keys.reduce(
    (current, name) => update(current, { type: "key", key: { name, text: name.length === 1 ? name : "" }, now: 0 }).state,
    state,
  );
}

function frameText(state: State): string {
  return JSON.stringify(renderFrame(state));
}

function lines(state: State): string {
  return renderFrame(state)
    .rows.map((row) => row.map((run) => run.text).join(""))
    .join("\n");
}

/** The highlighted text of the transcript. */
function highlighted(state: State): string[] {
  return renderFrame(state)
    .rows.slice(0, -2)
    .flatMap((row) => row.filter((run) => run.style.inverse === true).map((run) => run.text));
}
