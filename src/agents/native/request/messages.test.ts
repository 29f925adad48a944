import { describe, expect, test } from "bun:test";
import type { Author, Node, Note, Part } from "../../../protocol/tree/node.ts";
import { renderMessages, visibleNodes } from "./messages.ts";

let nodeCount = 0;
function node(id: string, author: Author, parts: Part[], note?: Note): Node {
  nodeCount += 1;
  return { id, author, parts, ...(note === undefined ? {} : { note }), parent: null, tree: "t", session: "s", turn: null, at: nodeCount };
}
const textNode = (id: string, author: Author, text: string): Node => node(id, author, [{ kind: "text", text }]);
const callNode = (id: string, ...names: string[]): Node =>
  node(
    id,
    "agent",
    names.map((name) => ({ kind: "call", id: name, name: "bash", input: { command: name } })),
  );
const resultNode = (id: string, call: string): Node =>
  node(id, "tool", [{ kind: "result", call, name: "bash", text: `did ${call}`, isError: false }]);
const compaction = (id: string, keptFrom: string | null): Node =>
  node(id, "note", [{ kind: "text", text: "summary" }], { about: "compaction", keptFrom });
const ids = (nodes: Node[]): string => nodes.map(({ id }) => id).join(" ");

describe("visibleNodes", () => {
  const work = [
    textNode("u1", "user", "task"),
    callNode("a1", "c1"),
    resultNode("r1", "c1"),
    textNode("u2", "user", "more"),
    callNode("a2", "c2"),
    resultNode("r2", "c2"),
  ];

  const cases: [string, Node[], string][] = [
    ["without a compaction the whole path is visible", work, "u1 a1 r1 u2 a2 r2"],
    ["a compaction leaves user messages, the summary and the retained nodes", [...work, compaction("n", "a2")], "u1 u2 n a2 r2"],
    ["nodes after a compaction are visible", [...work, compaction("n", "a2"), textNode("a3", "agent", "done")], "u1 u2 n a2 r2 a3"],
    [
      "a compaction that retains nothing leaves user messages and the summary",
      [...work, compaction("n", null), textNode("u3", "user", "x")],
      "u1 u2 n u3",
    ],
    ["a retained user message stays at its position", [...work, compaction("n", "u2")], "u1 n u2 a2 r2"],
    [
      "of two compactions only the last is visible",
      [...work, compaction("n1", "a1"), callNode("a3", "c3"), resultNode("r3", "c3"), compaction("n2", "a3")],
      "u1 u2 n2 a3 r3",
    ],
    [
      "nodes on both sides of an older compaction can be retained",
      [...work, compaction("n1", "a2"), callNode("a3", "c3"), resultNode("r3", "c3"), compaction("n2", "a2")],
      "u1 u2 n2 a2 r2 a3 r3",
    ],
  ];
  for (const [title, path, expected] of cases) test(title, () => expect(ids(visibleNodes(path))).toBe(expected));

  test("older nodes are visible again when the tip moves before the compaction", () => {
    expect(ids(visibleNodes([...work, compaction("n", "a2")].slice(0, -1)))).toBe("u1 a1 r1 u2 a2 r2");
  });
});

describe("renderMessages", () => {
  const summary = (path: Node[]): string =>
    renderMessages(path)
      .map(
        ({ role, parts }) =>
          `${role}(${parts.map((part) => (part.kind === "result" ? part.call : part.kind === "call" ? part.id : part.kind)).join(" ")})`,
      )
      .join(" ");

  test("results are in the order of their calls, whatever order they arrived in", () => {
    const path = [
      textNode("u", "user", "x"),
      callNode("a", "c1", "c2", "c3"),
      resultNode("r3", "c3"),
      resultNode("r1", "c1"),
      resultNode("r2", "c2"),
    ];
    expect(summary(path)).toBe("user(text) assistant(c1 c2 c3) tool(c1 c2 c3)");
  });

  test("a call without a result gets an error result, at the end and in the middle", () => {
    const path = [
      textNode("u", "user", "x"),
      callNode("a", "c1", "c2"),
      resultNode("r2", "c2"),
      textNode("u2", "user", "y"),
      callNode("a2", "c3"),
    ];
    expect(summary(path)).toBe("user(text) assistant(c1 c2) tool(c1 c2) user(text) assistant(c3) tool(c3)");
    const results = renderMessages(path).flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
    expect(results.map((part) => part.isError)).toEqual([true, false, true]);
    expect(results[0]?.text).toContain("effects are unknown");
  });

  test("notes are sent as user messages, and empty nodes are left out", () => {
    const path = [
      textNode("u", "user", "x"),
      node("a", "agent", []),
      node("n", "note", [{ kind: "text", text: "go on" }], { about: "interruption" }),
    ];
    expect(summary(path)).toBe("user(text) user(text)");
  });

  test("statements of a group are left out, its objective and answer are sent", () => {
    const said = {
      asked: "u1",
      phase: "discussion",
      round: 1,
      who: "claude",
      status: "ok",
      tries: 1,
      sessionId: null,
      costUsd: 0,
    } as const;
    const path = [textNode("u1", "user", "objective"), node("n1", "note", [{ kind: "text", text: "mine" }], { about: "group", said })];
    expect(renderMessages([...path, textNode("a1", "agent", "deliverable")]).map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  test("the messages of a longer path begin with those of the shorter one", () => {
    const path: Node[] = [];
    const grow = [
      textNode("u", "user", "x"),
      callNode("a", "c1", "c2"),
      resultNode("r2", "c2"),
      resultNode("r1", "c1"),
      textNode("a2", "agent", "y"),
      textNode("u2", "user", "z"),
      callNode("a3", "c3"),
      resultNode("r3", "c3"),
      textNode("a4", "agent", "end"),
    ];
    let before = "[";
    for (const next of grow) {
      path.push(next);
      if (next.id === "r2" || next.author === "agent") continue; // A request is only sent when all calls have results.
      const after = JSON.stringify(renderMessages(path)).slice(0, -1);
      expect(after.startsWith(before)).toBe(true);
      before = after;
    }
  });

  test("rendering does not change the nodes", () => {
    const path = [textNode("u", "user", "x"), callNode("a", "c1", "c2"), resultNode("r2", "c2"), resultNode("r1", "c1")];
    const before = JSON.stringify(path);
    renderMessages(path);
    expect(JSON.stringify(path)).toBe(before);
  });
});
