// Our reader of the Gemini wire and the vendor's own SDK read the same recorded streams.
import { GoogleGenAI, type Part as GeminiPart } from "@google/genai";
import { afterAll, expect, test } from "bun:test";
import { callsOf, textOf } from "../../../src/protocol/tree/node.ts";
import { doneOf, joined, streamEvents, recorded, serve, streamOf } from "../../fixtures/streams/serve.ts";

let fixture = "text";
const server = serve(() => streamOf(recorded("gemini", fixture), 17));
afterAll(() => server.stop());
const endpoint = { wire: "gemini" as const, vendor: "gemini", baseUrl: server.url, apiKey: "k" };
const model = "gemini-3.8-flash";

async function both(name: string) {
  fixture = name;
  const events = await streamEvents({ model }, endpoint);
  const client = new GoogleGenAI({ apiKey: "k", httpOptions: { baseUrl: server.url } });
  const parts: GeminiPart[] = [];
  let usage: { promptTokenCount?: number; candidatesTokenCount?: number; thoughtsTokenCount?: number; cachedContentTokenCount?: number } =
    {};
  for await (const chunk of await client.models.generateContentStream({ model, contents: "hi" })) {
    parts.push(...(chunk.candidates?.[0]?.content?.parts ?? []));
    usage = chunk.usageMetadata ?? usage;
  }
  return { events, done: doneOf(events), parts, usage };
}

for (const name of ["text", "thinking", "parallel-calls", "cache-usage", "refusal"]) {
  test(`the recording "${name}" is read as by the vendor's SDK: text, thinking, calls and usage`, async () => {
    const { events, done, parts, usage } = await both(name);
    const text = (isThought: boolean) =>
      parts
        .filter((part) => (part.thought ?? false) === isThought)
        .map((part) => part.text ?? "")
        .join("");
    const calls = parts.flatMap(({ functionCall }) => (functionCall ? [{ name: functionCall.name!, input: functionCall.args }] : []));
    expect(textOf(done)).toBe(text(false));
    expect(joined(events, "text.delta")).toBe(text(false));
    expect(joined(events, "thinking.delta")).toBe(text(true));
    expect(callsOf(done).map(({ name: called, input }) => ({ name: called, input: input as unknown }))).toEqual(calls);
    const cached = usage.cachedContentTokenCount ?? 0;
    expect(done.usage).toEqual({
      input: (usage.promptTokenCount ?? 0) - cached,
      output: (usage.candidatesTokenCount ?? 0) + (usage.thoughtsTokenCount ?? 0),
      cacheRead: cached,
      cacheWrite: 0,
    });
  });
}
