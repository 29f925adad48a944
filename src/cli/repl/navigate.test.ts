// Walking a small tree by eye: a line of two exchanges, the second with a tool call, and a branch from the first.
import { describe, expect, test } from "bun:test";
import type { TreeView } from "../../protocol/api/api.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { branchesOf, leavesOf, messageBack } from "./navigate.ts";

let clock = 0;
const node = (id: string, parent: string | null, author: Node["author"], text: string, parts: Part[] = []): Node => ({
  id,
  parent,
  author,
  parts: [...(text === "" ? [] : [{ kind: "text" as const, text }]), ...parts],
  tree: "t",
  session: "s",
  turn: null,
  at: ++clock,
});
const session = (id: string, tip: string | null): Session => ({ id, tip, name: id, tree: "t", updatedAt: 1 }) as Session;
const call: Part = { kind: "call", id: "c", name: "bash", input: { command: "ls" } };
const result: Part = { kind: "result", call: "c", name: "bash", text: "a", isError: false };

const line = [
  node("u1", null, "user", "first"),
  node("a1", "u1", "agent", "one"),
  node("u2", "a1", "user", "second"),
  node("c2", "u2", "agent", "", [call]),
  node("t2", "c2", "tool", "", [result]),
  node("a2", "t2", "agent", "two"),
];
const view = (nodes: Node[], ...sessions: Session[]): TreeView => ({ nodes, sessions, turns: [] });

describe("going back", () => {
  const back = (tip: string | null, count: number) => {
    const { node, back } = messageBack(view(line), tip, count);
    return [node?.id ?? null, back];
  };
  test("counts what was said, not what was done", () => {
    expect(back("a2", 1)).toEqual(["u2", 1]);
    expect(back("a2", 2)).toEqual(["a1", 2]);
  });
  test("from a tool's node goes to what was said before it", () => {
    expect(back("t2", 1)).toEqual(["u2", 1]);
  });
  test("ends at the beginning, and says how far that was", () => {
    expect(back("a2", 99)).toEqual([null, 4]);
    expect(back("u1", 1)).toEqual([null, 1]);
    expect(back(null, 1)).toEqual([null, 0]);
  });
});

describe("branches", () => {
  test("of a straight line are none", () => {
    const main = session("main", "a2");
    expect(branchesOf(view(line, main), main)).toBeNull();
  });
  test("after a fork are what we said and the session that rests there", () => {
    const main = session("main", "a2");
    const fork = session("fork", "u3");
    const found = branchesOf(view([...line, node("u3", "a2", "user", "instead")], main, fork), fork);
    expect(found?.at?.id).toBe("a2");
    expect(found?.positions).toEqual([
      { node: "u3", session: fork, isOurs: true, excerpt: "instead" },
      { node: "a2", session: main, isOurs: false, excerpt: null },
    ]);
  });
  test("after going back are here and what was said before, whose place is its end", () => {
    const main = session("main", "a1");
    expect(branchesOf(view(line, main), main)?.positions).toEqual([
      { node: "a1", session: main, isOurs: true, excerpt: null },
      { node: "a2", session: null, isOurs: false, excerpt: "second" },
    ]);
  });
  test("may part before the first message", () => {
    const main = session("main", "x1");
    const found = branchesOf(view([...line, node("x1", null, "user", "anew")], main), main);
    expect(found?.at).toBeNull();
    expect(found?.positions.map((place) => place.excerpt)).toEqual(["anew", "first"]);
  });
});

test("leaves are the ends, the newest first, with the session that rests there", () => {
  const main = session("main", "a2");
  const fork = session("fork", "u3");
  const places = leavesOf(view([...line, node("u3", "a1", "user", "instead")], main, fork), main);
  expect(places.map(({ node, session, isOurs }) => [node, session?.name, isOurs])).toEqual([
    ["u3", "fork", false],
    ["a2", "main", true],
  ]);
});
