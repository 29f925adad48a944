import { expect, test } from "bun:test";
import type { Endpoint, KeptRequest, ModelRequest, Wire } from "../../../models/model.ts";
import { anthropic } from "../../../models/wire/anthropic.ts";
import { gemini } from "../../../models/wire/gemini.ts";
import { openaiChat } from "../../../models/wire/openai-chat.ts";
import { openaiResponses } from "../../../models/wire/openai-responses.ts";
import type { CallPart, Node, Opaque, Part } from "../../../protocol/tree/node.ts";
import { createMessageRenderer, renderMessages } from "./messages.ts";

type Random = (below: number) => number;

const targets: { wire: Wire; vendor: string; model: string }[] = [
  { wire: anthropic, vendor: "anthropic", model: "claude-sonnet-4-5" },
  { wire: openaiResponses, vendor: "openai", model: "gpt-5" },
  { wire: openaiChat, vendor: "openrouter", model: "some/model" },
  { wire: openaiChat, vendor: "mistral", model: "some/model" },
  { wire: gemini, vendor: "gemini", model: "gemini-3-pro" },
  { wire: gemini, vendor: "gemini", model: "gemini-2.5-pro" },
];

for (const seed of [1, 2, 3, 4, 5, 6, 7, 8]) {
  test(`kept and plain rendering are equal on all wires over a random tree with forks and compactions (seed ${seed})`, () => {
    const random = randomFrom(seed);
    const renders = targets.map(() => createMessageRenderer());
    const kept = targets.map((): KeptRequest => ({ items: null }));
    const paths: Node[][] = [];
    let path: Node[] = [];
    let keptMessages = 0;
    for (let step = 0; step < 150; step += 1) {
      path = [...path, ...(random(2) === 0 ? answerWithResults(random) : [randomNode(random, path)])];
      paths.push(path);
      // A fork continues at any node of any earlier path.
      if (random(25) === 0) {
        const other = paths[random(paths.length)]!;
        path = other.slice(0, 1 + random(other.length));
      }
      for (const [index, { wire, vendor, model }] of targets.entries()) {
        if (random(4) === 0) continue; // not every target gets every path
        const endpoint: Endpoint = { vendor, wire: wire.name, baseUrl: "http://127.0.0.1", apiKey: "key", headers: {} };
        const request: ModelRequest = {
          model: random(40) === 0 ? "another-model" : model,
          effort: random(2) === 0 ? "high" : null,
          system: random(2) === 0 ? "system" : "",
          tools: [],
          messages: renders[index]!(path),
          cacheKey: "session",
          maxOutputTokens: null,
        };
        const withKept = wire.request({ ...request, kept: kept[index]! }, endpoint);
        expect(withKept.body).toBe(wire.request({ ...request, messages: renderMessages(path) }, endpoint).body);
        JSON.parse(withKept.body);
        keptMessages += kept[index]!.items!.messages.length;
      }
    }
    expect(keptMessages).toBeGreaterThan(1000);
  });
}

test("a request that continues the last one keeps all but its last messages", () => {
  const random = randomFrom(1);
  const render = createMessageRenderer();
  const kept: KeptRequest = { items: null };
  const endpoint: Endpoint = { vendor: "anthropic", wire: "anthropic", baseUrl: "http://127.0.0.1", apiKey: "", headers: {} };
  const path: Node[] = [node({ author: "user", parts: [{ kind: "text", text: "do it" }] })];
  for (let round = 0; round < 50; round += 1) {
    path.push(...answerWithResults(random));
    const messages = render(path);
    anthropic.request({ model: "m", effort: null, system: "", tools: [], messages, cacheKey: "", maxOutputTokens: null, kept }, endpoint);
    expect(messages.length - kept.items!.messages.length).toBeLessThan(6);
  }
});

/** An answer with calls, and results in any order, of which some are missing. */
function answerWithResults(random: Random): Node[] {
  const calls = Array.from({ length: 1 + random(3) }, (_, index): CallPart => {
    const id = `${["toolu", "call|", "längerer Name "][random(3)]}-${count}-${index}`;
    return { kind: "call", id, name: random(5) === 0 ? "mcp.odd name" : "bash", input: { command: randomText(random) }, ...opaque(random) };
  });
  const answer = node({ author: "agent", parts: [...randomParts(random, random(3)), ...calls] });
  const results = calls
    .filter(() => random(8) > 0)
    .toSorted(() => random(3) - 1)
    .map(({ id, name }) =>
      node({
        author: "tool",
        parts: [
          {
            kind: "result",
            call: id,
            name,
            text: randomText(random),
            isError: random(5) === 0,
            ...(random(6) === 0 && { images: [image] }),
          },
        ],
      }),
    );
  return [answer, ...results];
}

function randomNode(random: Random, path: Node[]): Node {
  switch (random(8)) {
    case 0:
      return node({ author: "agent", parts: randomParts(random, random(3)) });
    case 1:
      return node({ author: "note", note: { about: "correction" }, parts: [{ kind: "text", text: randomText(random) }] });
    case 2:
      return node({ author: "note", note: { about: "check" } as Node["note"], parts: [{ kind: "text", text: "not sent" }] });
    case 3: {
      if (random(4) > 0 || path.length === 0) break;
      const retained = path[random(path.length)]!;
      const keptFrom = random(2) === 0 ? null : retained.id;
      return node({ author: "note", note: { about: "compaction", keptFrom }, parts: [{ kind: "text", text: "summary" }] });
    }
  }
  return node({ author: "user", parts: randomParts(random, 1 + random(2)) });
}

function randomParts(random: Random, length: number): Part[] {
  return Array.from({ length }, (): Part => {
    if (random(3) === 0) return { kind: "thinking", text: randomText(random), ...opaque(random) };
    if (random(6) === 0) return { kind: "image", ...image };
    return { kind: "text", text: randomText(random), ...opaque(random) };
  });
}

function opaque(random: Random): { opaque?: Opaque } {
  const target = targets[random(targets.length)]!;
  const data = { signature: "s", id: true, encrypted_content: "e", reasoning_details: [{ text: "d" }], field: "reasoning_content" };
  return random(2) === 0 ? {} : { opaque: { wire: target.wire.name, model: target.model, data } };
}

const image = { mime: "image/png", base64: "AAAA" } as const;

/** Some texts are blank, or have characters that JSON or vendors treat specially. */
function randomText(random: Random): string {
  return ["", " \n", "plain", 'quotes " and \\ and ]}', "漢字 🧶", "half \ud83e of a pair", `text ${random(1000)}`][random(7)]!;
}

let count = 0;

function node(fields: Pick<Node, "author" | "parts"> & Partial<Node>): Node {
  count += 1;
  return { id: `n${count}`, parent: null, tree: "t", session: "s", turn: "u", at: count, ...fields };
}

/** The same numbers for the same seed. */
function randomFrom(seed: number): Random {
  let state = seed;
  return (below) => {
    state = (state * 1_103_515_245 + 12_345) % 2_147_483_648;
    return Math.floor((state / 2_147_483_648) * below);
  };
}
