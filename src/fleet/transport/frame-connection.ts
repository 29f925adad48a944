// One connection of a frame line: collects frames into rows, checks that no row is missing, and notices a silent peer.
import { messageOf } from "../../protocol/api/error.ts";
import { connectionLimits, type AcceptConnection, type Connection, type FrameHandler } from "../../protocol/connection/connection.ts";

/** `body` is a JSON list of frames; null closes the connection. */
export type FrameRow = { sender: string; connection: string; position: number; body: string | null };

type FrameConnectionOptions = {
  /** Stores one row and wakes the receiver. */
  send: (position: number, body: string | null) => Promise<void>;
  onClosed: () => void;
  accept: AcceptConnection;
};

/** Frames of this time are sent in one row: a streaming answer is a row each 100 ms, not one for each word. */
const collectMs = 100;
/** The sender of a feed waits while more than this is collected. */
const fullAtLength = 256 << 10;
const aliveEveryMs = 5_000;
const overdueAfterMs = 6_000;
const silentAfterMs = 20_000;

export class FrameConnection {
  readonly connection: Connection;
  readonly #options: FrameConnectionOptions;
  readonly #handler: FrameHandler;
  #frames: string[] = [];
  #length = 0;
  #position = 0;
  #expected = 0;
  #sending: Promise<void> | null = null;
  #timer: Timer | null = null;
  #sentAt = -Infinity;
  #heardAt = performance.now();
  #drained: PromiseWithResolvers<void> | null = null;
  #isClosed = false;

  constructor(options: FrameConnectionOptions) {
    this.#options = options;
    this.connection = {
      send: (frame) => this.#collect(frame),
      whenWritable: () => this.#drained?.promise ?? null,
      close: (why) => void this.closeNow(why),
    };
    this.#handler = options.accept(this.connection);
  }

  receive({ position, body }: FrameRow): void {
    if (this.#isClosed) return;
    this.#heardAt = performance.now();
    if (position !== this.#expected) return this.#end("messages were lost");
    this.#expected += 1;
    if (body === null) return this.#end("the other side closed the connection");
    for (const frame of JSON.parse(body) as string[]) if (!this.#isClosed) this.#handler.receive(frame);
  }

  /** Whether a message of the peer is overdue: it sends one every 5 s. */
  get isOverdue(): boolean {
    return performance.now() - this.#heardAt > overdueAfterMs;
  }

  /** The peer is gone, so nobody reads what is not sent yet. */
  endAsLost(why: string): void {
    this.#end(why);
  }

  /** Called each second. */
  checkPeer(): void {
    const now = performance.now();
    if (now - this.#heardAt > silentAfterMs) return this.#end("the other side does not answer any more");
    if (this.#frames.length === 0 && this.#sending === null && now - this.#sentAt > aliveEveryMs) this.#flush();
  }

  async closeNow(why: string): Promise<void> {
    if (this.#isClosed) return;
    const rest = this.#frames.length > 0 ? JSON.stringify(this.#frames) : null;
    this.#end(why);
    // The peer notices a lost last row by the silence.
    try {
      await this.#sending;
      if (rest !== null) await this.#options.send(this.#position++, rest);
      await this.#options.send(this.#position++, null);
    } catch {
      return;
    }
  }

  #collect(frame: string): void {
    if (this.#isClosed) return;
    this.#frames.push(frame);
    this.#length += frame.length;
    if (this.#length > connectionLimits.unsentBytes) return this.#end("the other side does not read");
    if (this.#length > fullAtLength) this.#drained ??= Promise.withResolvers();
    if (this.#sending === null) this.#timer ??= setTimeout(() => this.#flush(), Math.max(0, this.#sentAt + collectMs - performance.now()));
  }

  #flush(): void {
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#timer = null;
    const body = JSON.stringify(this.#frames);
    this.#frames = [];
    this.#length = 0;
    this.#sentAt = performance.now();
    this.#sending = this.#options
      .send(this.#position++, body)
      .catch((error: unknown) => this.#end(`a message could not be sent: ${messageOf(error)}`))
      .finally(() => {
        this.#sending = null;
        if (this.#isClosed) return;
        if (this.#frames.length > 0) this.#timer ??= setTimeout(() => this.#flush(), collectMs);
        else this.#release();
      });
  }

  #release(): void {
    this.#drained?.resolve();
    this.#drained = null;
  }

  #end(why: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    if (this.#timer !== null) clearTimeout(this.#timer);
    this.#frames = [];
    this.#release();
    this.#options.onClosed();
    this.#handler.closed(why);
  }
}
