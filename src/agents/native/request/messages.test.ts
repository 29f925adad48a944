import { describe, expect, test } from "bun:test";
import type { Author, Node, Note, Part } from "../../../protocol/tree/node.ts";
import { renderMessages, visibleNodes } from "./messages.ts";

let made = 0;
function node(id: string, author: Author, parts: Part[], note?: Note): Node {
  made += 1;
  return { id, author, parts, ...(note === undefined ? {} : { note }), parent: null, tree: "t", session: "s", turn: null, at: made };
}
const says = (id: string, author: Author, text: string): Node => node(id, author, [{ kind: "text", text }]);
const calls = (id: string, ...names: string[]): Node =>
  node(
    id,
    "agent",
    names.map((name) => ({ kind: "call", id: name, name: "bash", input: { command: name } })),
  );
const answers = (id: string, call: string): Node =>
  node(id, "tool", [{ kind: "result", call, name: "bash", text: `did ${call}`, isError: false }]);
const compaction = (id: string, keptFrom: string | null): Node =>
  node(id, "note", [{ kind: "text", text: "summary" }], { about: "compaction", keptFrom });
const ids = (nodes: Node[]): string => nodes.map((each) => each.id).join(" ");

describe("what is visible of a path", () => {
  const work = [
    says("u1", "user", "task"),
    calls("a1", "c1"),
    answers("r1", "c1"),
    says("u2", "user", "more"),
    calls("a2", "c2"),
    answers("r2", "c2"),
  ];

  const cases: [string, Node[], string][] = [
    ["is all of it without a compaction", work, "u1 a1 r1 u2 a2 r2"],
    ["is every user message, the summary and what it kept", [...work, compaction("n", "a2")], "u1 u2 n a2 r2"],
    ["goes on behind the compaction", [...work, compaction("n", "a2"), says("a3", "agent", "done")], "u1 u2 n a2 r2 a3"],
    [
      "is only user messages and the summary when nothing was kept",
      [...work, compaction("n", null), says("u3", "user", "x")],
      "u1 u2 n u3",
    ],
    ["begins with the kept user message in its place", [...work, compaction("n", "u2")], "u1 n u2 a2 r2"],
    [
      "has only the last of two compactions",
      [...work, compaction("n1", "a1"), calls("a3", "c3"), answers("r3", "c3"), compaction("n2", "a3")],
      "u1 u2 n2 a3 r3",
    ],
    [
      "keeps what lies on both sides of an older compaction",
      [...work, compaction("n1", "a2"), calls("a3", "c3"), answers("r3", "c3"), compaction("n2", "a2")],
      "u1 u2 n2 a2 r2 a3 r3",
    ],
  ];
  for (const [title, path, expected] of cases) test(title, () => expect(ids(visibleNodes(path))).toBe(expected));

  test("comes back when the tip moves before the compaction", () => {
    expect(ids(visibleNodes([...work, compaction("n", "a2")].slice(0, -1)))).toBe("u1 a1 r1 u2 a2 r2");
  });
});

describe("messages", () => {
  const summary = (path: Node[]): string =>
    renderMessages(path)
      .map(
        ({ role, parts }) =>
          `${role}(${parts.map((part) => (part.kind === "result" ? part.call : part.kind === "call" ? part.id : part.kind)).join(" ")})`,
      )
      .join(" ");

  test("hold results in the order of their calls, however they came in", () => {
    const path = [says("u", "user", "x"), calls("a", "c1", "c2", "c3"), answers("r3", "c3"), answers("r1", "c1"), answers("r2", "c2")];
    expect(summary(path)).toBe("user(text) assistant(c1 c2 c3) tool(c1 c2 c3)");
  });

  test("answer a call that has no result, at the end and in the middle", () => {
    const path = [says("u", "user", "x"), calls("a", "c1", "c2"), answers("r2", "c2"), says("u2", "user", "y"), calls("a2", "c3")];
    expect(summary(path)).toBe("user(text) assistant(c1 c2) tool(c1 c2) user(text) assistant(c3) tool(c3)");
    const results = renderMessages(path).flatMap(({ parts }) => parts.filter((part) => part.kind === "result"));
    expect(results.map((part) => part.isError)).toEqual([true, false, true]);
    expect(results[0]?.text).toContain("effects are unknown");
  });

  test("send notes as the user's, and leave empty nodes out", () => {
    const path = [
      says("u", "user", "x"),
      node("a", "agent", []),
      node("n", "note", [{ kind: "text", text: "go on" }], { about: "interruption" }),
    ];
    expect(summary(path)).toBe("user(text) user(text)");
  });

  test("leave out what the participants of a group said, and keep what was asked and answered", () => {
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
    const path = [says("u1", "user", "objective"), node("n1", "note", [{ kind: "text", text: "mine" }], { about: "group", said })];
    expect(renderMessages([...path, says("a1", "agent", "deliverable")]).map(({ role }) => role)).toEqual(["user", "assistant"]);
  });

  test("of a longer path begin with exactly those of the shorter one", () => {
    const path: Node[] = [];
    const grow = [
      says("u", "user", "x"),
      calls("a", "c1", "c2"),
      answers("r2", "c2"),
      answers("r1", "c1"),
      says("a2", "agent", "y"),
      says("u2", "user", "z"),
      calls("a3", "c3"),
      answers("r3", "c3"),
      says("a4", "agent", "end"),
    ];
    let before = "[";
    for (const next of grow) {
      path.push(next);
      if (next.id === "r2" || next.author === "agent") continue; // a request is only made when all calls are answered
      const after = JSON.stringify(renderMessages(path)).slice(0, -1);
      expect(after.startsWith(before)).toBe(true);
      before = after;
    }
  });

  test("never change the nodes they are made from", () => {
    const path = [says("u", "user", "x"), calls("a", "c1", "c2"), answers("r2", "c2"), answers("r1", "c1")];
    const before = JSON.stringify(path);
    renderMessages(path);
    expect(JSON.stringify(path)).toBe(before);
  });
});
