// Tests of the tree panel: the outline, its keys, and its layout at several sizes.
import { describe, expect, test } from "bun:test";
import type { TreeView } from "../../protocol/api/api.ts";
import type { Node } from "../../protocol/tree/node.ts";
import type { EffectContext } from "../effects/effect-context.ts";
import { runEffect } from "../effects/index.ts";
import { viKeys, apply, effectsOf, badRows, nodeOf, press, sampleSession, textOf } from "../fixtures/press-keys.ts";
import { firstState, type UpdateMessage, type State } from "../model/state.ts";
import { renderFrame } from "../views/screen.ts";
import { branchCount, buildOutline, visibleRows, rowText } from "./tree-outline.ts";
import { chosenRow } from "./tree.ts";

const ours = sampleSession("ours", { tip: "n6" });
const other = sampleSession("other", { tip: "n8" });
const call = { kind: "call" as const, id: "c", name: "bash", input: { command: "ls" } };
const result = { kind: "result" as const, call: "c", name: "bash", text: "a.py", isError: false };

/** Two messages and their answers. A second branch starts at the first answer. */
const nodes: Node[] = [
  nodeOf("n1", null, "user", "list the files"),
  nodeOf("n2", "n1", "agent", [call]),
  nodeOf("n3", "n2", "tool", [result]),
  { ...nodeOf("n4", "n3", "agent", "There is **a.py**."), usage: { input: 9, output: 2, cacheRead: 0, cacheWrite: 0 }, costUsd: 0.5 },
  nodeOf("n5", "n4", "user", "show it"),
  nodeOf("n6", "n5", "agent", "print()"),
  nodeOf("n7", "n4", "user", "delete it"),
  nodeOf("n8", "n7", "agent", "deleted"),
];
const view: TreeView = { nodes, sessions: [ours, other], turns: [] };
const size = { columns: 80, rows: 24 };
const normal: State = { ...firstState({ bindings: viKeys, size, net: "off", sandbox: "on" }), mode: "normal", session: ours };

function treeRead(tree: TreeView, reading = 0, states = {}): UpdateMessage {
  return { type: "tree", message: { type: "read", reading, view: tree, states, signature: "k", now: 60_000 } };
}
const open = apply(press(normal, "space", "t").state, treeRead(view));

describe("the outline", () => {
  test("the outline has messages without calls, indented branches and sessions at their tips", () => {
    const { rows } = buildOutline(view);
    expect(rows.map((row) => [`${row.lead}${rowText(row)}`, row.calls, row.sessions.map(({ id }) => id).join()])).toEqual([
      ["list the files", 0, ""],
      ["There is a.py.", 1, ""],
      ["├─show it", 0, ""],
      ["│ print()", 0, "ours"],
      ["└─delete it", 0, ""],
      ["  deleted", 0, "other"],
    ]);
  });
  test("calls are counted at the message that made them, and branches where they end", () => {
    const asked = { kind: "call" as const, id: "d", name: "ask_user", input: { question: "Which db?", options: ["a"] } };
    const thought = { kind: "thinking" as const, text: "The person wants to know" };
    const outline = buildOutline({
      ...view,
      nodes: [
        nodeOf("a", null, "user", "# How many **orders**?"),
        nodeOf("b", "a", "agent", [thought, { kind: "text", text: "Looking." }, call]),
        nodeOf("c", "b", "tool", [result]),
        nodeOf("d", "c", "agent", [call]),
        nodeOf("e", "d", "tool", [result]),
        nodeOf("f", "e", "agent", "3"),
        nodeOf("g", "f", "user", "and now?"),
        nodeOf("h", "g", "agent", [thought, asked]),
        nodeOf("i", "f", "user", "thanks"),
      ],
    });
    expect(outline.rows.map((row) => [rowText(row), row.calls])).toEqual([
      ["How many orders?", 0],
      ["Looking.", 2],
      ["3", 0],
      ["and now?", 0],
      ["→ ask_user Which db?", 1],
      ["thanks", 0],
    ]);
    expect([branchCount(outline), branchCount(buildOutline(view))]).toEqual([2, 2]);
  });
  test("the outline starts before the first message if a session is there, or if there are several roots", () => {
    const cleared = sampleSession("cleared");
    const [first, second] = buildOutline({ ...view, sessions: [ours, cleared] }).rows;
    expect([first?.node, first?.sessions, second?.lead]).toEqual([null, [cleared], "└─"]);
  });
  test("the outline of ten thousand nested branches does not overflow the stack", () => {
    const deep = Array.from({ length: 5000 }, (_, index) => [
      nodeOf(`a${index}`, index === 0 ? null : `a${index - 1}`, "user", `go ${index}`),
      nodeOf(`b${index}`, index === 0 ? null : `a${index - 1}`, "user", `stay ${index}`),
    ]).flat();
    const outline = buildOutline({ nodes: deep, sessions: [], turns: [] });
    expect(outline.rows).toHaveLength(10_001);
    expect(Math.max(...outline.rows.map(({ lead }) => lead.length))).toBeLessThan(45);
    expect(visibleRows(outline, new Set([""]), "")).toEqual([0]);
    expect(visibleRows(outline, new Set(["a0"]), "")).toHaveLength(3);
    const large = apply(press(normal, "space", "t").state, treeRead({ nodes: deep, sessions: [], turns: [] }));
    expect(textOf(press(large, "G").state)).toContain("stay 0");
    expect(badRows(press(large, "pagedown").state)).toEqual([]);
  });
});

describe("keys of the tree", () => {
  test("the tree opens at the current node, and j, k, gg and G move", () => {
    const chosenAfter = (...keys: string[]) => chosen(press(open, ...keys).state);
    expect([
      chosenAfter(),
      chosenAfter("k"),
      chosenAfter("k", "j", "j"),
      chosenAfter("g", "g"),
      chosenAfter("G"),
      chosenAfter("g", "j"),
      chosenAfter("pageup"),
    ]).toEqual(["print()", "show it", "delete it", "list the files", "deleted", "print()", "list the files"]);
  });
  test("h folds the branch, then its parent; l unfolds it", () => {
    const folded = press(open, "h").state;
    expect(textOf(folded)).toContain("├─○ show it +1 folded");
    expect(chosen(press(folded, "h").state)).toBe("list the files");
    const allFolded = press(folded, "h", "h").state;
    expect(textOf(allFolded)).toContain("○ list the files +5 folded");
    expect(textOf(press(allFolded, "l", "j", "j", "l").state)).toContain("│ ● print() [ours] ← here");
  });
  test("a filter shows the lines with its words until Esc", () => {
    const filtered = press(open, "/", ...Array.from("DELETE"), "enter").state;
    expect(textOf(filtered)).toMatch(/lines with "DELETE"[^]*│ ○ delete it[^]*│ ● deleted \[other\]/);
    expect(textOf(filtered)).not.toContain("○ list the files");
    expect(textOf(press(filtered, "escape").state)).toContain("○ list the files");
    expect(press(filtered, "escape", "escape").state.overlay).toBeNull();
    expect(textOf(press(open, "/", ...Array.from("none")).state)).toContain("no matching line");
  });
  test("Enter goes to the session at the line, or moves the visible one", () => {
    expect(effectsOf(open, "G", "enter")).toEqual([{ type: "go", session: "other", node: "n8" }]);
    expect(effectsOf(open, "k", "s")).toEqual([{ type: "go", session: null, node: "n5" }]);
    expect(press(open, "enter").state.notice?.text).toBe("you are already here");
  });
  test("f forks at the line, with or without a name", () => {
    expect(effectsOf(open, "k", "f", ...Array.from("try"), "enter")).toEqual([{ type: "fork", at: "n5", name: "try" }]);
    expect(effectsOf(open, "f", "enter")).toEqual([{ type: "fork", at: "n6", name: null }]);
    expect(effectsOf(open, "f", "x", "escape", "enter")).toEqual([]);
    expect(textOf(apply(press(open, "f").state, { type: "paste", text: "a\nb" }))).toContain("name of the fork (optional) > a b");
  });
  test("d on two lines compares them, and closing the comparison shows the tree again", () => {
    expect(effectsOf(open, "d", "G", "d")).toEqual([{ type: "compare", a: "ours", b: "other" }]);
    expect(effectsOf(open, "d", "d", "d", "k", "d")).toEqual([{ type: "compare", a: "ours", b: "n5" }]);
    const spent = { usage: { input: 0, output: 0, cacheRead: 0, cacheWrite: 0 }, costUsd: 0.25 };
    const counts = { nodes: 2, messages: 2, toolCalls: 3, failedCalls: 1, turns: 1, steps: 1, startedAt: 0, endedAt: 0 };
    const files = { files: [], otherFiles: [], unknownFiles: 0 };
    const side = { ...spent, ...counts, ...files, tip: "n6", status: "ok" as const, firstMessage: "show it", answer: "print()" };
    const comparison = {
      fork: nodes[3]!,
      sharedNodes: 4,
      shared: { messages: 3, toolCalls: 1 },
      a: { ...side, session: ours },
      b: { ...side, session: other },
    };
    const compared = apply(open, { type: "compared", comparison });
    expect(textOf(compared)).toMatch(
      /they diverge after n4 \(3 messages, 1 tool call shared\)[^]*ours +other[^]*tool calls +3 \(1 failed\)[^]*○ show it/,
    );
    const reread = apply(compared, treeRead(view, 1));
    expect(press(reread, "escape").state.overlay).toMatchObject({ kind: "tree", reading: 2 });
  });
  test("p grafts another branch, r renames, x twice archives, and each says why it can't", () => {
    expect(effectsOf(open, "G", "p")).toEqual([{ type: "graft", from: "other" }]);
    expect(effectsOf(open, "G", "k", "p")).toEqual([{ type: "graft", from: "other" }]);
    expect(press(open, "p").state.notice?.text).toContain("choose another one to graft");
    expect(effectsOf(open, "r", "ctrl+u", ...Array.from("mine"), "enter")).toEqual([{ type: "rename", session: "ours", name: "mine" }]);
    expect(effectsOf(open, "G", "x", "x")).toEqual([{ type: "archive", session: "other" }]);
    expect(effectsOf(open, "G", "x", "k", "x")).toEqual([]);
    expect(press(open, "x").state.notice?.text).toContain("go to another one first");
    expect(press(open, "g", "g", "x").state.notice?.text).toBe("no session on this branch");
    expect(effectsOf(open, "y")).toEqual([{ type: "copy", text: "n6" }]);
    const failed = apply(press(open, "G").state, { type: "failed", text: "it runs", hint: "stop it" });
    expect(failed.notice).toEqual({ text: "it runs: stop it", isError: true });
  });
});

describe("the tree", () => {
  test("the tree is read when it opens, and again every second while it is open", () => {
    const opened = press(normal, "space", "t");
    expect(opened.effects).toContainEqual({ type: "read tree", reading: 0, signature: "", afterMs: 0 });
    expect(open.overlay).toMatchObject({ reading: 1 });
    const changed = apply(press(open, "k").state, { type: "tree", message: { type: "changed" } });
    expect(changed.overlay).toMatchObject({ reading: 2, signature: "" });
    expect(apply(changed, treeRead(view, 1))).toBe(changed);
    expect(apply(changed, { type: "tree", message: { type: "failed", reading: 2 } }).overlay).toMatchObject({ reading: 3 });
    expect(chosen(apply(changed, treeRead({ ...view, nodes: [...nodes, nodeOf("n9", "n8", "user", "why")] }, 2)))).toBe("show it");
    expect(apply(normal, treeRead(view))).toEqual(normal);
  });
  test("the tree shows running turns, and says that it loads only if that takes long", () => {
    expect(textOf(apply(press(normal, "space", "t").state, treeRead(view, 0, { other: "running" })))).toContain(
      "● deleted [other · running]",
    );
    const waiting = press(normal, "space", "t").state;
    expect([textOf(waiting).includes("loading…"), textOf(apply(waiting, { type: "tick", now: 150 })).includes("loading…")]).toEqual([
      false,
      true,
    ]);
    expect(textOf(press({ ...normal, session: null }, "space", "t").state)).toContain("no messages yet");
  });
  test("the preview is below the tree at 80 × 24, beside it on a wide screen, and fits everywhere", () => {
    const answer = press(open, "g", "g", "j").state;
    expect(textOf(answer)).toMatch(
      /● There is a\.py\. 1 call +│\n[^]*│ ─+ │\n│ n4 · agent · 1 minute ago · in 9 out 2 · \$0\.5000 +│\n│ There is a\.py\./,
    );
    const selected = renderFrame(answer)
      .rows.slice(0, -2)
      .flat()
      .filter(({ style }) => style.inverse === true);
    expect(selected.map(({ style }) => style)).toEqual(selected.map(() => ({ inverse: true })));
    const wide = { ...answer, size: { columns: 200, rows: 60 } };
    expect(textOf(wide)).toMatch(/○ list the files +│ n4 · agent · 1 minute ago[^\n]*\n│ ● There is a\.py\. 1 call +│ There is a\.py\./);
    const narrow = textOf({ ...answer, size: { columns: 40, rows: 12 } });
    expect(narrow).toMatch(/│ Enter go · f fork · d diff · p graft +│\n│ r rename · u undo · x archive · Esc +│/);
    for (const columns of [44, 80, 119, 120, 200])
      for (const rows of [8, 12, 24, 60]) expect(badRows({ ...answer, size: { columns, rows } })).toEqual([]);
  });
});

/** The text of the chosen line. */
function chosen({ overlay }: State): string | undefined {
  const row = overlay?.kind === "tree" ? chosenRow(overlay) : undefined;
  return row === undefined ? undefined : rowText(row);
}

test("a repeated reading of the tree causes no error after the screen went to a new session", async () => {
  const sent: UpdateMessage[] = [];
  const ctx = { session: { id: "s-1", tree: "t" }, send: (message: UpdateMessage) => sent.push(message) } as unknown as EffectContext;
  const reading = runEffect(ctx, { type: "read tree", reading: 1, signature: "", afterMs: 5 });
  ctx.session = null;
  await reading;
  expect(sent).toEqual([]);
});

test("u in the tree takes back the last graft, move or rename", () => {
  const open = press({ ...normal }, "space", "t").state;
  expect(press(open, "u").effects).toEqual([{ type: "take back change" }]);
});
