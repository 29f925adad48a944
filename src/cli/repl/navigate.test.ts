// Tests positions in a small tree: two exchanges, the second with a tool call, and a branch from the first.
import { describe, expect, test } from "bun:test";
import type { TreeView } from "../../protocol/api/api.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { findBranches, listLeaves, findMessageBack } from "./navigate.ts";

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

const path = [
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
    const { node, distance } = findMessageBack(view(path), tip, count);
    return [node?.id ?? null, distance];
  };
  test("going back counts messages, not tool calls", () => {
    expect(back("a2", 1)).toEqual(["u2", 1]);
    expect(back("a2", 2)).toEqual(["a1", 2]);
  });
  test("going back from a tool node leads to the message before it", () => {
    expect(back("t2", 1)).toEqual(["u2", 1]);
  });
  test("going back stops at the beginning, and returns the number of messages moved", () => {
    expect(back("a2", 99)).toEqual([null, 4]);
    expect(back("u1", 1)).toEqual([null, 1]);
    expect(back(null, 1)).toEqual([null, 0]);
  });
});

describe("branches", () => {
  test("a tree without forks has no branches", () => {
    const main = session("main", "a2");
    expect(findBranches(view(path, main), main)).toBeNull();
  });
  test("a fork has the new message and the session at the fork as branches", () => {
    const main = session("main", "a2");
    const fork = session("fork", "u3");
    const nearest = findBranches(view([...path, node("u3", "a2", "user", "instead")], main, fork), fork);
    expect(nearest?.fork?.id).toBe("a2");
    expect(nearest?.positions).toEqual([
      { node: "u3", session: fork, isCurrent: true, excerpt: "instead" },
      { node: "a2", session: main, isCurrent: false, excerpt: null },
    ]);
  });
  test("after going back, the branches are the current position and the end of the earlier messages", () => {
    const main = session("main", "a1");
    expect(findBranches(view(path, main), main)?.positions).toEqual([
      { node: "a1", session: main, isCurrent: true, excerpt: null },
      { node: "a2", session: null, isCurrent: false, excerpt: "second" },
    ]);
  });
  test("branches can diverge before the first message", () => {
    const main = session("main", "x1");
    const nearest = findBranches(view([...path, node("x1", null, "user", "anew")], main), main);
    expect(nearest?.fork).toBeNull();
    expect(nearest?.positions.map(({ excerpt }) => excerpt)).toEqual(["anew", "first"]);
  });
});

test("leaves are listed newest first, with the session at each leaf", () => {
  const main = session("main", "a2");
  const fork = session("fork", "u3");
  const leaves = listLeaves(view([...path, node("u3", "a1", "user", "instead")], main, fork), main);
  expect(leaves.map(({ node, session, isCurrent }) => [node, session?.name, isCurrent])).toEqual([
    ["u3", "fork", false],
    ["a2", "main", true],
  ]);
});
