import { afterAll, expect, test } from "bun:test";
import { startTestExecutor } from "../../../executor/fixtures/test-executor.ts";
import type { TransientEventBody } from "../../../protocol/tree/event.ts";
import type { ToolDefinition } from "../../../protocol/api/ports.ts";
import { callTool, type ToolCallContext } from "./call-tool.ts";

const executor = startTestExecutor({ env: { PATH: process.env["PATH"] ?? "" }, cwd: "/" });
afterAll(() => executor.close());

test("a denied command is reported in the result for the model, and before that as an event for the user", async () => {
  const events: TransientEventBody[] = [];
  const tools = {
    input: { session: "s", turn: "t", directory: "/" },
    path: [],
    tools: [{ name: "bash" } as ToolDefinition],
    executor,
    toolEnv: {},
    context: { signal: new AbortController().signal },
    emit: (event: TransientEventBody) => void events.push(event),
  } as unknown as ToolCallContext;
  const result = await callTool({ kind: "call", id: "c1", name: "bash", input: { command: "rm -rf --no-preserve-root /no/such" } }, tools);
  if ("ask" in result) throw new Error("the call asked a question");
  const { node, isInvalid } = result;
  const [part] = node.parts;
  const text = part?.kind === "result" ? part.text : "";
  expect(text).toStartWith("refused: ");
  expect(isInvalid).toBe(false);
  expect(events).toEqual([
    { type: "tool.started", call: "c1", name: "bash", input: { command: "rm -rf --no-preserve-root /no/such" } },
    { type: "tool.denied", call: "c1", what: "command", text },
  ]);
});
