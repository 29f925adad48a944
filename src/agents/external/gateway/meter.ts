// Reads along while an answer passes through the gateway: what it used, and what the vendor said went wrong. It changes
// and delays nothing, keeps no more than its bounds, and what it can't read it does without.
import { readVendorError } from "../../../models/error-response.ts";
import type { VendorError, ServerEvent, Wire, WireName, WireReader } from "../../../models/model.ts";
import { SseParser } from "../../../models/sse.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";

export type Meter = {
  push: (chunk: Uint8Array) => void;
  /** After the last byte, or when no more will come. */
  end: () => Promise<void>;
  /** So far; null while nothing was told. */
  usage: () => Usage | null;
  /** An error answer, or an error in mid-stream. */
  problem: () => VendorError | null;
  /** Whether the vendor's own last event was seen. */
  isWhole: () => boolean;
};

const bodyBound = 16 * 1024 * 1024;
const errorBound = 64 * 1024;

export function createMeter(wire: Wire, response: Response): Meter {
  if (!response.ok) return errorMeter(response);
  const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
  return isStream ? streamMeter(wire) : bodyMeter(wire);
}

/** For what costs nothing. */
export function freeMeter(response: Response): Meter {
  return response.ok
    ? { push: () => {}, end: async () => {}, usage: () => zeroUsage, problem: () => null, isWhole: () => false }
    : errorMeter(response);
}

function streamMeter(wire: Wire): Meter {
  const parser = new SseParser(bodyBound);
  const counter = new Counter(wire);
  return {
    push: (chunk) => parser.push(chunk).forEach(counter.take),
    end: async () => parser.end().forEach(counter.take),
    usage: () => counter.usage,
    problem: () => counter.problem,
    isWhole: () => counter.isWhole,
  };
}

function bodyMeter(wire: Wire): Meter {
  const body = new Pieces(bodyBound);
  const counter = new Counter(wire);
  return {
    push: (chunk) => body.push(chunk),
    end: async () => wholeEvents(wire.name, body.text()).forEach(counter.take),
    usage: () => counter.usage,
    problem: () => counter.problem,
    isWhole: () => counter.isWhole,
  };
}

function errorMeter({ status, headers }: Response): Meter {
  const body = new Pieces(errorBound);
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

/** Text inside of an event has its quotes escaped. */
const lastEvent = /"type": ?"(message_stop|response\.completed|response\.incomplete)"|"finishReason"|^\[DONE\]$/;

/** Gives the wire's own reader only the events that count or fail: it would keep the whole answer otherwise. */
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

  take = (event: ServerEvent): void => {
    if (lastEvent.test(event.data)) this.isWhole = true;
    if (!/"usage|"error"/.test(event.data) && event.event !== "error") return;
    try {
      // Anthropic tells its counts in two events; elsewhere each has them all, and the text so far may come with it.
      if (this.#wire.name !== "anthropic") this.#reader = this.#wire.reader("");
      const failed = this.#reader.push(event).find((found) => found.type === "failed");
      this.problem ??= failed?.problem ?? null;
      const { usage } = this.#reader.partial();
      if (Object.values(usage).some((count) => count > 0)) this.usage = usage;
    } catch {
      // An answer that can't be read passes all the same; it stays uncounted.
    }
  };
}

class Pieces {
  readonly #bound: number;
  #pieces: Uint8Array[] = [];
  #length = 0;

  constructor(bound: number) {
    this.#bound = bound;
  }

  push(chunk: Uint8Array): void {
    this.#length += chunk.length;
    if (this.#length <= this.#bound) this.#pieces.push(chunk);
    else this.#pieces = [];
  }

  text(): string {
    return Buffer.concat(this.#pieces).toString();
  }
}

/** An answer in one piece, as the events that a stream would have had. */
function wholeEvents(wire: WireName, text: string): ServerEvent[] {
  if (wire === "anthropic") return [{ event: "", data: `{"type":"message_start","message":${text}}` }];
  if (wire === "openai-responses") return [{ event: "", data: `{"type":"response.completed","response":${text}}` }];
  // Gemini streams a list when it is not asked for events: the last entry has the counts.
  const last = wire === "gemini" && text.trimStart().startsWith("[") ? lastOf(text) : text;
  return [{ event: "", data: last }];
}

function lastOf(text: string): string {
  try {
    return JSON.stringify((JSON.parse(text) as unknown[]).at(-1));
  } catch {
    return "";
  }
}
