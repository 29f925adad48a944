// Server-sent events out of bytes as they arrive. Knows nothing of vendors, and never holds more than the bound.
import type { ServerEvent } from "./model.ts";

const defaultBound = 64 * 1024 * 1024;

export class SseParser {
  /** A line or an event grew past the bound; nothing more is read. */
  overflowed = false;
  readonly #bound: number;
  readonly #decoder = new TextDecoder();
  // The unfinished line is kept in pieces: joining it anew at every chunk would be quadratic.
  #pieces: string[] = [];
  #pending = 0;
  #skipLineFeed = false;
  #name = "";
  #data: string[] = [];
  #dataLength = 0;

  constructor(bound: number = defaultBound) {
    this.#bound = bound;
  }

  push(chunk: Uint8Array): ServerEvent[] {
    return this.#read(this.#decoder.decode(chunk, { stream: true }));
  }

  /** After the last byte: also an event whose closing blank line never came. */
  end(): ServerEvent[] {
    const events = this.#read(this.#decoder.decode());
    if (this.overflowed) return events;
    if (this.#pending > 0) this.#takeLine("", events);
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
      this.#takeLine(text.slice(start, stop), events);
      start = stop + 1;
      if (isCarriage) {
        if (lineFeed === start) start += 1;
        else if (start === text.length) this.#skipLineFeed = true;
        carriage = text.indexOf("\r", start);
      }
      if (lineFeed !== -1 && lineFeed < start) lineFeed = text.indexOf("\n", start);
    }
    if (start < text.length) this.#keep(text.slice(start));
    return events;
  }

  #keep(rest: string): void {
    this.#pending += rest.length;
    if (this.#pending + this.#dataLength > this.#bound) return this.#overflow();
    this.#pieces.push(rest);
  }

  #takeLine(ending: string, events: ServerEvent[]): void {
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
    if (this.#dataLength > this.#bound) return this.#overflow();
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
