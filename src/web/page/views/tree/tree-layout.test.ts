// Rows and lanes of a tree: answers are one row, forks get lanes of their own, and thousands of nodes are laid out at once.
import { expect, test } from "bun:test";
import type { Node } from "../../../../protocol/tree/node.ts";
import type { Session, Turn } from "../../../../protocol/tree/turn.ts";
import { layOutTree } from "./tree-layout.ts";

let clock = 0;
function node(id: string, parent: string | null, author: Node["author"], turn: string): Node {
  const parts = author === "tool" ? [] : [{ kind: "text" as const, text: `text of ${id}` }];
  return { id, parent, tree: "t", session: "s", turn, author, at: ++clock, parts };
}
const session = (name: string, tip: string) => ({ id: name, name, tip }) as unknown as Session;
const turn = (id: string, agent: string) => ({ id, agent }) as unknown as Turn;

test("an answer with its tool calls is one row, and a fork leaves the lane of its parent", () => {
  const nodes = [
    node("u1", null, "user", "t1"),
    node("a1", "u1", "agent", "t1"),
    node("r1", "a1", "tool", "t1"),
    node("a2", "r1", "agent", "t1"),
    node("u2", "a2", "user", "t2"),
    node("b2", "u2", "agent", "t2"),
    node("u3", "a2", "user", "t3"),
    node("b3", "u3", "agent", "t3"),
  ];
  const rows = layOutTree(nodes, [session("main", "b3"), session("side", "b2")], [turn("t1", "native"), turn("t3", "claude")], "b3");
  expect(rows.map(({ id, lane, isOnPath }) => [id, lane, isOnPath])).toEqual([
    ["u1", 0, true],
    ["a2", 0, true],
    ["u2", 1, false],
    ["b2", 1, false],
    ["u3", 0, true],
    ["b3", 0, true],
  ]);
  expect(rows[1]).toMatchObject({ text: "text of a2", agent: "native", isUser: false });
  expect(rows[1]!.lines).toEqual([
    { kind: "through", lane: 0, from: 0, agent: "native" },
    { kind: "fork", lane: 1, from: 0, agent: null },
  ]);
  expect(rows.map(({ sessions }) => sessions.map(({ name }) => name))).toEqual([[], [], [], ["side"], [], ["main"]]);
});

test("the lane of a branch that has ended is used again, and a node between two answers' tips stays a row of its own", () => {
  const nodes = [node("r", null, "user", "t"), node("a", "r", "agent", "t")];
  for (const name of ["x", "y", "z"]) nodes.push(node(`${name}1`, "a", "user", name), node(`${name}2`, `${name}1`, "agent", name));
  const rows = layOutTree(nodes, [session("s", "z2")], [], "z2");
  const lanes = Object.fromEntries(rows.map(({ id, lane }) => [id, lane]));
  expect(lanes).toMatchObject({ r: 0, a: 0, z1: 0, z2: 0, x1: 1, y1: 2 });
});

test("a tree of 10,000 nodes with 2,000 forks is laid out, and is never wider than its last lane", () => {
  const nodes: Node[] = [node("n0", null, "user", "t0")];
  for (let index = 1; index < 10_000; index++) {
    const parent = index % 5 === 0 ? nodes[Math.floor(index / 2)]!.id : nodes[index - 1]!.id;
    nodes.push(node(`n${index}`, parent, index % 2 === 0 ? "user" : "agent", `t${index}`));
  }
  const rows = layOutTree(nodes, [], [], "n9999");
  expect(rows).toHaveLength(10_000);
  expect(Math.max(...rows.map(({ lane }) => lane))).toBeLessThan(24);
});
