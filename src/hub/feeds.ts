// The feeds of one connection, on the serving side. An item is read only when it can be sent. With a slow reader the
// engine's own bounded queue drops transient events, and nothing piles up here.
import type { Rpc, RpcError } from "../kit/flow/rpc.ts";
import { Fault } from "../protocol/api/error.ts";
import { toJsonCase } from "../protocol/json/json-case.ts";
import type { Connection } from "../protocol/connection/connection.ts";
import { faultError } from "../protocol/connection/rpc-faults.ts";

type OpenFeed = {
  iterator: AsyncIterator<unknown>;
  /** Items that may be sent before the reader confirms some. */
  credit: number;
  /** Wakes the loop that waits for credit. */
  onCredit: (() => void) | null;
  isClosed: boolean;
};

const maxFeeds = 100;

export class Feeds {
  readonly #rpc: Rpc;
  readonly #connection: Connection;
  readonly #feeds = new Map<number, OpenFeed>();
  #lastId = 0;

  constructor(rpc: Rpc, connection: Connection) {
    this.#rpc = rpc;
    this.#connection = connection;
  }

  get isFull(): boolean {
    return this.#feeds.size >= maxFeeds;
  }

  /** Reads nothing before `begin`. */
  add(items: AsyncIterable<unknown>, window: number): { id: number; begin: () => void } {
    const id = (this.#lastId += 1);
    const feed: OpenFeed = { iterator: items[Symbol.asyncIterator](), credit: window, onCredit: null, isClosed: false };
    this.#feeds.set(id, feed);
    return { id, begin: () => void this.#sendItems(id, feed) };
  }

  took(id: number, count: number): void {
    const feed = this.#feeds.get(id);
    if (feed === undefined) return;
    feed.credit += count;
    feed.onCredit?.();
  }

  close(id: number): void {
    const feed = this.#feeds.get(id);
    if (feed === undefined || feed.isClosed) return;
    feed.isClosed = true;
    feed.onCredit?.();
    // The turn continues without its reader. Cleaning up may take time or fail.
    void Promise.resolve(feed.iterator.return?.()).catch(() => {});
    this.#end(id);
  }

  closeAll(): void {
    for (const id of this.#feeds.keys()) this.close(id);
  }

  async #sendItems(id: number, feed: OpenFeed): Promise<void> {
    try {
      for (;;) {
        for (let wait = this.#wait(feed); wait !== null; wait = this.#wait(feed)) await wait;
        if (feed.isClosed) return;
        const { value, done } = await feed.iterator.next();
        if (feed.isClosed) return;
        if (done) return this.#end(id);
        for (let wait = waitForRate(); wait !== null; wait = waitForRate()) await wait;
        if (feed.isClosed) return;
        feed.credit -= 1;
        if (!this.#rpc.notifyText("feed.item", `{"feed":${id},"item":${textOf(value)}}`)) {
          throw new Fault("too-long", "an item of this feed is larger than a frame may be");
        }
      }
    } catch (error) {
      if (feed.isClosed) return;
      feed.isClosed = true;
      this.#end(id, faultError(error));
    }
  }

  /** Null if an item can be sent now. */
  #wait(feed: OpenFeed): Promise<void> | null {
    if (feed.isClosed) return null;
    return feed.credit <= 0 ? new Promise<void>((resolve) => (feed.onCredit = resolve)) : this.#connection.whenWritable();
  }

  /** Always sends `feed.end`, also to the client that closed the feed: nothing follows under this id. */
  #end(id: number, error?: RpcError): void {
    this.#feeds.delete(id);
    this.#rpc.notify("feed.end", { feed: id, ...(error === undefined ? {} : { error }) });
  }
}

/** Limit for all feeds of this process. A higher rate would slow down its turns. */
const rateLimit = { perSecond: 15_000, atOnce: 5_000, waitMs: 20 };

const sendRate = { remaining: rateLimit.atOnce, countedAt: performance.now() };

/** Null if one more item may be sent now. */
function waitForRate(): Promise<void> | null {
  const now = performance.now();
  const added = ((now - sendRate.countedAt) / 1000) * rateLimit.perSecond;
  sendRate.remaining = Math.min(rateLimit.atOnce, sendRate.remaining + added);
  sendRate.countedAt = now;
  if (sendRate.remaining < 1) return Bun.sleep(rateLimit.waitMs);
  sendRate.remaining -= 1;
  return null;
}

/** JSON of items. All watchers get the same object, so it is encoded once. */
const encodedItems = new WeakMap<object, string>();

function textOf(item: unknown): string {
  if (typeof item !== "object" || item === null) return JSON.stringify(item) ?? "null";
  const cached = encodedItems.get(item);
  if (cached !== undefined) return cached;
  const text = JSON.stringify(toJsonCase(item));
  encodedItems.set(item, text);
  return text;
}
