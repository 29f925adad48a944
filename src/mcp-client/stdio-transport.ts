// The transport to a server that runs as a program in the sandbox: one JSON message per line, over its stdin and stdout.
// The server is untrusted. Lines that are no message are skipped, and a server that floods stdout is ended.
import type { JSONRPCMessage, Transport } from "@modelcontextprotocol/client";
import { parseJson } from "../kit/text/json.ts";
import { oneLine } from "../kit/text/cut-text.ts";
import { messageOf } from "../protocol/api/error.ts";
import type { OutputListener, RunningProgram } from "../protocol/api/ports.ts";

export type ProgramStart = { signal: AbortSignal; onOutput: OutputListener };

export type StdioTransportOptions = {
  open: (start: ProgramStart) => Promise<RunningProgram>;
  /** Longest message, and longest output without an answer. For tests. */
  maxBytes?: number;
};

const defaultMaxBytes = 32 << 20;
const newline = 10;

export class StdioTransport implements Transport {
  onclose?: () => void;
  onerror?: (error: Error) => void;
  onmessage?: Transport["onmessage"];
  readonly #options: StdioTransportOptions;
  readonly #stop = new AbortController();
  readonly #encoder = new TextEncoder();
  readonly #maxBytes: number;
  #program: RunningProgram | null = null;
  #ended: Promise<void> = Promise.resolve();
  #line: Uint8Array[] = [];
  #lineBytes = 0;
  #bytesSinceAnswer = 0;
  #strayCount = 0;
  #firstStray = "";
  #endText: string | null = null;

  constructor(options: StdioTransportOptions) {
    this.#options = options;
    this.#maxBytes = options.maxBytes ?? defaultMaxBytes;
  }

  /** Completes "the server ..."; null while it runs. */
  get endText(): string | null {
    return this.#endText;
  }

  /** A remark about lines on stdout that were no messages; empty if there were none. */
  get strayText(): string {
    if (this.#strayCount === 0) return "";
    const lines = this.#strayCount === 1 ? "1 line that is no message" : `${this.#strayCount} lines that are no messages`;
    return `it printed ${lines} of MCP; the first: ${this.#firstStray}`;
  }

  async start(): Promise<void> {
    const onOutput: OutputListener = (chunk, stream) => (stream === "stdout" ? this.#read(chunk) : undefined);
    try {
      this.#program = await this.#options.open({ signal: this.#stop.signal, onOutput });
    } catch (error) {
      this.#endText = `can't be started: ${messageOf(error)}`;
      throw error;
    }
    this.#ended = this.#program.ended.then(({ text }) => {
      this.#endText ??= text;
      this.onclose?.();
    });
  }

  send(message: JSONRPCMessage): Promise<void> {
    if (this.#program === null || this.#endText !== null) return Promise.reject(new Error("the server has ended"));
    this.#program.write(this.#encoder.encode(`${JSON.stringify(message)}\n`));
    return Promise.resolve();
  }

  /** Ends the program, and resolves when it has ended. */
  async close(): Promise<void> {
    this.#stop.abort();
    await this.#ended;
  }

  #read(chunk: Uint8Array): void {
    if (this.#endText !== null) return;
    this.#bytesSinceAnswer += chunk.length;
    let start = 0;
    for (let end = chunk.indexOf(newline); end >= 0; end = chunk.indexOf(newline, start)) {
      this.#line.push(chunk.subarray(start, end));
      this.#takeLine();
      start = end + 1;
    }
    // The chunk may be reused after this call.
    this.#line.push(chunk.slice(start));
    this.#lineBytes += chunk.length - start;
    if (this.#lineBytes > this.#maxBytes) this.#fail(`was ended: it sent a message of more than ${this.#maxBytes >> 20} MB`);
    else if (this.#bytesSinceAnswer > 2 * this.#maxBytes)
      this.#fail(`was ended: it printed more than ${(2 * this.#maxBytes) >> 20} MB without an answer`);
  }

  #takeLine(): void {
    const text = Buffer.concat(this.#line).toString("utf8").trim();
    this.#line = [];
    this.#lineBytes = 0;
    if (text === "") return;
    const message = parseMessage(text);
    if (message === null) {
      this.#strayCount += 1;
      if (this.#strayCount === 1) this.#firstStray = oneLine(text, 200);
      return;
    }
    if ("result" in message || "error" in message) this.#bytesSinceAnswer = 0;
    this.onmessage?.(message);
  }

  #fail(text: string): void {
    this.#endText = text;
    this.#line = [];
    this.#stop.abort();
  }
}

function parseMessage(text: string): JSONRPCMessage | null {
  const value = parseJson(text);
  return value?.["jsonrpc"] === "2.0" ? (value as JSONRPCMessage) : null;
}
