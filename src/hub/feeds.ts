// The feeds of one connection, on the side that serves. An item is pulled only when there is room for it: whoever reads
// slowly lets the engine's own bounded tail drop what may be lost, and nothing piles up here.
import type { RpcError } from "../kit/flow/rpc.ts";
import { Fault } from "../protocol/api/error.ts";
import { toJsonCase } from "../protocol/json/json-case.ts";
import { faultError } from "./rpc-faults.ts";

export type FeedsOptions = {
  /** Both are false when it could not be sent. The params of the second are JSON already. */
  notify: (method: string, params: unknown) => boolean;
  notifyText: (method: string, params: string) => boolean;
  /** Null when there is room at once. */
  room: () => Promise<void> | null;
};

type OpenFeed = {
  iterator: AsyncIterator<unknown>;
  /** Items that may be sent before the reader says that it took some. */
  credit: number;
  more: (() => void) | null;
  isClosed: boolean;
};

const mostFeeds = 100;

export class Feeds {
  readonly #options: FeedsOptions;
  readonly #open = new Map<number, OpenFeed>();
  #lastId = 0;

  constructor(options: FeedsOptions) {
    this.#options = options;
  }

  get isFull(): boolean {
    return this.#open.size >= mostFeeds;
  }

  /** Nothing is pulled before `begin`. */
  add(items: AsyncIterable<unknown>, window: number): { id: number; begin: () => void } {
    const id = (this.#lastId += 1);
    const feed: OpenFeed = { iterator: items[Symbol.asyncIterator](), credit: window, more: null, isClosed: false };
    this.#open.set(id, feed);
    return { id, begin: () => void this.#pump(id, feed) };
  }

  took(id: number, count: number): void {
    const feed = this.#open.get(id);
    if (feed === undefined) return;
    feed.credit += count;
    feed.more?.();
  }

  close(id: number): void {
    const feed = this.#open.get(id);
    if (feed === undefined || feed.isClosed) return;
    feed.isClosed = true;
    feed.more?.();
    // A turn goes on without its reader; what else there is to clean up may take its time, or fail.
    void Promise.resolve(feed.iterator.return?.()).catch(() => {});
    this.#end(id);
  }

  closeAll(): void {
    for (const id of this.#open.keys()) this.close(id);
  }

  async #pump(id: number, feed: OpenFeed): Promise<void> {
    try {
      for (;;) {
        for (let wait = this.#wait(feed); wait !== null; wait = this.#wait(feed)) await wait;
        if (feed.isClosed) return;
        const { value, done } = await feed.iterator.next();
        if (feed.isClosed) return;
        if (done) return this.#end(id);
        for (let wait = allowance.take(); wait !== null; wait = allowance.take()) await wait;
        if (feed.isClosed) return;
        feed.credit -= 1;
        if (!this.#options.notifyText("feed.item", `{"feed":${id},"item":${textOf(value)}}`)) {
          throw new Fault("too-long", "an item of this feed is larger than a frame may be");
        }
      }
    } catch (error) {
      if (feed.isClosed) return;
      feed.isClosed = true;
      this.#end(id, faultError(error));
    }
  }

  /** Null when there is room for an item. */
  #wait(feed: OpenFeed): Promise<void> | null {
    if (feed.isClosed) return null;
    return feed.credit <= 0 ? new Promise<void>((more) => (feed.more = more)) : this.#options.room();
  }

  /** Always told, also to whoever closed it: after it nothing comes under this id. */
  #end(id: number, error?: RpcError): void {
    this.#open.delete(id);
    this.#options.notify("feed.end", { feed: id, ...(error === undefined ? {} : { error }) });
  }
}

/** Of all feeds of this process together: more would be felt by the turns that run in it. */
const most = { perSecond: 15_000, atOnce: 5_000, waitMs: 20 };

class SendRate {
  #left = most.atOnce;
  #countedAt = performance.now();

  /** Null when one more may be sent now. */
  take(): Promise<void> | null {
    const now = performance.now();
    this.#left = Math.min(most.atOnce, this.#left + ((now - this.#countedAt) / 1000) * most.perSecond);
    this.#countedAt = now;
    if (this.#left < 1) return Bun.sleep(most.waitMs);
    this.#left -= 1;
    return null;
  }
}

const allowance = new SendRate();

/** What many watch is written once: they are all given the same object. */
const texts = new WeakMap<object, string>();

function textOf(item: unknown): string {
  if (typeof item !== "object" || item === null) return JSON.stringify(item) ?? "null";
  const known = texts.get(item);
  if (known !== undefined) return known;
  const text = JSON.stringify(toJsonCase(item));
  texts.set(item, text);
  return text;
}
