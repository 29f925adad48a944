// Reads the usage and the errors out of an answer while the gateway forwards it. Never changes or delays the answer,
// and stores a bounded part of it. An answer that can't be parsed stays uncounted.
import { readVendorError } from "../../../models/error-response.ts";
import type { VendorError, ServerEvent, Wire, WireName, WireReader } from "../../../models/model.ts";
import { SseParser } from "../../../models/sse.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";

export type Meter = {
  push: (chunk: Uint8Array) => void;
  /** Called after the last byte, or when the answer is interrupted. */
  end: () => Promise<void>;
  /** Usage so far; null while the vendor has reported none. */
  usage: () => Usage | null;
  /** An error answer, or an error in mid-stream. */
  problem: () => VendorError | null;
  /** True after the vendor's last event. */
  isWhole: () => boolean;
};

const maxBodyBytes = 16 * 1024 * 1024;
const maxErrorBytes = 64 * 1024;

export function createMeter(wire: Wire, response: Response): Meter {
  if (!response.ok) return errorMeter(response);
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  return isStream ? streamMeter(wire) : bodyMeter(wire);
}

/** For requests that cost nothing. */
export function freeMeter(response: Response): Meter {
  return response.ok
    ? { push: () => {}, end: async () => {}, usage: () => zeroUsage, problem: () => null, isWhole: () => false }
    : errorMeter(response);
}

function streamMeter(wire: Wire): Meter {
  const parser = new SseParser(maxBodyBytes);
  const counter = new Counter(wire);
  return {
    push: (chunk) => parser.push(chunk).forEach(counter.read),
    end: async () => parser.end().forEach(counter.read),
    usage: () => counter.usage,
    problem: () => counter.problem,
    isWhole: () => counter.isWhole,
  };
}

function bodyMeter(wire: Wire): Meter {
  const body = new BoundedBody(maxBodyBytes);
  const counter = new Counter(wire);
  return {
    push: (chunk) => body.push(chunk),
    end: async () => bodyEvents(wire.name, body.text()).forEach(counter.read),
    usage: () => counter.usage,
    problem: () => counter.problem,
    isWhole: () => counter.isWhole,
  };
}

function errorMeter({ status, headers }: Response): Meter {
  const body = new BoundedBody(maxErrorBytes);
  let problem: VendorError | null = null;
  return {
    push: (chunk) => body.push(chunk),
    end: async () => {
      problem = await readVendorError(new Response(body.text(), { status, headers }));
    },
    usage: () => zeroUsage,
    problem: () => problem,
    isWhole: () => false,
  };
}

/** Matches no text of the answer: quotes in it are escaped. */
const lastEvent = /"type": ?"(message_stop|response\.completed|response\.incomplete)"|"finishReason"|^\[DONE\]$/;

/** Passes only events with usage or errors to the wire's reader, which would otherwise store the whole answer. */
class Counter {
  usage: Usage | null = null;
  problem: VendorError | null = null;
  isWhole = false;
  readonly #wire: Wire;
  #reader: WireReader;

  constructor(wire: Wire) {
    this.#wire = wire;
    this.#reader = wire.reader("");
  }

  read = (event: ServerEvent): void => {
    if (lastEvent.test(event.data)) this.isWhole = true;
    if (!/"usage|"error"/.test(event.data) && event.event !== "error") return;
    try {
      // Anthropic reports its counts in two events. Other vendors repeat them all in each, perhaps with the text so far.
      if (this.#wire.name !== "anthropic") this.#reader = this.#wire.reader("");
      const failed = this.#reader.push(event).find((result) => result.type === "failed");
      this.problem ??= failed?.problem ?? null;
      const { usage } = this.#reader.partial();
      if (Object.values(usage).some((count) => count > 0)) this.usage = usage;
    } catch {
      // The answer is forwarded all the same and stays uncounted.
    }
  };
}

/** Keeps nothing of a body that is too long. */
class BoundedBody {
  readonly #maxBytes: number;
  #chunks: Uint8Array[] = [];
  #length = 0;

  constructor(maxBytes: number) {
    this.#maxBytes = maxBytes;
  }

  push(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#length <= this.#maxBytes) this.#chunks.push(chunk);
    else this.#chunks = [];
  }

  text(): string {
    return Buffer.concat(this.#chunks).toString();
  }
}

/** Converts an answer without a stream to the events that a stream would have had. */
function bodyEvents(wire: WireName, text: string): ServerEvent[] {
  if (wire === "anthropic") return [{ event: "", data: `{"type":"message_start","message":${text}}` }];
  if (wire === "openai-responses") return [{ event: "", data: `{"type":"response.completed","response":${text}}` }];
  // Gemini streams a JSON list if the client does not ask for events. Its last entry has the counts.
  const last = wire === "gemini" && text.trimStart().startsWith("[") ? lastEntry(text) : text;
  return [{ event: "", data: last }];
}

function lastEntry(text: string): string {
  try {
    return JSON.stringify((JSON.parse(text) as unknown[]).at(-1));
  } catch {
    return "";
  }
}
