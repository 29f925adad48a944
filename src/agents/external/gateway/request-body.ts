// What a CLI sends, whole: bounded, unpacked, and made to ask for its usage where a vendor tells it only then.
import type { WireName } from "../../../models/model.ts";
import { type Json, objectAt, parseJson } from "../../../models/wire/json.ts";

const bound = 64 * 1024 * 1024;

/** A text when it can't be taken. `json` is null when it is none; that is for the vendor to say. */
export async function readRequestBody(
  request: Request,
  wire: WireName,
  vendor: string,
): Promise<{ body: Uint8Array | null; json: Json | null } | string> {
  if (request.body === null) return { body: null, json: null };
  const packed = await readBounded(request.body);
  if (packed === null) return `a request may have ${bound / 1024 / 1024} MB`;
  const body = await unpack(packed, request.headers.get("content-encoding"));
  if (body === null) return "the request can't be unpacked";
  const json = parseJson(new TextDecoder().decode(body));
  const isSilent = json !== null && wire === "openai-chat" && json.stream === true && vendor !== "mistral";
  if (!isSilent || objectAt(json, "stream_options")?.include_usage !== undefined) return { body, json };
  json.stream_options = { ...objectAt(json, "stream_options"), include_usage: true };
  return { body: new TextEncoder().encode(JSON.stringify(json)), json };
}

async function readBounded(body: ReadableStream<Uint8Array>): Promise<Uint8Array | null> {
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    length += piece.length;
    if (length > bound) return null;
    pieces.push(piece);
  }
  return Buffer.concat(pieces);
}

/** Few CLIs pack anything. */
async function unpack(packed: Uint8Array, encoding: string | null): Promise<Uint8Array | null> {
  if (encoding === null || encoding === "identity") return packed;
  const zlib = await import("node:zlib");
  const most = { maxOutputLength: bound };
  const unpackers: Record<string, () => Uint8Array> = {
    gzip: () => zlib.gunzipSync(packed, most),
    deflate: () => zlib.inflateSync(packed, most),
    zstd: () => zlib.zstdDecompressSync(packed, most),
  };
  try {
    return unpackers[encoding.trim().toLowerCase()]?.() ?? null;
  } catch {
    return null;
  }
}
