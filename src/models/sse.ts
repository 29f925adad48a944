// Parses server-sent events from bytes as they arrive. Contains no code for a single vendor. Memory is bounded.
import type { ServerEvent } from "./model.ts";

const defaultMaxLength = 64 * 1024 * 1024;

export class SseParser {
  /** A line or an event is longer than the limit. Nothing more is read. */
  overflowed = false;
  readonly #maxLength: number;
  readonly #decoder = new TextDecoder();
  // The unfinished line is stored in pieces: joining it at every chunk would take quadratic time.
  #pieces: string[] = [];
  #name = "";
  #data: string[] = [];
  /** Characters in `#pieces` and `#data`. */
  #storedLength = 0;
  #endedWithReturn = false;

  constructor(maxLength: number = defaultMaxLength) {
    this.#maxLength = maxLength;
  }

  push(chunk: Uint8Array): ServerEvent[] {
    return this.#read(this.#decoder.decode(chunk, { stream: true }));
  }

  /** Call it after the last byte. Also returns an event whose closing blank line is missing. */
  end(): ServerEvent[] {
    return this.#read(`${this.#decoder.decode()}\n\n`);
  }

  #read(text: string): ServerEvent[] {
    if (this.overflowed || text === "") return [];
    // A CR at the end of a chunk and a LF at the start of the next one end the same line.
    const rest = text.slice(this.#endedWithReturn && text.startsWith("\n") ? 1 : 0);
    // Most servers send no CR, and splitting by a text is several times faster.
    const lines = rest.includes("\r") ? rest.split(/\r\n?|\n/) : rest.split("\n");
    this.#endedWithReturn = text.endsWith("\r");
    const unfinished = lines.pop()!;
    const events: ServerEvent[] = [];
    for (const line of lines) {
      this.#readLine(this.#takePieces() + line, events);
      if (this.overflowed) return events;
    }
    this.#store(this.#pieces, unfinished);
    return events;
  }

  #takePieces(): string {
    if (this.#pieces.length === 0) return "";
    const text = this.#pieces.join("");
    this.#pieces = [];
    this.#storedLength -= text.length;
    return text;
  }

  #readLine(line: string, events: ServerEvent[]): void {
    if (line === "") return this.#dispatch(events);
    const colon = line.indexOf(":");
    const field = colon === -1 ? line : line.slice(0, colon);
    const value = colon === -1 ? "" : line.slice(line[colon + 1] === " " ? colon + 2 : colon + 1);
    if (field === "event") this.#name = value;
    if (field === "data") this.#store(this.#data, value);
  }

  #dispatch(events: ServerEvent[]): void {
    if (this.#data.length > 0) events.push({ event: this.#name, data: this.#data.join("\n") });
    this.#name = "";
    this.#data = [];
    this.#storedLength = 0;
  }

  #store(list: string[], text: string): void {
    this.#storedLength += text.length;
    list.push(text);
    if (this.#storedLength <= this.#maxLength) return;
    this.overflowed = true;
    this.#pieces = [];
    this.#data = [];
  }
}
