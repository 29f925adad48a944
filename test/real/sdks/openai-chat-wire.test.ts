// Our reader of the Chat Completions wire and the vendor's own SDK read the same recorded streams.
import { afterAll, expect, test } from "bun:test";
import OpenAI from "openai";
import { callsOf, textOf } from "../../../src/protocol/tree/node.ts";
import { doneOf, joined, streamEvents, recorded, serve, streamOf } from "../../fixtures/streams/serve.ts";

let fixture = "text";
const server = serve(() => streamOf(recorded("openai-chat", fixture), 13));
afterAll(() => server.stop());
const endpoint = { wire: "openai-chat" as const, vendor: "acme", baseUrl: server.url, apiKey: "k" };

async function read(name: string) {
  fixture = name;
  const events = await streamEvents({ model: "m" }, endpoint);
  return { events, done: doneOf(events) };
}

for (const name of ["text", "thinking", "parallel-calls", "cache-usage", "refusal"]) {
  test(`the recording "${name}" is read as by the vendor's SDK: text, calls and usage`, async () => {
    const { events, done } = await read(name);
    const client = new OpenAI({ baseURL: server.url, apiKey: "k", maxRetries: 0 });
    const theirs = await client.chat.completions.stream({ model: "m", messages: [{ role: "user", content: "hi" }] }).finalChatCompletion();
    const { message } = theirs.choices[0]!;
    const calls = (message.tool_calls ?? []).flatMap((call) =>
      call.type === "function" ? [{ id: call.id, name: call.function.name, input: JSON.parse(call.function.arguments) as unknown }] : [],
    );
    expect(textOf(done)).toBe(message.content || message.refusal || "");
    expect(joined(events, "text.delta")).toBe(textOf(done));
    expect(callsOf(done).map(({ id, name: called, input }) => ({ id, name: called, input: input as unknown }))).toEqual(calls);
    const cached = theirs.usage?.prompt_tokens_details?.cached_tokens ?? 0;
    const written = theirs.usage?.prompt_tokens_details?.cache_write_tokens ?? 0;
    expect(done.usage).toEqual({
      input: theirs.usage!.prompt_tokens - cached - written,
      output: theirs.usage!.completion_tokens,
      cacheRead: cached,
      cacheWrite: written,
    });
  });
}
