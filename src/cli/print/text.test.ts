// Tests the text printer on recording screens.
import { expect, test } from "bun:test";
import type { Event } from "../../protocol/tree/event.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { CommandContext } from "../parse/command.ts";
import { textPrinter } from "./text.ts";

const result: ResultRecord = {
  type: "result",
  status: "broken",
  result: "",
  session_id: "01a1e22c-d890-73cc-8df8-09de92534c2e",
  turn_id: "t",
  node_id: null,
  parent_session_id: null,
  agent: "native",
  model: "test/one",
  usage: { input: 0, output: 0, cache_read: 0, cache_write: 0 },
  cost_usd: null,
  steps: 0,
  duration_ms: 0,
  transcript_path: null,
  enforced: null,
};

test("an error message from a server is printed without control characters", () => {
  let output = "";
  const screen = { isTty: true, columns: 80, color: false };
  const ctx = {
    out: { ...screen, write: () => {} },
    err: { ...screen, write: (text: string) => (output += text) },
  } as unknown as CommandContext;
  textPrinter(ctx, { stream: true, tools: [] }).finish({
    ...result,
    error: { kind: "broken", message: "no\x1b[2J\nway", hint: "try \x1b]0;x\x07again" },
  });
  expect(output).toStartWith("skein: broken: no way\n       try again\n");
});

test("a denied action is one line on stderr", () => {
  const writes: [string, string][] = [];
  const screen = { isTty: true, columns: 80, color: false };
  const screenNamed = (name: string) => ({ ...screen, write: (text: string) => writes.push([name, text]) });
  const printer = textPrinter({ out: screenNamed("out"), err: screenNamed("err") } as unknown as CommandContext, {
    stream: true,
    tools: [],
    conversation: "next",
  });
  const head = { seq: 1, n: 1, sessionId: "s", turnId: "t", at: 0 };
  printer.event({ ...head, type: "turn.started", turn: { agent: "native" }, session: { id: "s", name: null } } as unknown as Event);
  printer.event({ ...head, type: "tool.denied", call: "c", what: "net", text: "network is\x1b[2J off" });
  expect(writes).toEqual([["err", "  network is off\n"]]);
});
