import { describe, expect, test } from "bun:test";
import type { WireName } from "../../../models/model.ts";
import type { Json } from "../../../models/wire/json.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import { watchCache } from "./cache-watch.ts";

const missed: Usage = { input: 5000, output: 1, cacheRead: 0, cacheWrite: 0 };
const mark = { cache_control: { type: "ephemeral" } };
const first = { tools: [{ name: "bash" }], system: "be brief", messages: [{ role: "user", content: "hi" }] };
const longer = {
  ...first,
  messages: [
    { role: "user", content: [{ type: "text", text: "hi", ...mark }] },
    { role: "assistant", content: "ho" },
    { role: "user", content: "more" },
  ],
};

/** What is said of the last of several requests. */
function noteOf(bodies: Json[], given: { usage?: Usage; wire?: WireName; apartMs?: number } = {}): string | null {
  const { usage = missed, wire = "anthropic", apartMs = 1000 } = given;
  const watch = watchCache();
  return bodies.map((body, at) => watch.note({ wire, model: "m", body, at: at * apartMs, usage })).at(-1) ?? null;
}

const begin = "nothing was read from the cache: ";

describe("a request that reads nothing from the cache", () => {
  const rows: [string, Json[], string | null][] = [
    ["is expected when it is the first", [longer], null],
    ["is expected in another conversation", [longer, { ...first, messages: [{ role: "user", content: "title?" }] }], null],
    ["is surprising when it only extends the one before", [first, longer], `${begin}though it only extends the request before`],
    ["has other tools", [first, { ...longer, tools: [] }], `${begin}the tools are not those of the request before`],
    ["has another system prompt", [first, { ...longer, system: "be long" }], `${begin}the system prompt is not that of the request before`],
    [
      "has a history that was changed",
      [longer, { ...longer, messages: [longer.messages[0], { role: "assistant", content: "hm" }] }],
      `${begin}message 2 of the request before was changed`,
    ],
    ["did not ask for a cache", [first, first], `${begin}the request asks for none`],
    [
      "is compared with the most alike, not with the last",
      [first, { ...first, tools: [] }, longer],
      `${begin}though it only extends the request before`,
    ],
  ];
  for (const [title, bodies, note] of rows) test(title, () => expect(noteOf(bodies)).toBe(note));

  test("may come too late", () => {
    expect(noteOf([first, longer], { apartMs: 11 * 60_000 })).toBe(
      `${begin}though it only extends the request before; that was 11 minutes ago`,
    );
  });

  test("is no news when something was read, or the prompt is too short to be kept", () => {
    expect(noteOf([first, longer], { usage: { ...missed, cacheRead: 1 } })).toBeNull();
    expect(noteOf([first, longer], { usage: { ...missed, input: 900 } })).toBeNull();
  });

  test("is explained on every wire", () => {
    const chat = { messages: first.messages };
    const contents = [{ role: "user", parts: [{ text: "hi" }] }];
    const more = [{ role: "model", parts: [{ text: "ho" }] }];
    const rest = `${begin}though it only extends the request before`;
    expect(noteOf([chat, { messages: [...first.messages, { role: "assistant", content: "ho" }] }], { wire: "openai-chat" })).toBe(rest);
    expect(noteOf([{ contents }, { contents: [...contents, ...more] }], { wire: "gemini" })).toBe(rest);
    expect(noteOf([{ input: "hi" }, { input: "hi" }], { wire: "openai-responses" })).toBe(rest);
    const instructions = noteOf(
      [
        { input: "hi", instructions: "a" },
        { input: "hi", instructions: "b" },
      ],
      { wire: "openai-responses" },
    );
    expect(instructions).toBe(`${begin}the system prompt is not that of the request before`);
  });
});
