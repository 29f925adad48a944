// The printer for people, on screens that only remember.
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

test("what a server says of an error can't steer the terminal", () => {
  let shown = "";
  const screen = { isTty: true, columns: 80, color: false };
  const ctx = {
    out: { ...screen, write: () => {} },
    err: { ...screen, write: (text: string) => (shown += text) },
  } as unknown as CommandContext;
  textPrinter(ctx, { stream: true, tools: [] }).finish({
    ...result,
    error: { kind: "broken", message: "no\x1b[2J\nway", hint: "try \x1b]0;x\x07again" },
  });
  expect(shown).toStartWith("skein: broken: no way\n       try again\n");
});

test("what was not allowed is one line beside the answer", () => {
  const shown: [string, string][] = [];
  const screen = { isTty: true, columns: 80, color: false };
  const to = (name: string) => ({ ...screen, write: (text: string) => shown.push([name, text]) });
  const printer = textPrinter({ out: to("out"), err: to("err") } as unknown as CommandContext, { stream: true, tools: [], talk: "next" });
  const head = { seq: 1, n: 1, sessionId: "s", turnId: "t", at: 0 };
  printer.event({ ...head, type: "turn.started" } as unknown as Event);
  printer.event({ ...head, type: "tool.denied", call: "c", what: "net", text: "network is\x1b[2J off" });
  expect(shown).toEqual([["err", "  network is off\n"]]);
});
