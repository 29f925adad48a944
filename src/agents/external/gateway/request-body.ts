// Reads the body of a CLI's request once: limits its size, decompresses it, refuses fields that the gateway can't count
// or allow, and adds the option that makes a vendor report usage. The vendor gets exactly the values that were checked.
import type { WireName } from "../../../models/model.ts";
import { hasTooManyValues, type Json, maxJsonValues } from "../../../kit/text/json.ts";
import { numberAt, objectAt, parseJson, textAt } from "../../../models/wire/json.ts";
import { findVendorFetch } from "./vendor-fetches.ts";

const maxBodyBytes = 64 * 1024 * 1024;

export type RequestBody = { body: Uint8Array | null; json: Json | null };
export type RefusedBody = { status: 400 | 413 | 503; message: string };

/** Bytes of one request that are held in memory. */
export type HeldBody = {
  /** False if there is no space for so many more bytes. */
  take: (bytes: number) => boolean;
  /** Call it once, when the request needs no body any more. */
  release: () => void;
};

/** Limits what all requests of a CLI hold together: it may open many connections, and need not end any of them. */
export function createBodyMemory(maxBytes = 4 * maxBodyBytes): { hold: () => HeldBody } {
  let heldBytes = 0;
  return {
    hold() {
      let own = 0;
      return {
        take(bytes) {
          if (heldBytes + bytes > maxBytes) return false;
          heldBytes += bytes;
          own += bytes;
          return true;
        },
        release: () => void (heldBytes -= own),
      };
    },
  };
}

export type BodyRules = {
  wire: WireName;
  vendor: string;
  /** The vendor must not fetch addresses either. */
  isOffline: boolean;
  take: HeldBody["take"];
};

const tooManyAtOnce: RefusedBody = { status: 503, message: "too many large requests at once" };

export async function readRequestBody(request: Request, rules: BodyRules): Promise<RequestBody | RefusedBody> {
  if (request.body === null) return { body: null, json: null };
  const { bytes, isCut, isRefused } = await readAtMost(request.body, maxBodyBytes, rules.take);
  if (isRefused) return tooManyAtOnce;
  if (isCut) return { status: 413, message: `a request may have ${maxBodyBytes / 1024 / 1024} MB` };
  const body = await decompress(bytes, request.headers.get("content-encoding"));
  if (body === null) return { status: 413, message: "the request can't be unpacked" };
  if (body.length === 0) return { body, json: null };
  if (body !== bytes && !rules.take(body.length)) return tooManyAtOnce;
  if (hasTooManyValues(body)) return { status: 413, message: `a request may have ${maxJsonValues} values` };
  const json = parseJson(new TextDecoder().decode(body));
  // A vendor's parser may accept more than ours, for example NaN. Then nothing would be checked.
  if (json === null) return { status: 400, message: "the request is not a JSON object" };
  const message = reasonToRefuse(json, rules);
  if (message !== null) return { status: 400, message };
  // Mistral refuses a request with this option.
  if (rules.wire === "openai-chat" && json["stream"] === true && rules.vendor !== "mistral")
    json["stream_options"] = { ...objectAt(json, "stream_options"), include_usage: true };
  // A vendor's parser may use another value of a repeated key than ours. After this there is only one.
  return { body: new TextEncoder().encode(JSON.stringify(json)), json };
}

function reasonToRefuse(json: Json, { wire, isOffline }: BodyRules): string | null {
  if (wire === "openai-responses" && json["background"] !== undefined && json["background"] !== null && json["background"] !== false)
    return "background is not supported: the usage of such a request can't be counted";
  const field = isOffline ? findVendorFetch(json, wire) : null;
  if (field === null) return null;
  return `${field} would let the vendor fetch from the network, which is off for this turn; allow it with --net on`;
}

/** The most output tokens that the vendor may answer with; null if the request sets no limit. */
export function outputLimit(json: Json, wire: WireName): number | null {
  const config = wire === "gemini" ? (objectAt(json, "generationConfig") ?? objectAt(json, "generation_config")) : json;
  const limits = limitFields.flatMap((name) => numberAt(config, name) ?? []).filter((limit) => limit > 0);
  if (limits.length === 0) return null;
  const answers = Math.max(1, ...countFields.map((name) => numberAt(config, name) ?? 1));
  return Math.max(...limits) * answers;
}

const limitFields = ["max_tokens", "max_completion_tokens", "max_output_tokens", "maxOutputTokens"];
/** The number of alternative answers. */
const countFields = ["n", "candidateCount", "candidate_count"];

/** Null if the request names no model, or several: OpenRouter chooses one of them, so its price is not known. */
export function modelOf(json: Json): string | null {
  const others = json["models"];
  return Array.isArray(others) && others.length > 0 ? null : textAt(json, "model") || null;
}

/** How many times the listed price the vendor may charge for the request: fast tiers cost more, and no answer tells how much. */
export function priceFactor(json: Json): number {
  if (textAt(json, "speed") === "fast") return fastFactor;
  return /priority|fast/i.test(textAt(json, "service_tier") || textAt(json, "serviceTier")) ? priorityFactor : 1;
}

/** Anthropic's fast mode. */
const fastFactor = 6;
/** The highest factor of the priority tiers of OpenAI and Google. */
const priorityFactor = 2.5;

/** Stops reading after the chunk that exceeds the limit, or that `take` refuses. */
export async function readAtMost(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
  take: HeldBody["take"] = () => true,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; isCut: boolean; isRefused: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  let isRefused = false;
  for await (const chunk of body ?? []) {
    isRefused = !take(chunk.length);
    if (isRefused) break;
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks), isCut: length > maxBytes, isRefused };
}

/** Loads zlib only when needed: few CLIs compress their requests. */
async function decompress(compressed: Uint8Array, encoding: string | null): Promise<Uint8Array | null> {
  if (encoding === null || encoding === "identity") return compressed;
  const zlib = await import("node:zlib");
  const options = { maxOutputLength: maxBodyBytes };
  const decompressors: Record<string, () => Uint8Array> = {
    gzip: () => zlib.gunzipSync(compressed, options),
    deflate: () => zlib.inflateSync(compressed, options),
    zstd: () => zlib.zstdDecompressSync(compressed, options),
  };
  try {
    return decompressors[encoding.trim().toLowerCase()]?.() ?? null;
  } catch {
    return null;
  }
}
