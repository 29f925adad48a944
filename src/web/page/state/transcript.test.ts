// The transcript from nodes and events. A reader that was cut off must end with the same blocks as one that was not.
import { expect, test } from "bun:test";
import type { Event } from "../../../protocol/tree/event.ts";
import type { Node, Part } from "../../../protocol/tree/node.ts";
import type { Turn } from "../../../protocol/tree/turn.ts";
import { emptyTranscript, transcriptOf, withEarlierBlocks, withEvent, withoutLive, type Transcript } from "./transcript.ts";

const turn = {
  id: "t1",
  session: "s",
  agent: "native",
  model: "m",
  parent: null,
  tip: "n4",
  startedAt: 1,
  endedAt: 9,
  status: "ok",
  error: null,
} as unknown as Turn;

function node(id: string, author: Node["author"], ...parts: Part[]): Node {
  return { id, parent: null, tree: "r", session: "s", turn: "t1", author, at: 1, parts };
}

const nodes = [
  node("n1", "user", { kind: "text", text: "do it" }),
  node("n2", "agent", { kind: "text", text: "I look." }, { kind: "call", id: "c1", name: "bash", input: { command: "ls" } }),
  node("n3", "tool", { kind: "result", call: "c1", name: "bash", text: "a\nb", isError: false }),
  node("n4", "agent", { kind: "text", text: "done" }),
];

let seq = 0;
const durable = (body: object): Event => ({ seq: (seq += 1), sessionId: "s", turnId: "t1", at: 1, ...body }) as unknown as Event;
const transient = (body: object): Event => ({ seq, n: 1, sessionId: "s", turnId: "t1", at: 1, ...body }) as unknown as Event;

const events: Event[] = [
  durable({ type: "turn.started", turn: { ...turn, endedAt: null, tip: null }, session: {} }),
  durable({ type: "node.added", node: nodes[0] }),
  transient({ type: "text.delta", text: "I " }),
  transient({ type: "text.delta", text: "look." }),
  transient({ type: "call.started", call: "c1", name: "bash" }),
  durable({ type: "node.added", node: nodes[1] }),
  transient({ type: "tool.started", call: "c1", name: "bash", input: { command: "ls" } }),
  transient({ type: "tool.output", call: "c1", text: "a\n" }),
  durable({ type: "node.added", node: nodes[2] }),
  transient({ type: "text.delta", text: "do" }),
  durable({ type: "node.added", node: nodes[3] }),
  durable({ type: "turn.ended", turn, session: {} }),
];

const ignoringOutput = ({ settled, live }: Transcript) =>
  [...settled, ...live].map((block) => (block.kind === "tool" ? { ...block, output: "", at: 0 } : { ...block, at: 0 }));

test("events build the same blocks as the recorded nodes", () => {
  const streamed = events.reduce(withEvent, emptyTranscript);
  expect(ignoringOutput(streamed)).toEqual(ignoringOutput(transcriptOf({ nodes, turns: [turn] })));
});

test("a reader that was cut off anywhere ends with the same blocks", () => {
  const whole = ignoringOutput(events.reduce(withEvent, emptyTranscript));
  for (let cut = 0; cut <= events.length; cut += 1) {
    const before = events.slice(0, cut).reduce(withEvent, emptyTranscript);
    const lastSeq = events.slice(0, cut).findLast((event) => !("n" in event))?.seq ?? 0;
    // After the cut the hub sends the durable events after the last one, and drops transient ones that are over.
    const rest = events.filter((event) => !("n" in event) && event.seq > lastSeq);
    expect(ignoringOutput(rest.reduce(withEvent, withoutLive(before)))).toEqual(whole);
  }
});

test("streamed text is shown until its node is recorded", () => {
  const streaming = events.slice(0, 4).reduce(withEvent, emptyTranscript);
  expect(streaming.live).toMatchObject([{ kind: "text", text: "I look.", isLive: true, by: "native" }]);
  expect(events.slice(0, 6).reduce(withEvent, emptyTranscript).live).toEqual([]);
});

test("a draft replaces the text that streamed before", () => {
  const joined = [transient({ type: "draft.shown", key: "text", text: "I loo" }), transient({ type: "text.delta", text: "k." })].reduce(
    withEvent,
    emptyTranscript,
  );
  expect(joined.live).toMatchObject([{ kind: "text", text: "I look." }]);
});

test("output of a running call is added to its block, also after its node was recorded", () => {
  const running = events.slice(0, 8).reduce(withEvent, emptyTranscript);
  expect(running.settled.at(-1)).toMatchObject({ kind: "tool", id: "c1", output: "a\n", result: null });
});

test("5,000 deltas of one answer are added without copying the transcript", () => {
  const settled = Array.from({ length: 5_000 }, (_, index) => ({
    kind: "note" as const,
    id: `x${index}`,
    at: 1,
    about: "warning",
    text: "t",
  }));
  let transcript: Transcript = { ...emptyTranscript, settled };
  for (let count = 0; count < 5_000; count += 1) transcript = withEvent(transcript, transient({ type: "text.delta", text: "word " }));
  expect(transcript.settled).toBe(settled);
  expect(transcript.live).toHaveLength(1);
});

test("earlier blocks come first, and a result finds its call among them", () => {
  const whole = transcriptOf({ nodes, turns: [turn] });
  for (let cut = 1; cut < nodes.length; cut += 1) {
    const end = transcriptOf({ nodes: nodes.slice(cut), turns: [turn] });
    const older = transcriptOf({ nodes: nodes.slice(0, cut), turns: [turn] });
    expect(withEarlierBlocks(end, older.settled).settled).toEqual(whole.settled);
  }
});
