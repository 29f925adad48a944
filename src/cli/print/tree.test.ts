// Tests the drawing of a tree.
import { expect, test } from "bun:test";
import type { TreeView } from "../../protocol/api/api.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { treeText } from "./tree.ts";

const screen = { write: () => {}, isTty: false, columns: 80, color: false };
const text = (words: string): Part => ({ kind: "text", text: words });
const call: Part = { kind: "call", id: "c", name: "bash", input: { command: "ls src/*.py" } };
const result: Part = { kind: "result", call: "c", name: "bash", text: "src/main.py", isError: false };

function node(id: string, parent: string | null, author: Node["author"], ...parts: Part[]): Node {
  const fullId = (short: string) => `${"0".repeat(6)}${short}`;
  return { id: fullId(id), parent: parent === null ? null : fullId(parent), author, parts, tree: "t", session: "s", turn: null, at: 1 };
}
const session = (name: string, tip: string) => ({ id: name, name, tip: `${"0".repeat(6)}${tip}` }) as Session;

const path = [node("u1", null, "user", text("list")), node("c1", "u1", "agent", call), node("t1", "c1", "tool", result)];
const answer = node("a1", "t1", "agent", text("I found one."));
const view = (nodes: Node[], ...sessions: Session[]): TreeView => ({ nodes, sessions, turns: [] });

test("a tree without branches is not indented, and a call is in one line with its result", () => {
  expect(treeText(view([...path, answer], session("main", "a1")), screen)).toBe(
    "000000u1 ○ list\n000000t1 ▸ [bash: ls src/*.py]\n000000a1 ● I found one. [main]",
  );
});

test("branches are indented below their fork, and the current position is marked", () => {
  const nodes = [
    ...path,
    answer,
    node("u2", "a1", "user", text("two")),
    node("u3", "a1", "user", text("three")),
    node("a2", "u2", "agent", text("2")),
  ];
  expect(
    treeText(view(nodes, session("main", "a2"), session("fork", "u3")), screen, "fork")
      .split("\n")
      .slice(2),
  ).toEqual(["000000a1 ● I found one.", "000000u2 ├─○ two", "000000a2 │ ● 2 [main]", "000000u3 └─○ three [fork] ← here"]);
});

test("two first messages are branches of the root", () => {
  const drawn = treeText(view([node("u1", null, "user", text("one")), node("u2", null, "user", text("two"))]), screen);
  expect(drawn.split("\n").map((row) => row.trim())).toEqual(["(root)", "000000u1 ├─○ one", "000000u2 └─○ two"]);
});

test("a call is drawn if it has no result, failed, or is the tip of a session", () => {
  expect(treeText(view(path.slice(0, 2)), screen)).toContain("000000c1 ● → bash ls src/*.py");
  expect(treeText(view(path, session("main", "c1")), screen)).toContain("[main]");
  const failed = node("t1", "c1", "tool", { ...result, isError: true, text: "no such file" });
  expect(treeText(view([...path.slice(0, 2), failed]), screen)).toContain("[bash: ls src/*.py] ✗ no such file");
});

test("the mark of a failed call stays visible behind a long command", () => {
  const long: Part = { kind: "call", id: "c1", name: "bash", input: { command: "x ".repeat(200) } };
  const nodes = [path[0]!, node("c1", "u1", "agent", long), node("t1", "c1", "tool", { ...result, call: "c1", isError: true })];
  expect(treeText(view(nodes), { ...screen, columns: 80 })).toContain("…] ✗ ");
});

test("a message with thinking is labelled by its text, without the marks of Markdown", () => {
  const thinking = { kind: "thinking" as const, text: "The person wants to know" };
  expect(treeText(view([node("a2", null, "agent", thinking, text("# How\n\nThe **orders**"))]), screen)).toContain("● How The orders");
});

test("no line of a tree is wider than the screen or has control characters", () => {
  const longNode = node("u1", null, "user", text(`\x1b[2J${"日本語 ".repeat(60)}`));
  const drawn = treeText(view([longNode], session("main", "u1")), { ...screen, columns: 60 });
  expect(Bun.stringWidth(drawn)).toBeLessThanOrEqual(60);
  expect(drawn).not.toContain("\x1b");
});
