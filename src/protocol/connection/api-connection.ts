// The calling side of the Api over one connection, whatever transports its frames: a unix socket, a WebSocket of Bun or of a
// browser. It mirrors every method without a list of them, and loads no schemas and no module of a runtime.
import { createFeed, type Feed } from "../../kit/flow/feed.ts";
import { Rpc, rpcCodes, type RpcError } from "../../kit/flow/rpc.ts";
import { isRecord } from "../../kit/text/json.ts";
import { isFeed, type Api, type MethodName } from "../api/api.ts";
import { protocolVersion } from "../api/control.ts";
import { Fault } from "../api/error.ts";
import { snakeCase } from "../json/field-names.ts";
import { fromJsonCase, toJsonCase } from "../json/json-case.ts";
import { connectionLimits, type Connection, type FrameHandler } from "./connection.ts";
import { toFault } from "./rpc-faults.ts";

/** The other side sends at most this many items of a feed that are not confirmed. */
const window = 256;

/** The caller. Its environment is sent only over a unix socket. */
export type ApiCaller = {
  client: string;
  directory?: string;
  env?: Record<string, string | undefined>;
  trust?: boolean;
};

/** The answer to the handshake. */
export type Welcome = { protocol: number; version: string; pid: number; started_at: string };

export class ClientConnection implements FrameHandler {
  readonly #feeds = new Map<number, RemoteFeed>();
  readonly #connection: Connection;
  readonly #rpc: Rpc;

  constructor(connection: Connection) {
    this.#connection = connection;
    this.#rpc = new Rpc({
      send: (frame) => connection.send(frame),
      onNotification: (method, params) => this.#onNotice(method, params),
      cancel: { method: "hub.cancel", field: "id" },
      maxFrame: connectionLimits.frameBytes,
    });
  }

  receive(frame: string): void {
    this.#rpc.receive(frame);
  }

  closed(why: string): void {
    this.#rpc.close(why);
    for (const { queue } of this.#feeds.values()) queue.fail(new Fault("connection-lost", why));
    this.#feeds.clear();
  }

  async hello({ client, directory, env, trust }: ApiCaller): Promise<Welcome> {
    return (await this.call("hub.hello", { protocol: protocolVersion, client, directory, env, trust, window })) as Welcome;
  }

  async call(method: string, params: unknown, signal?: AbortSignal): Promise<unknown> {
    const reply = await this.#rpc.request(method, params, signal);
    if (reply.ok) return reply.result;
    throw toFault(reply.error);
  }

  /** An Api that sends every method to the other process. It needs no list of methods, so that no schema is loaded. */
  api(): Api {
    const close = async (): Promise<void> => this.#connection.close("done");
    return lazyFields((noun) => (noun === "close" ? close : lazyFields((verb) => this.#method(`${noun}.${verb}` as MethodName)))) as Api;
  }

  #method(method: MethodName): unknown {
    return isFeed(method) ? (params: Params) => this.#feed(method, params) : (params?: Params) => this.#call(method, params);
  }

  async #call(method: MethodName, { signal, onProgress: _, ...params }: Params = {}): Promise<unknown> {
    return fromJsonCase(await this.call(snakeCase(method), toJsonCase(params), signal));
  }

  /** Sends the request at once, as in the same process: a turn runs also without a reader. */
  #feed(method: MethodName, params: Params): AsyncIterable<unknown> {
    const id = this.call(snakeCase(method), toJsonCase(params)).then((result) => (result as { feed: number }).feed);
    const opened = id.then((feed) => this.#feedOf(feed).reader);
    opened.catch(() => {});
    return {
      [Symbol.asyncIterator]: () => ({
        next: async () => (await opened).next(),
        return: async () => (await opened).return(),
      }),
    };
  }

  /** The first item can arrive before the answer that names the feed is read. */
  #feedOf(id: number): RemoteFeed {
    const existing = this.#feeds.get(id);
    if (existing !== undefined) return existing;
    const queue = createFeed<unknown>();
    const feed = { queue, reader: this.#readerOf(id, queue) };
    this.#feeds.set(id, feed);
    return feed;
  }

  /** Confirms items as they are read, and closes a feed whose reader stops before the end. */
  #readerOf(id: number, queue: Feed<unknown>): RemoteFeed["reader"] {
    const items = queue[Symbol.asyncIterator]();
    const isOpen = () => this.#feeds.has(id);
    let unconfirmed = 0;
    return {
      next: async () => {
        const item = await items.next();
        unconfirmed += 1;
        if (!item.done && unconfirmed >= window / 2 && isOpen()) {
          this.#rpc.notify("feed.took", { feed: id, count: unconfirmed });
          unconfirmed = 0;
        }
        return item;
      },
      return: async () => {
        if (isOpen()) this.#rpc.notify("feed.close", { feed: id });
        // Ends a `next` that waits. Only then can the iterator return.
        queue.end();
        return items.return!();
      },
    };
  }

  #onNotice(method: string, params: unknown): void {
    if (!isRecord(params) || typeof params["feed"] !== "number") return;
    const { feed: id, item, error } = params;
    if (method === "feed.item") this.#feedOf(id).queue.push(fromJsonCase(item));
    if (method !== "feed.end") return;
    const { queue } = this.#feedOf(id);
    if (isRecord(error)) queue.fail(toFault(parseRpcError(error)));
    else queue.end();
    // The reader of the answer has the feed by now, or gets it in this turn of the event loop.
    setTimeout(() => this.#feeds.delete(id));
  }
}

/** An object whose fields are made when they are first read. It has no `then`, so that it can be awaited. */
function lazyFields(create: (name: string) => unknown): object {
  const fields = new Map<string, unknown>();
  return new Proxy(
    {},
    {
      get: (_, name) => {
        if (typeof name !== "string" || name === "then" || name === "toJSON") return undefined;
        if (!fields.has(name)) fields.set(name, create(name));
        return fields.get(name);
      },
    },
  );
}

type RemoteFeed = { queue: Feed<unknown>; reader: Required<Pick<AsyncIterator<unknown>, "next" | "return">> };

/** Callbacks can't be sent. A signal cancels the request. */
type Params = Record<string, unknown> & { signal?: AbortSignal; onProgress?: unknown };

function parseRpcError({ code, message, data }: Record<string, unknown>): RpcError {
  return { code: typeof code === "number" ? code : rpcCodes.internal, message: String(message), data };
}
