// Parses server-sent events from bytes as they arrive. Contains nothing of a vendor. Memory is bounded.
import type { ServerEvent } from "./model.ts";

const defaultMaxLength = 64 * 1024 * 1024;

export class SseParser {
  /** A line or an event is longer than the limit. Nothing more is read. */
  overflowed = false;
  readonly #maxLength: number;
  readonly #decoder = new TextDecoder();
  // The unfinished line is stored in pieces: joining it at every chunk would take quadratic time.
  #pieces: string[] = [];
  #pending = 0;
  #skipLineFeed = false;
  #name = "";
  #data: string[] = [];
  #dataLength = 0;

  constructor(maxLength: number = defaultMaxLength) {
    this.#maxLength = maxLength;
  }

  push(chunk: Uint8Array): ServerEvent[] {
    return this.#read(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Call it after the last byte. Also returns an event whose closing blank line is missing. */
  end(): ServerEvent[] {
    const events = this.#read(this.#decoder.decode());
    if (this.overflowed) return events;
    if (this.#pending > 0) this.#readLine("", events);
    this.#dispatch(events);
    return events;
  }

  #read(text: string): ServerEvent[] {
    const events: ServerEvent[] = [];
    if (this.overflowed || text === "") return events;
    let start = this.#skipLineFeed && text.charCodeAt(0) === 10 ? 1 : 0;
    this.#skipLineFeed = false;
    let lineFeed = text.indexOf("\n", start);
    let carriage = text.indexOf("\r", start);
    while (!this.overflowed && (lineFeed !== -1 || carriage !== -1)) {
      const isCarriage = carriage !== -1 && (lineFeed === -1 || carriage < lineFeed);
      const stop = isCarriage ? carriage : lineFeed;
      this.#readLine(text.slice(start, stop), events);
      start = stop + 1;
      if (isCarriage) {
        if (lineFeed === start) start += 1;
        else if (start === text.length) this.#skipLineFeed = true;
        carriage = text.indexOf("\r", start);
      }
      if (lineFeed !== -1 && lineFeed < start) lineFeed = text.indexOf("\n", start);
    }
    if (start < text.length) this.#addPending(text.slice(start));
    return events;
  }

  #addPending(text: string): void {
    this.#pending += text.length;
    if (this.#pending + this.#dataLength > this.#maxLength) return this.#overflow();
    this.#pieces.push(text);
  }

  #readLine(ending: string, events: ServerEvent[]): void {
    let line = ending;
    if (this.#pending > 0) {
      line = this.#pieces.join("") + ending;
      this.#pieces = [];
      this.#pending = 0;
    }
    if (line === "") return this.#dispatch(events);
    const colon = line.indexOf(":");
    if (colon === 0) return;
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line.charCodeAt(colon + 1) === 32 ? colon + 2 : colon + 1);
    if (field === "event") this.#name = value;
    if (field !== "data") return;
    this.#dataLength += value.length;
    if (this.#dataLength > this.#maxLength) return this.#overflow();
    this.#data.push(value);
  }

  #dispatch(events: ServerEvent[]): void {
    const data = this.#data;
    if (data.length > 0) events.push({ event: this.#name, data: data.length === 1 ? data[0]! : data.join("\n") });
    this.#name = "";
    this.#data = [];
    this.#dataLength = 0;
  }

  #overflow(): void {
    this.overflowed = true;
    this.#pieces = [];
    this.#data = [];
  }
}
