import { expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import { zeroSpent } from "../../protocol/tree/usage.ts";
import type { SessionBlock } from "./blocks.ts";
import { blocksOf, turnOf } from "../fixtures/press-keys.ts";
import {
  allBlocks,
  blockAt,
  blockCount,
  noBlocks,
  withSubSessionEvent,
  withBlocks,
  withDelta,
  withNode,
  withOutput,
  withSpawned,
  withStart,
} from "./transcript.ts";

const call: Part = { kind: "call", id: "c1", name: "bash", input: { command: "ls" } };
const otherCall: Part = { kind: "call", id: "c2", name: "edit", input: { path: "x" } };
const started = {
  seq: 1,
  n: 1,
  sessionId: "s-1",
  turnId: "t",
  at: 1000,
  type: "tool.started",
  call: "c1",
  name: "bash",
  input: {},
} as const;
const usage = { input: 5, output: 2, cacheRead: 0, cacheWrite: 0 };

test("a diff shows the path that its call used", () => {
  const display = "--- /home/me/p/src/a.ts\n+++ /home/me/p/src/a.ts\n@@ -1 +1 @@\n--- /x/src/a.ts";
  const diffsOf = (path: string) => {
    const edit: Part = { kind: "call", id: "c1", name: "edit", input: { path } };
    const result: Part = { kind: "result", call: "c1", name: "edit", text: "edited", isError: false, display };
    const ended = withNode(withNode(noBlocks, node("n1", "agent", [edit])), node("n2", "tool", [result]));
    return allBlocks(ended).flatMap((block) => (block.kind === "diff" ? [block.text] : []));
  };
  expect(diffsOf("./src/a.ts")).toEqual(["--- src/a.ts\n+++ src/a.ts\n@@ -1 +1 @@\n--- /x/src/a.ts"]);
  expect([diffsOf("/home/me/p/src/a.ts"), diffsOf("b.ts")]).toEqual([[display], [display]]);
});

test("a running call changes in place, and its result adds the duration", () => {
  const called = withNode(noBlocks, node("n1", "agent", [call, otherCall]));
  const running = withOutput(withStart(called, started), "c1", "a\n");
  expect([running.settled === called.settled, blockAt(running, 0)]).toMatchObject([true, { id: "c1", output: "a\n", result: null }]);
  const result: Part = { kind: "result", call: "c1", name: "bash", text: "a\nb", isError: false };
  const ended = withNode(running, { ...node("n2", "tool", [result]), at: 3500 });
  expect(allBlocks(ended)).toMatchObject([
    { id: "c1", output: "", span: { tookMs: 2500 }, result: { text: "a\nb" } },
    { id: "c2", result: null },
  ]);
  expect(ended.running.size).toBe(0);
  const edited: Part = { kind: "result", call: "c2", name: "edit", text: "edited x", isError: false, display: "--- x\n+++ x\n@@ -1 +1 @@" };
  const changed = withNode(ended, node("n3", "tool", [edited]));
  expect(allBlocks(changed)).toMatchObject([{ id: "c1" }, { id: "c2", kind: "diff", tool: "edit", path: "x" }]);
  const sized = withNode(ended, node("n3", "tool", [{ ...edited, display: "5 lines, 113 bytes" }]));
  expect(allBlocks(sized)).toMatchObject([{ id: "c1" }, { id: "c2", kind: "tool", result: { text: "edited x" } }]);
  expect(withOutput(ended, "unknown", "x")).toBe(ended);
});

test("streamed text comes after all other blocks until its node is recorded", () => {
  const writing = withDelta(withDelta(withDelta(noBlocks, "thinking", "hm"), "text", "Hel"), "text", "lo");
  const warned = withBlocks(writing, { id: "w", kind: "note", text: "a warning" });
  expect(allBlocks(warned).map((block) => ("text" in block ? block.text : ""))).toEqual(["a warning", "hm", "Hello"]);
  expect(blockCount(withNode(warned, node("n1", "user", [{ kind: "text", text: "wait" }])))).toBe(4);
  expect(allBlocks(withNode(warned, node("n2", "agent", [{ kind: "text", text: "Hello." }]))).map((block) => block.id)).toEqual([
    "w",
    "n2.0",
  ]);
});

test("a sub-session has one block, in place of the call that started it", () => {
  const spawn: Part = { kind: "call", id: "c7", name: "spawn_session", input: { task: "look" } };
  const event = { seq: 1, n: 1, sessionId: "s-1", turnId: "t", at: 0, type: "session.spawned", session: "s-2", agent: "codex" } as const;
  const result: Part = { kind: "result", call: "c7", name: "spawn_session", text: "fine\n\n[session s-2, ok, spent $0]", isError: false };
  const text: Part = { kind: "text", text: "Done." };
  const called = withNode(noBlocks, node("n1", "agent", [spawn]));
  const spawned = withSpawned(withStart(called, { ...started, call: "c7", name: "spawn_session" }), { ...event, call: "c7", task: "look" });
  const ended = withNode(withNode(spawned, node("n2", "tool", [result])), node("n3", "agent", [text]));
  expect([allBlocks(spawned), allBlocks(ended)]).toMatchObject([
    [{ id: "s-2", kind: "session", call: "c7" }],
    [{ id: "s-2", kind: "session", call: "c7", answer: result.text }, { kind: "text" }],
  ]);
  const recorded = [node("n1", "agent", [spawn]), node("n2", "tool", [result]), node("n3", "agent", [text])];
  const nodes = recorded.map((stored) => ({ ...stored, turn: "t-1" }));
  const empty = { spent: zeroSpent, current: zeroSpent, said: "", seq: 1, createdAt: 0 };
  const stored = blocksOf(
    nodes,
    [turnOf({ tip: "n3" })],
    [{ id: "s-2", turn: "t-1", agent: "codex", task: "look", state: "ok", ...empty }],
  );
  expect(stored).toMatchObject([{ id: "s-2", kind: "session", answer: result.text }, { kind: "text" }, { kind: "turn" }]);
});

test("a path that leaves a turn early does not show the end of the turn", () => {
  const nodes = [node("n1", "user", [{ kind: "text", text: "go" }]), node("n2", "agent", [{ kind: "text", text: "gone" }])].map(
    (stored) => ({ ...stored, turn: "t-1" }),
  );
  const kindsOf = (path: Node[]) => blocksOf(path, [turnOf({ tip: "n2" })]).map(({ kind }) => kind);
  expect([kindsOf(nodes), kindsOf(nodes.slice(0, 1))]).toEqual([["user", "text", "turn"], ["user"]]);
});

test("the block of a sub-session follows its events", () => {
  const spawned = { type: "session.spawned", session: "s-2", agent: "codex", task: "look", call: "c" } as const;
  const head = { seq: 1, n: 1, sessionId: "s-1", turnId: "t", at: 0 };
  let transcript = withSpawned(noBlocks, { ...head, ...spawned });
  const applyEvent = (body: object) => {
    transcript = withSubSessionEvent(transcript, { seq: 1, n: 1, sessionId: "s-2", turnId: "t", at: 0, ...body } as Event);
    return blockAt(transcript, 0);
  };
  expect(applyEvent({ type: "text.delta", text: "reading\nthe tests" })).toMatchObject({ lastOutput: "reading\nthe tests" });
  expect(applyEvent({ type: "ask.opened" })).toMatchObject({ state: "asking" });
  expect(applyEvent({ type: "ask.closed" })).toMatchObject({ state: "running" });
  expect(applyEvent({ type: "turn.paused" })).toMatchObject({ state: "paused" });
  expect(applyEvent({ type: "turn.resumed" })).toMatchObject({ state: "running" });
  expect(applyEvent({ type: "node.added", node: { ...node("n1", "agent", []), usage, costUsd: 0.5 } })).toMatchObject({
    spent: zeroSpent,
    current: { usage, costUsd: 0.5 },
  });
  expect(applyEvent({ type: "node.added", node: { ...node("n2", "agent", []), usage, costUsd: null } })).toMatchObject({
    current: { costUsd: 0.5, costIsPartial: true },
  });
  const answer = node("n3", "agent", [{ kind: "text", text: "the complete answer" }]);
  expect(applyEvent({ type: "node.added", node: { ...answer, usage } })).toMatchObject({ lastOutput: "the complete answer\n" });
  expect(applyEvent({ type: "tool.started", call: "c", name: "bash", input: { command: "ls\n-l" } })).toMatchObject({
    lastOutput: "\nbash ls -l\n",
  });
  expect(applyEvent({ type: "text.delta", text: "x".repeat(1000) })).toMatchObject({ lastOutput: "x".repeat(400) });
  expect(applyEvent({ type: "turn.ended", turn: { status: "ok", usage, costUsd: 1 } })).toMatchObject({
    state: "ok",
    spent: { usage, costUsd: 1 },
    current: zeroSpent,
  });
  transcript = withSpawned(transcript, { ...head, ...spawned, task: "look again" });
  expect([blockCount(transcript), blockAt(transcript, 0)]).toMatchObject([1, { state: "running", spent: { costUsd: 1 } }]);
  expect(applyEvent({ type: "turn.ended", turn: { status: "network", usage, costUsd: 2 } })).toMatchObject({
    state: "network",
    spent: { costUsd: 3 },
  });
  expect(withSubSessionEvent(transcript, { sessionId: "s-3", type: "text.delta", text: "x" } as Event)).toBe(transcript);
});

test("a stored sub-session is shown where it started, unless the path left its turn before that", () => {
  const spawn: Part = { kind: "call", id: "c1", name: "spawn_session", input: {} };
  const result: Part = { kind: "result", call: "c1", name: "spawn_session", text: "3", isError: false };
  const nodeAt = (id: string, at: number, author: Node["author"], part: Part, turn = "t-1"): Node => ({
    ...node(id, author, [part]),
    at,
    turn,
  });
  const text = (content: string): Part => ({ kind: "text", text: content });
  const path = [
    nodeAt("n1", 1, "user", text("go")),
    nodeAt("n2", 2, "agent", spawn),
    nodeAt("n3", 5, "tool", result),
    nodeAt("n4", 6, "agent", text("done")),
  ];
  const subSession = {
    turn: "t-1",
    agent: "codex",
    task: "count",
    seq: 4,
    state: "ok",
    spent: zeroSpent,
    current: zeroSpent,
    said: "3",
  } as const;
  const spawned = [
    { ...subSession, id: "s-2", createdAt: 3 },
    { ...subSession, id: "s-3", createdAt: 7 },
  ];
  const turn = turnOf({ tip: "n4" });
  expect(blocksOf(path, [turn], spawned).map(({ id }) => id)).toEqual(["n1.0", "c1", "s-2", "n4.0", "s-3", "turn-t-1"]);
  expect(blocksOf(path, [turn], spawned)[2]).toEqual({ id: "s-2", kind: "session", ...sessionFields(subSession), lastOutput: "3\n" });
  const leftEarly = [...path.slice(0, 2), nodeAt("n5", 9, "user", text("no"), "t-2")];
  expect(blocksOf(leftEarly, [turn, turnOf({ id: "t-2", endedAt: null, tip: "n5" })], spawned).map(({ id }) => id)).toEqual([
    "n1.0",
    "c1",
    "n5.0",
  ]);
});

function sessionFields<T extends Pick<SessionBlock, "agent" | "task" | "state" | "spent" | "current">>({
  agent,
  task,
  state,
  spent,
  current,
}: T) {
  return { agent, task, state, spent, current };
}

function node(id: string, author: Node["author"], parts: Part[]): Node {
  return { id, parent: null, tree: "t", session: "s-1", turn: null, at: 0, author, parts };
}
