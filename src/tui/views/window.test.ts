// Tests of the cost of a frame, in calls of wrapRuns: only visible rows are laid out, however long the transcript is.
import { afterEach, describe, expect, spyOn, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import * as wrap from "../layout/wrap.ts";
import { viKeys, blocksOf, turnOf } from "../fixtures/press-keys.ts";
import { moveFocus, scrollBy, scrollPage, scrollToBeginning, scrollToEnd, toggleFocused } from "../model/scroll.ts";
import { firstState, type State } from "../model/state.ts";
import { update } from "../model/update.ts";
import { renderFrame } from "./screen.ts";

const size = { columns: 80, rows: 24 };
const session = { id: "s-1", name: null, tip: null, agent: "native", model: null } as Session;
const wrapCalls = spyOn(wrap, "wrapRuns");
afterEach(() => void wrapCalls.mockClear());

describe("ten thousand blocks", () => {
  const full = opened(
    Array.from({ length: 10_000 }, (_, index) => node(index, { kind: "text", text: `block ${index}\n\nwith **three** lines` })),
  );

  test("a frame of ten thousand blocks costs only the visible ones, at any position", () => {
    expect(inView(full)).toContain("block 9999");
    expect(wrapCalls.mock.calls.length).toBeLessThan(size.rows * 2);
    for (const move of [
      (state: State) => scrollPage(state, -1),
      (state: State) => scrollBy(state, -1),
      scrollToBeginning,
      (state: State) => scrollPage(state, 2.5),
      (state: State) => moveFocus(state, 1),
      toggleFocused,
      scrollToEnd,
    ]) {
      wrapCalls.mockClear();
      inView(move(full));
      expect(wrapCalls.mock.calls.length).toBeLessThan(size.rows * 3);
    }
  });

  test("scrolling down and up row by row misses and repeats no row", () => {
    let state = scrollToBeginning(full);
    const visited = [...rowsOf(state)];
    const height = visited.length;
    for (let step = 0; step < 500; step += 1) {
      state = scrollBy(state, 1);
      visited.push(rowsOf(state).at(-1) ?? "");
    }
    expect(visited.slice(0, 9)).toEqual(["block 0", "", "with three lines", "", "block 1", "", "with three lines", "", "block 2"]);
    expect(visited.filter((row) => row.startsWith("block"))).toEqual(
      Array.from({ length: Math.ceil(visited.length / 4) }, (_, index) => `block ${index}`),
    );
    for (let first = 500; first > 0; first -= 1) {
      expect(rowsOf(state)).toEqual(visited.slice(first, first + height));
      state = scrollBy(state, -1);
    }
  });

  test("streaming costs only the last line, and copies no settled block", () => {
    let state = applyDelta(full, "text.delta", "# A title\n\n```ts\nlet a = 1;\n```\n");
    inView(state);
    for (let delta = 0; delta < 200; delta += 1) {
      const previous = state;
      state = applyDelta(state, "text.delta", delta % 10 === 9 ? "end.\n" : "some **more** words ");
      wrapCalls.mockClear();
      inView(state);
      expect(wrapCalls.mock.calls.length).toBeLessThan(4);
      expect(state.transcript.settled).toBe(previous.transcript.settled);
    }
    expect(inView(state).at(-1)).toBe(`words ${"some more words ".repeat(4)}end.`);
  });
});

describe("large blocks", () => {
  test("a line of ten megabytes is laid out only where it is visible", () => {
    const state = opened([node(0, { kind: "text", text: "word ".repeat(2_000_000) })]);
    inView(state);
    inView(scrollToBeginning(state));
    inView(scrollBy(state, -1000));
    expect(wrapCalls.mock.calls.length).toBeLessThan(100);
  });
  test("a block that is folded while its end is visible shows its beginning", () => {
    const state = opened([node(0, { kind: "text", text: "line\n".repeat(100) }), node(1, { kind: "text", text: "last" })]);
    const folded = toggleFocused(moveFocus(moveFocus(scrollToEnd(state), -1), -1));
    expect(inView(folded).filter((row) => row !== "")).toEqual([
      "┃ line line line line line line line line line line line line line line line li…",
      "last",
    ]);
  });
});

test("a running call shows its last rows of output, within a limit", () => {
  let state = opened([node(0, { kind: "call", id: "c", name: "bash", input: { command: "make" } })]);
  for (let line = 0; line < 1000; line += 1) state = applyDelta(state, "tool.output", `line ${line} ${"x".repeat(50)}\n`, { call: "c" });
  expect(inView(state)).toEqual(["> bash make …", ...[995, 996, 997, 998, 999].map((line) => `  │ line ${line} ${"x".repeat(50)}`)]);
  const [block] = state.transcript.running.values();
  expect(block?.kind === "tool" && block.output.length).toBeLessThan(4001);
});

test("each answer says who gave it if the transcript has several agents or models", () => {
  const nodes = [0, 1, 2, 3].map((index): Node => {
    const text = { kind: "text" as const, text: `part ${index}` };
    return { ...node(index, text), author: index % 2 === 0 ? "user" : "agent", turn: index < 2 ? "t-1" : "t-2" };
  });
  const shown = (agent: string) => {
    const turns = [
      turnOf({ id: "t-1", tip: "n1", model: "anthropic/opus" }),
      turnOf({ id: "t-2", tip: "n3", agent, model: "anthropic/opus" }),
    ];
    const state = update(opened([]), { type: "opened", session, blocks: blocksOf(nodes, turns), turns }).state;
    const next = { agent: "codex", model: null, parent: null, enforced: null };
    const head = { seq: 1, n: 1, sessionId: "s-1", turnId: "t-3", at: 0 };
    const started = update(state, { type: "event", event: { ...head, type: "turn.started", turn: next, session } as never }).state;
    return [state, applyDelta(started, "text.delta", "live")].map((shownState) =>
      inView(shownState).filter((row) => /^(native|codex)/.test(row)),
    );
  };
  expect(shown("codex")).toEqual([
    ["native opus", "codex"],
    ["native opus", "codex", "codex"],
  ]);
  expect(shown("native")).toEqual([[], ["native opus", "native opus", "codex"]]);
});

// --- helpers ----------------------------------------------------------------------------------------------

function opened(nodes: Node[]): State {
  const fresh = firstState({ bindings: viKeys, size, net: "off", sandbox: "on" });
  return { ...update(fresh, { type: "opened", session, blocks: blocksOf(nodes), turns: [] }).state, mode: "normal" };
}

function node(index: number, part: Part): Node {
  return { id: `n${index}`, parent: null, tree: "t", session: "s-1", turn: null, at: 0, author: "agent", parts: [part] };
}

function applyDelta(state: State, type: "text.delta" | "tool.output", text: string, fields = {}): State {
  return update(state, { type: "event", event: { seq: 1, n: 1, sessionId: "s-1", turnId: "t", at: 0, type, text, ...fields } as Event })
    .state;
}

function rowsOf(state: State): string[] {
  const rows = renderFrame(state).rows.slice(0, -4);
  const texts = rows.map((row) =>
    row
      .map((run) => run.text)
      .join("")
      .trimEnd(),
  );
  return texts.map((text) => (text.startsWith("┃ ") ? text : text.slice(2)));
}

/** The rows of the transcript, without the empty rows after its end. */
function inView(state: State): string[] {
  const rows = rowsOf(state);
  return rows.slice(0, rows.findLastIndex((text) => text !== "") + 1);
}
