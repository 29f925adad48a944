// Reads the body of a CLI's request: limits its size, decompresses it, and adds the option that makes a vendor report usage.
import type { WireName } from "../../../models/model.ts";
import type { Json } from "../../../kit/text/json.ts";
import { objectAt, parseJson } from "../../../models/wire/json.ts";

const maxBodyBytes = 64 * 1024 * 1024;

/** Returns a string, the error message, for a body that can't be read. Invalid JSON is forwarded with `json` null: the vendor reports it. */
export async function readRequestBody(
  request: Request,
  wire: WireName,
  vendor: string,
): Promise<{ body: Uint8Array | null; json: Json | null } | string> {
  if (request.body === null) return { body: null, json: null };
  const { bytes, isCut } = await readAtMost(request.body, maxBodyBytes);
  if (isCut) return `a request may have ${maxBodyBytes / 1024 / 1024} MB`;
  const body = await decompress(bytes, request.headers.get("content-encoding"));
  if (body === null) return "the request can't be unpacked";
  const json = parseJson(new TextDecoder().decode(body));
  // Mistral refuses a request with this option.
  const needsUsageOption = json !== null && wire === "openai-chat" && json.stream === true && vendor !== "mistral";
  if (!needsUsageOption || objectAt(json, "stream_options")?.include_usage !== undefined) return { body, json };
  json.stream_options = { ...objectAt(json, "stream_options"), include_usage: true };
  return { body: new TextEncoder().encode(JSON.stringify(json)), json };
}

/** Stops reading after the chunk that exceeds the limit. */
export async function readAtMost(
  body: ReadableStream<Uint8Array> | null,
  maxBytes: number,
): Promise<{ bytes: Uint8Array<ArrayBuffer>; isCut: boolean }> {
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body ?? []) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxBytes) break;
  }
  return { bytes: Buffer.concat(chunks), isCut: length > maxBytes };
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
