// An Api whose calls go to the connection that is open at the moment. It has the same type as the Api everywhere else.
import { isFeed, type Api, type MethodName } from "../../../protocol/api/api.ts";

type AnyApi = Record<string, Record<string, (params?: unknown) => unknown>>;

export function followingApi(current: () => Promise<Api>): Api {
  const call = async (noun: string, verb: string, params: unknown) => ((await current()) as unknown as AnyApi)[noun]![verb]!(params);
  return proxy((noun) =>
    proxy(
      (verb) => (params: unknown) =>
        isFeed(`${noun}.${verb}` as MethodName)
          ? openFeed(() => call(noun, verb, params) as Promise<AsyncIterable<unknown>>)
          : call(noun, verb, params),
    ),
  ) as unknown as Api;
}

/** Sends the request at once: a turn starts also if nothing reads its events. `return` also ends a `next` that waits. */
function openFeed(open: () => Promise<AsyncIterable<unknown>>): AsyncIterable<unknown> {
  const iterator = open().then((items) => items[Symbol.asyncIterator]());
  iterator.catch(() => {}); // the reader gets the error
  return {
    [Symbol.asyncIterator]: () => ({
      next: async () => (await iterator).next(),
      return: async () => (await iterator).return!(),
    }),
  };
}

function proxy(create: (name: string) => unknown): object {
  return new Proxy({}, { get: (_, name) => (typeof name === "string" && name !== "then" ? create(name) : undefined) });
}
