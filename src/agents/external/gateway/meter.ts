// Reads the usage and the errors out of an answer while the gateway forwards it. Never changes or delays the answer,
// and stores a bounded part of it. Estimates the usage that the vendor does not report, by the text of the answer.
import type { VendorError, ServerEvent, Wire, WireName, WireReader } from "../../../models/model.ts";
import { SseParser } from "../../../models/sse.ts";
import { tokensIn } from "../../../kit/text/bytes-per-token.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";

const maxBodyBytes = 16 * 1024 * 1024;

/** Matches no text of the answer: quotes in it are escaped. */
const lastEvent = /"type": ?"(message_stop|response\.completed|response\.incomplete)"|"finishReason"|^\[DONE\]$/;

/** Starts of the pieces of an answer. Each piece is in one event only; later events of OpenAI repeat the text in other fields. */
const pieceStarts: Record<WireName, RegExp> = {
  anthropic: /"(?:text|thinking|partial_json)": ?"/g,
  "openai-responses": /"delta": ?"/g,
  "openai-chat": /"(?:content|reasoning|reasoning_content|arguments|refusal)": ?"/g,
  gemini: /"text": ?"/g,
};

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
  readonly #isStream: boolean;
  #reader: WireReader;
  #bytes = 0;
  #textBytes = 0;

  constructor(wire: Wire, response: Response) {
    const isStream = response.headers.get("content-type")?.startsWith("text/event-stream") ?? false;
    this.#wire = wire;
    this.#isStream = isStream;
    this.#parser = isStream ? new SseParser(maxBodyBytes) : createBodyParser(wire.name);
    this.#reader = wire.reader("");
  }

  push(chunk: Uint8Array): void {
    this.#bytes += chunk.length;
    for (const event of this.#parser.push(chunk)) this.#read(event);
  }

  /** The reported usage. A missing count is estimated from the sizes of request and answer, because it must not count as 0. */
  countedUsage(requestBytes: number): Usage {
    if (this.usage !== null && this.isWhole) return this.usage;
    // A vendor does not charge for an answer that is only an error.
    if (this.usage === null && this.problem !== null && this.#textBytes === 0) return zeroUsage;
    const output = tokensIn(this.#isStream && this.#textBytes > 0 ? this.#textBytes : this.#bytes);
    if (this.usage === null) return { ...zeroUsage, input: tokensIn(requestBytes), output };
    return { ...this.usage, output: Math.max(this.usage.output, this.#isStream ? tokensIn(this.#textBytes) : 0) };
  }

  /** Called after the last byte, or when the answer is interrupted. */
  end(): void {
    for (const event of this.#parser.end()) this.#read(event);
  }

  #read(event: ServerEvent): void {
    if (lastEvent.test(event.data)) this.isWhole = true;
    if (this.#isStream) this.#textBytes += textLength(event.data, pieceStarts[this.#wire.name]);
    if (!/"usage|"error"/.test(event.data) && event.event !== "error") return;
    try {
      // Anthropic reports its counts in two events. Other vendors repeat them all in each, perhaps with the text so far.
      if (this.#wire.name !== "anthropic") this.#reader = this.#wire.reader("");
      const failed = this.#reader.push(event).find((result) => result.type === "failed");
      this.problem ??= failed?.problem ?? null;
      const { usage } = this.#reader.partial();
      if (Object.values(usage).some((count) => count > 0)) this.usage = usage;
    } catch {
      // The answer is forwarded all the same, and its usage is estimated.
    }
  }
}

/** Characters of all JSON strings that begin after a match. */
function textLength(data: string, starts: RegExp): number {
  let length = 0;
  for (const { 0: match, index } of data.matchAll(starts)) {
    const start = index + match.length;
    let end = data.indexOf('"', start);
    while (end !== -1 && isEscaped(data, end)) end = data.indexOf('"', end + 1);
    length += (end === -1 ? data.length : end) - start;
  }
  return length;
}

function isEscaped(data: string, index: number): boolean {
  let first = index;
  while (data[first - 1] === "\\") first -= 1;
  return (index - first) % 2 === 1;
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
