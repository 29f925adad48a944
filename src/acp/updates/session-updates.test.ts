// Updates of events that arrive with gaps, late or for a joining client. The journeys cover the ordinary course.
import { expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import { SessionUpdates } from "./session-updates.ts";

const ids = { sessionId: "01a1ef7b-0000-7000-8000-000000000001", turnId: "01a1ef7b-0000-7000-8000-000000000002", at: 0 };
const node = (id: string, author: Node["author"], parts: Part[], note?: Node["note"]): Node => ({
  id,
  parent: null,
  tree: ids.sessionId,
  session: ids.sessionId,
  turn: ids.turnId,
  author,
  at: 0,
  parts,
  ...(note === undefined ? {} : { note }),
});
const delta = (seq: number, n: number, text: string): Event => ({ type: "text.delta", seq, n, text, ...ids });
const added = (seq: number, stored: Node): Event => ({ type: "node.added", seq, node: stored, ...ids });
const texts = (updates: ReturnType<SessionUpdates["read"]>) =>
  updates.map((update) => ("content" in update && update.content && "text" in update.content ? update.content.text : "")).join("");

test("a lost increment is filled by the stored node, and nothing is sent twice", () => {
  const updates = new SessionUpdates("/p");
  const sent = [
    delta(4, 1, "one "),
    delta(4, 3, "three "),
    added(5, node("n", "agent", [{ kind: "text", text: "one two three four" }])),
  ].map((event) => texts(updates.read(event)));
  expect(sent).toEqual(["one ", "", "two three four"]);
});

test("a draft for a client that joins late fills the gap at once", () => {
  const updates = new SessionUpdates("/p");
  updates.replay({ nodes: [], seq: 4, open: { turn: ids.turnId, state: "running", pid: 1, drafts: [{ key: "text", text: "one " }] } });
  expect(texts(updates.read({ type: "draft.shown", seq: 4, n: 7, key: "text", text: "one two ", ...ids }))).toBe("two ");
  expect(texts(updates.read(delta(4, 8, "three")))).toBe("three");
});

test("the messages of a stream get the node's id for a fork, and loaded messages have it as their own", () => {
  const updates = new SessionUpdates("/p");
  const [chunk] = updates.read(delta(4, 1, "hi"));
  updates.read(added(5, node("the-node", "agent", [{ kind: "text", text: "hi" }])));
  const messageId = chunk !== undefined && "messageId" in chunk ? chunk.messageId! : "";
  expect([updates.nodeOf(messageId), updates.nodeOf(`${messageId}:thinking`), updates.nodeOf("loaded")]).toEqual([
    "the-node",
    "the-node",
    "loaded",
  ]);
});

test("calls without a result are failed when the turn ends or a stored session is repeated", () => {
  const call = node("c", "agent", [{ kind: "call", id: "1", name: "bash", input: { command: "ls" } }]);
  const repeated = new SessionUpdates("/p").replay({ nodes: [call], seq: 1, open: null });
  expect(repeated).toMatchObject([
    { sessionUpdate: "tool_call", status: "in_progress" },
    { sessionUpdate: "tool_call_update", status: "failed" },
  ]);
});

test("output of a running call is sent at most every 250 ms, and only its end", () => {
  const updates = new SessionUpdates("/p");
  updates.read({ type: "tool.started", seq: 1, n: 1, call: "1", name: "bash", input: { command: "yes" }, ...ids });
  const output = (n: number, at: number, text: string) => updates.read({ type: "tool.output", seq: 1, n, call: "1", text, ...ids, at });
  expect(output(2, 1_000, "a")).toHaveLength(1);
  expect(output(3, 1_100, "b")).toHaveLength(0);
  const late = output(4, 1_300, "c".repeat(20_000));
  expect(JSON.stringify(late).length).toBeLessThan(9_000);
});

test("hand-overs are messages, events of a team are thoughts, and output below a call is left out", () => {
  const about = (note: Node["note"]) => new SessionUpdates("/p").read(added(1, node("n", "note", [{ kind: "text", text: "note" }], note)));
  expect(about({ about: "hand-over" })).toMatchObject([{ sessionUpdate: "agent_message_chunk" }]);
  expect(about({ about: "interruption" })).toMatchObject([{ sessionUpdate: "agent_thought_chunk" }]);
  expect(about({ about: "below", call: "1" })).toEqual([]);
});
