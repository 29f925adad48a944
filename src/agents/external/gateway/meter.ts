// Reads the usage and the errors out of an answer while the gateway forwards it. Never changes or delays the answer,
// and stores a bounded part of it. An answer that can't be parsed stays uncounted.
import type { VendorError, ServerEvent, Wire, WireName, WireReader } from "../../../models/model.ts";
import { SseParser } from "../../../models/sse.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";

const maxBodyBytes = 16 * 1024 * 1024;

/** Matches no text of the answer: quotes in it are escaped. */
const lastEvent = /"type": ?"(message_stop|response\.completed|response\.incomplete)"|"finishReason"|^\[DONE\]$/;

type EventParser = Pick<SseParser, "push" | "end">;

/** Passes only events with usage or errors to the wire's reader, which would otherwise store the whole answer. */
export class Meter {
  /** Usage so far; null while the vendor has reported none. */
  usage: Usage | null = null;
  /** An error in mid-stream. */
  problem: VendorError | null = null;
  /** True after the vendor's last event. */
  isWhole = false;
  readonly #wire: Wire;
  readonly #parser: EventParser;
  #reader: WireReader;

  constructor(wire: Wire, response: Response) {
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    this.#wire = wire;
    this.#parser = isStream ? new SseParser(maxBodyBytes) : createBodyParser(wire.name);
    this.#reader = wire.reader("");
  }

  push(chunk: Uint8Array): void {
    for (const event of this.#parser.push(chunk)) this.#read(event);
  }

  /** Called after the last byte, or when the answer is interrupted. */
  end(): void {
    for (const event of this.#parser.end()) this.#read(event);
  }

  #read(event: ServerEvent): void {
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
  }
}

/** For an answer without a stream: returns the last event that a stream would have had. Ignores a body that is too long. */
function createBodyParser(wire: WireName): EventParser {
  let chunks: Uint8Array[] = [];
  let length = 0;
  return {
    push: (chunk) => {
      length += chunk.length;
      if (length <= maxBodyBytes) chunks.push(chunk);
      else chunks = [];
      return [];
    },
    end: () => [{ event: "", data: eventData(wire, Buffer.concat(chunks).toString()) }],
  };
}

function eventData(wire: WireName, body: string): string {
  if (wire === "anthropic") return `{"type":"message_start","message":${body}}`;
  if (wire === "openai-responses") return `{"type":"response.completed","response":${body}}`;
  // Gemini streams a JSON list if the client does not ask for events. Its last entry has the counts.
  return wire === "gemini" && body.trimStart().startsWith("[") ? lastEntry(body) : body;
}

function lastEntry(list: string): string {
  try {
    return JSON.stringify((JSON.parse(list) as unknown[]).at(-1));
  } catch {
    return "";
  }
}
