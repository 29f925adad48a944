// Why a request read nothing from the vendor's prompt cache: its prompt is compared with those before it. Keeps hashes,
// never the prompts.
import { isJson, type Json } from "../../../models/wire/json.ts";
import type { WireName } from "../../../models/model.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";

export type CacheWatch = {
  /** Null when there is nothing to explain. Call it once for each answer, in the order they end. */
  note: (request: { wire: WireName; model: string | null; body: Json; at: number; usage: Usage }) => string | null;
};

type Print = { at: number; model: string | null; tools: bigint; system: bigint; messages: bigint[] };

const mostKept = 8;
/** No vendor caches less. */
const leastTokens = 1024;
const usualLifeMs = 5 * 60_000;

export function watchCache(): CacheWatch {
  const kept: Print[] = [];
  return {
    note: ({ wire, model, body, at, usage }) => {
      const print = printOf(wire, model, body, at);
      const earlier = kept.filter((one) => one.model === model && one.messages[0] === print.messages[0]);
      kept.push(print);
      if (kept.length > mostKept) kept.shift();
      const before = earlier.toSorted((a, b) => likeness(b, print) - likeness(a, print))[0];
      if (usage.cacheRead > 0 || before === undefined || usage.input + usage.cacheWrite < leastTokens) return null;
      return `nothing was read from the cache: ${reason(before, print, wire, body)}`;
    },
  };
}

function reason(before: Print, now: Print, wire: WireName, body: Json): string {
  if (before.tools !== now.tools) return "the tools are not those of the request before";
  if (before.system !== now.system) return "the system prompt is not that of the request before";
  const same = commonLength(before, now);
  if (same < before.messages.length) return `message ${same + 1} of the request before was changed`;
  if (wire === "anthropic" && !JSON.stringify(body).includes('"cache_control"')) return "the request asks for none";
  const pauseMs = now.at - before.at;
  const extended = "though it only extends the request before";
  return pauseMs < usualLifeMs ? extended : `${extended}; that was ${Math.round(pauseMs / 60_000)} minutes ago`;
}

function likeness(before: Print, now: Print): number {
  const head = (before.tools === now.tools ? 1 : 0) + (before.system === now.system ? 1 : 0);
  return head * 1_000_000 + commonLength(before, now);
}

function commonLength({ messages }: Print, now: Print): number {
  const at = messages.findIndex((hash, index) => hash !== now.messages[index]);
  return at === -1 ? messages.length : at;
}

const places: Record<WireName, { system: string; messages: string }> = {
  anthropic: { system: "system", messages: "messages" },
  "openai-responses": { system: "instructions", messages: "input" },
  "openai-chat": { system: "", messages: "messages" },
  gemini: { system: "systemInstruction", messages: "contents" },
};

function printOf(wire: WireName, model: string | null, body: Json, at: number): Print {
  const place = places[wire];
  const messages = body[place.messages];
  return {
    at,
    model,
    tools: hashOf(body.tools),
    system: hashOf(body[place.system]),
    messages: (Array.isArray(messages) ? messages : [messages]).map(hashOf),
  };
}

/** Where a breakpoint stands changes with every request, and a text may be written as one block. */
function hashOf(value: unknown): bigint {
  const plain = isJson(value) && typeof value.content === "string" ? { ...value, content: [{ type: "text", text: value.content }] } : value;
  return Bun.hash(JSON.stringify(plain, (key, inner: unknown) => (key === "cache_control" ? undefined : inner)) ?? "");
}
