// A session on a screen that only remembers: history, a stream joined late, and what is not said twice.
import { expect, test } from "bun:test";
import type { Event, DurableEventBody, TransientEventBody } from "../../protocol/tree/event.ts";
import type { Node, Part } from "../../protocol/tree/node.ts";
import { sessionPrinter } from "./session.ts";

const head = { seq: 1, sessionId: "01a1e22c-d890-73cc-8df8-09de92534c2e", turnId: "t", at: 0 };
const lasting = (body: DurableEventBody): Event => ({ ...head, ...body });
const passing = (body: TransientEventBody): Event => ({ ...head, n: 1, ...body });

function added(author: Node["author"], ...parts: Part[]): Event {
  return lasting({ type: "node.added", node: { id: "n", parent: null, tree: "t", session: "s", turn: "t", author, parts, at: 0 } });
}
const words = (text: string): Part => ({ kind: "text", text });
const call: Part = { kind: "call", id: "c", name: "bash", input: { command: "ls" } };
const result: Part = { kind: "result", call: "c", name: "bash", text: "a\nb", isError: false };

function shown(events: Event[], isTty = true): string {
  let text = "";
  const print = sessionPrinter(
    { isTty, columns: 80, color: false, write: (more) => (text += more) },
    { stream: isTty, answers: "elsewhere" },
  );
  for (const event of events) print(event);
  return text;
}

const history = [added("user", words("list\nthem")), added("agent", words("Let me look."), call), added("tool", result)];

test("what is stored reads as it was said and done", () => {
  expect(shown(history)).toBe("> list\n  them\nLet me look.\n• bash ls\n  a (+1 line)\n");
});

test("what streamed is not repeated when it is stored, nor a call when it starts", () => {
  const live = [
    passing({ type: "text.delta", text: "Let me " }),
    passing({ type: "text.delta", text: "look." }),
    added("agent", words("Let me look."), call),
    passing({ type: "tool.started", call: "c", name: "bash", input: { command: "ls" } }),
    added("tool", result),
  ];
  expect(shown(live)).toBe("Let me look.\n• bash ls\n  a (+1 line)\n");
  expect(shown(live, false)).toBe("Let me look.\n• bash ls\n  a (+1 line)\n");
});

test("who comes late is shown what streams so far, once, also after a connection that was lost", () => {
  const joined = [
    passing({ type: "draft.shown", key: "text", text: "Let" }),
    passing({ type: "text.delta", text: " me" }),
    passing({ type: "draft.shown", key: "text", text: "Let me lo" }),
    passing({ type: "text.delta", text: "ok." }),
    added("agent", words("Let me look.")),
  ];
  expect(shown(joined)).toBe("Let me look.\n");
});

test("an answer of which the stream lost a piece is shown whole", () => {
  const torn = [passing({ type: "text.delta", text: "Let look." }), added("agent", words("Let me look."))];
  expect(shown(torn)).toBe("Let look.\nLet me look.\n");
});

test("a message waits and is given, a question has its ways to answer, a pause is told", () => {
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
    passing({ type: "text.delta", text: "Hm" }),
    lasting({ type: "queue.changed", queue: [input] }),
    lasting({ type: "queue.changed", queue: [] }),
    lasting({ type: "ask.opened", ask }),
    lasting({ type: "ask.closed", ask: { ...ask, closedAt: 1, outcome: "answered", answer: "that" } }),
    passing({ type: "turn.paused" }),
    passing({ type: "turn.resumed" }),
    passing({ type: "session.spawned", call: "c", session: "0-1-2-3-00001234beef", agent: "claude", task: "look\naround" }),
  ];
  expect(shown(events)).toBe(`Hm
  waits for the agent's next step: be quick
  given to the agent: be quick
? Which one?
    1  this
    2  that
  skein answer 00000abc <number or text>
  answered: that
  paused · skein resume 92534c2e
  goes on
  ↳ session 1234beef · claude · look around
`);
});
