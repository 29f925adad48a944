// Our reader of the Anthropic wire and the vendor's own SDK read the same recorded streams.
import Anthropic from "@anthropic-ai/sdk";
import { afterAll, expect, test } from "bun:test";
import { anthropic } from "../../../src/models/wire/anthropic.ts";
import { callsOf, textOf } from "../../../src/protocol/tree/node.ts";
import { userMessage, doneOf, joined, streamEvents, recorded, serve, streamOf } from "../../fixtures/streams/serve.ts";

let fixture = "text";
const server = serve(() => streamOf(recorded("anthropic", fixture), 7));
afterAll(() => server.stop());
const endpoint = { wire: "anthropic" as const, vendor: "anthropic", baseUrl: server.url, apiKey: "k" };

async function both(name: string) {
  fixture = name;
  const events = await streamEvents({ model: "claude-opus-5-5" }, endpoint);
  const client = new Anthropic({ baseURL: server.url, apiKey: "k", maxRetries: 0 });
  const theirs = await client.messages
    .stream({ model: "claude-opus-5-5", max_tokens: 100, messages: [{ role: "user", content: "hi" }] })
    .finalMessage();
  return { events, done: doneOf(events), theirs };
}

for (const name of ["text", "thinking", "parallel-calls", "cache-usage", "refusal"]) {
  test(`the recording "${name}" is read as by the vendor's SDK: text, thinking, calls and usage`, async () => {
    const { events, done, theirs } = await both(name);
    const text = theirs.content.flatMap((block) => (block.type === "text" ? [block.text] : []));
    const thinking = theirs.content.flatMap((block) => (block.type === "thinking" ? [block.thinking] : []));
    const calls = theirs.content.flatMap((block) =>
      block.type === "tool_use" ? [{ id: block.id, name: block.name, input: block.input }] : [],
    );
    expect(textOf(done)).toBe(text.join("\n\n"));
    expect(joined(events, "text.delta")).toBe(text.join(""));
    expect(joined(events, "thinking.delta")).toBe(thinking.join(""));
    expect(callsOf(done).map(({ id, name: called, input }) => ({ id, name: called, input: input as unknown }))).toEqual(calls);
    expect(events.flatMap((event) => (event.type === "call.started" ? [event.call] : []))).toEqual(calls.map(({ id }) => id));
    expect(done.usage).toEqual({
      input: theirs.usage.input_tokens,
      output: theirs.usage.output_tokens,
      cacheRead: theirs.usage.cache_read_input_tokens ?? 0,
      cacheWrite: theirs.usage.cache_creation_input_tokens ?? 0,
    });
  });
}

test("thinking is sent back as the vendor's SDK reads it", async () => {
  const { done, theirs } = await both("thinking");
  const request = { model: "claude-opus-5-5", effort: null, system: "", tools: [], cacheKey: "s", maxOutputTokens: null };
  const messages = [userMessage("hi"), { role: "assistant" as const, parts: done.parts }, userMessage("go on")];
  const { body } = anthropic.request({ ...request, messages }, { ...endpoint, headers: {} });
  const sent = (JSON.parse(body) as { messages: { content: unknown[] }[] }).messages;
  expect(sent[1]?.content).toEqual(theirs.content.map((block) => (block.type === "text" ? { type: "text", text: block.text } : block)));
});
