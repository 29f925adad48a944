// Tests the printer for screen readers.
import { expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import { screenReaderPrinter } from "./screen-reader.ts";

test("each line for a screen reader starts with its kind, and has no control characters", () => {
  let output = "";
  const out = { isTty: true, columns: 80, color: true, write: (text: string) => void (output += text) };
  const { event, finish } = screenReaderPrinter({ out }, { conversation: "first" });
  const send = (parts: object) => event({ seq: 1, n: 0, sessionId: "s", turnId: "t", at: 0, ...parts } as unknown as Event);
  send({ type: "turn.started", turn: { agent: "native", model: "test/one" } });
  send({ type: "text.delta", text: "not printed in pieces" });
  send({ type: "tool.started", name: "bash", input: { command: "ls\nsrc" } });
  send({ type: "node.added", node: { author: "tool", parts: [{ kind: "result", name: "bash", text: "a\nb\n", isError: false }] } });
  send({ type: "tool.denied", text: "the network is off" });
  send({ type: "node.added", node: { author: "agent", parts: [{ kind: "text", text: "Two files:\n- a\x1b[2J\n- b\n" }] } });
  send({ type: "ask.opened", ask: { question: "Which\none?", options: ["red", "blue"] } });
  finish({ status: "ok", steps: 1, cost_usd: 0.002, duration_ms: 1500 } as ResultRecord);
  expect(output.split("\n")).toEqual([
    "Turn started: native, test/one.",
    "Tool bash: ls src",
    "Result of bash, ok, 2 lines: a",
    "Denied: the network is off",
    "Assistant: Two files:",
    "- a",
    "- b",
    "Question: Which one?",
    "Option 1: red",
    "Option 2: blue",
    "Type the number of an option, or an answer.",
    "Turn ended: ok, 1 step, 0.0020 dollars, 1.5 s.",
    "",
  ]);
});
