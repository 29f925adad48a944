// Our reader of the Responses wire and the vendor's own SDK read the same recorded streams.
import { afterAll, expect, test } from "bun:test";
import OpenAI from "openai";
import { openaiResponses } from "../../../src/models/wire/openai-responses.ts";
import { callsOf, textOf } from "../../../src/protocol/tree/node.ts";
import { userMessage, doneOf, joined, streamEvents, recorded, serve, streamOf } from "../../fixtures/streams/serve.ts";

let fixture = "text";
const server = serve(() => streamOf(recorded("openai-responses", fixture), 11));
afterAll(() => server.stop());
const endpoint = { wire: "openai-responses" as const, vendor: "openai", baseUrl: server.url, apiKey: "k" };

async function both(name: string) {
  fixture = name;
  const events = await streamEvents({ model: "gpt-6-sol" }, endpoint);
  const client = new OpenAI({ baseURL: server.url, apiKey: "k", maxRetries: 0 });
  const theirs = await client.responses.stream({ model: "gpt-6-sol", input: "hi" }).finalResponse();
  return { events, done: doneOf(events), theirs };
}

for (const name of ["text", "thinking", "parallel-calls", "cache-usage"]) {
  test(`the recording "${name}" is read as by the vendor's SDK: text, thinking, calls and usage`, async () => {
    const { events, done, theirs } = await both(name);
    const calls = theirs.output.flatMap((item) =>
      item.type === "function_call" ? [{ id: item.call_id, name: item.name, input: JSON.parse(item.arguments) as unknown }] : [],
    );
    const thinking = theirs.output.flatMap((item) => (item.type === "reasoning" ? item.summary.map(({ text }) => text) : []));
    expect(textOf(done)).toBe(theirs.output_text);
    expect(joined(events, "text.delta")).toBe(theirs.output_text);
    expect(joined(events, "thinking.delta")).toBe(thinking.join("\n\n"));
    expect(callsOf(done).map(({ id, name: called, input }) => ({ id, name: called, input: input as unknown }))).toEqual(calls);
    expect(done.stop).toBe(calls.length > 0 ? "calls" : "end");
    const { usage } = theirs;
    const cached = usage!.input_tokens_details.cached_tokens;
    const written = usage!.input_tokens_details.cache_write_tokens;
    expect(done.usage).toEqual({
      input: usage!.input_tokens - cached - written,
      output: usage!.output_tokens,
      cacheRead: cached,
      cacheWrite: written,
    });
  });
}

test("reasoning is sent back as the vendor's SDK reads it", async () => {
  const { done, theirs } = await both("thinking");
  const request = { model: "gpt-6-sol", effort: null, system: "", tools: [], cacheKey: "s", maxOutputTokens: null };
  const messages = [userMessage("2+2"), { role: "assistant" as const, parts: done.parts }, userMessage("sure?")];
  const { body } = openaiResponses.request({ ...request, messages }, { ...endpoint, headers: {} });
  const reasoning = theirs.output[0] as { id: string; summary: unknown; encrypted_content: string };
  expect((JSON.parse(body) as { input: unknown[] }).input[1]).toEqual({
    type: "reasoning",
    id: reasoning.id,
    summary: reasoning.summary,
    encrypted_content: reasoning.encrypted_content,
  });
});
