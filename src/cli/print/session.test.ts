// Tests the session printer on a recording screen.
import { expect, test } from "bun:test";
import type { Event, DurableEventBody, TransientEventBody } from "../../protocol/tree/event.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import { sessionPrinter } from "./session.ts";

const head = { seq: 1, sessionId: "01a1e22c-d890-73cc-8df8-09de92534c2e", turnId: "t", at: 0 };
const durable = (body: DurableEventBody): Event => ({ ...head, ...body });
const transient = (body: TransientEventBody): Event => ({ ...head, n: 1, ...body });

function added(author: Node["author"], ...parts: Part[]): Event {
  return durable({ type: "node.added", node: { id: "n", parent: null, tree: "t", session: "s", turn: "t", author, parts, at: 0 } });
}
const textPart = (text: string): Part => ({ kind: "text", text });
const call: Part = { kind: "call", id: "c", name: "bash", input: { command: "ls" } };
const result: Part = { kind: "result", call: "c", name: "bash", text: "a\nb", isError: false };

function printed(events: Event[], isTty = true): string {
  let text = "";
  const print = sessionPrinter({ isTty, columns: 80, color: false, write: (chunk) => (text += chunk) }, { answers: "elsewhere" });
  for (const event of events) print(event);
  return text;
}

const history = [added("user", textPart("list\nthem")), added("agent", textPart("Let me look."), call), added("tool", result)];

test("stored nodes are printed in order, with calls and results", () => {
  expect(printed(history)).toBe("> list\n  them\nLet me look.\n• bash ls\n  a (+1 line)\n");
});

test("streamed text and calls are not repeated when their node is stored", () => {
  const live = [
    transient({ type: "text.delta", text: "Let me " }),
    transient({ type: "text.delta", text: "look." }),
    added("agent", textPart("Let me look."), call),
    transient({ type: "tool.started", call: "c", name: "bash", input: { command: "ls" } }),
    added("tool", result),
  ];
  expect(printed(live)).toBe("Let me look.\n• bash ls\n  a (+1 line)\n");
  expect(printed(live, false)).toBe("Let me look.\n• bash ls\n  a (+1 line)\n");
});

test("a late watcher sees the text streamed so far once, also after a lost connection", () => {
  const events = [
    transient({ type: "draft.shown", key: "text", text: "Let" }),
    transient({ type: "text.delta", text: " me" }),
    transient({ type: "draft.shown", key: "text", text: "Let me lo" }),
    transient({ type: "text.delta", text: "ok." }),
    added("agent", textPart("Let me look.")),
  ];
  expect(printed(events)).toBe("Let me look.\n");
});

test("an answer is printed in full if its stream lost a piece", () => {
  const incomplete = [transient({ type: "text.delta", text: "Let look." }), added("agent", textPart("Let me look."))];
  expect(printed(incomplete)).toBe("Let look.\nLet me look.\n");
});

test("queued messages, questions, pauses and sub-sessions are printed as lines", () => {
  const input = { id: "i", text: "be quick", queuedAt: 0 };
  const ask = {
    id: "01a1e22c-d890-73cc-8df8-09de00000abc",
    session: "s",
    turn: "t",
    call: "c",
    question: "Which\x1b[2J one?",
    options: ["this", "that"],
    openedAt: 0,
    expiresAt: null,
    closedAt: null,
    outcome: null,
    answer: null,
  };
  const events = [
    transient({ type: "text.delta", text: "Hm" }),
    durable({ type: "queue.changed", queue: [input] }),
    durable({ type: "queue.changed", queue: [] }),
    durable({ type: "ask.opened", ask }),
    durable({ type: "ask.closed", ask: { ...ask, closedAt: 1, outcome: "answered", answer: "that" } }),
    transient({ type: "turn.paused" }),
    transient({ type: "turn.resumed" }),
    transient({ type: "session.spawned", call: "c", session: "0-1-2-3-00001234beef", agent: "claude", task: "look\naround" }),
  ];
  expect(printed(events)).toBe(`Hm
  waits for the agent's next step: be quick
  given to the agent: be quick
? Which one?
    1  this
    2  that
  skein answer 00000abc <number or text>
  answered: that
  paused · skein resume 92534c2e
  resumed
  ↳ session 1234beef · claude · look around
`);
});
