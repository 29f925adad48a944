// One Api over two stores: this machine's own and the fleet's. Lists are those of both. A method of one session, node or
// question goes to the store that has it; this machine's own is asked first. The fleet is connected to when it is needed.
import { isFeed, type Api, type MethodName } from "../../protocol/api/api.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";

export type MergeOptions = {
  local: Api;
  /** Opens the Api on the shared store. */
  fleet: () => Promise<Api>;
  warn: (message: string) => void;
};

/** Methods whose answer is a list: those of both stores are joined. With a session they go to its store. */
const joined = new Set<MethodName>(["turn.list", "turn.pending", "session.list", "ask.list", "search.find", "usage.report"]);
const unknownCodes = new Set(["session-unknown", "node-unknown", "ask-unknown", "pending-unknown"]);

type Method = (params: Record<string, unknown>) => unknown;

export function mergeApis({ local, fleet, warn }: MergeOptions): Api {
  let opened: Promise<Api> | null = null;
  const openFleet = (): Promise<Api> => (opened ??= fleet());
  const close: Api["close"] = async (how) => {
    await Promise.all([local.close(how), opened?.then((api) => api.close(how)).catch(() => {})]);
  };
  const methodOf = (api: Api, name: MethodName): Method => {
    const [noun = "", verb = ""] = name.split(".");
    return (api as unknown as Record<string, Record<string, Method>>)[noun]![verb]!;
  };
  const merge = (name: MethodName): Method => {
    const own = methodOf(local, name);
    const ofFleet = async (): Promise<Method> => methodOf(await openFleet(), name);
    if (isFeed(name)) return (params) => mergedFeed(local, { params, own, ofFleet });
    if (joined.has(name)) return (params) => joinedList(own, { params, ofFleet, warn });
    return async (params) => {
      try {
        return await own(params);
      } catch (error) {
        if (!isUnknown(error)) throw error;
        return fromFleet(error, ofFleet, params);
      }
    };
  };
  const nouns = Object.entries(local).map(([noun, verbs]) => {
    if (noun === "close") return [noun, close];
    return [noun, Object.fromEntries(Object.keys(verbs).map((verb) => [verb, merge(`${noun}.${verb}` as MethodName)]))];
  });
  return Object.fromEntries(nouns) as Api;
}

function isUnknown(error: unknown): error is Fault {
  return error instanceof Fault && unknownCodes.has(error.code);
}

/** Asks the fleet for what this machine does not have. If the fleet does not know it either, this machine's error is the clearer one. */
async function fromFleet(unknown: Fault, ofFleet: () => Promise<Method>, params: Record<string, unknown>): Promise<unknown> {
  try {
    return await (
      await ofFleet()
    )(params);
  } catch (error) {
    throw isUnknown(error) ? unknown : error;
  }
}

type Merged = { params: Record<string, unknown>; ofFleet: () => Promise<Method> };

async function joinedList(own: Method, { params, ofFleet, warn }: Merged & Pick<MergeOptions, "warn">): Promise<unknown> {
  const [mine, theirs] = await Promise.allSettled([own(params), ofFleet().then((method) => method(params))]);
  if (mine.status === "rejected" && !isUnknown(mine.reason)) throw mine.reason;
  if (theirs.status === "rejected" && !isUnknown(theirs.reason)) warn(`the fleet is left out: ${messageOf(theirs.reason)}`);
  const lists = [mine, theirs].flatMap((result) => (result.status === "fulfilled" ? [result.value as unknown[]] : []));
  if (lists.length === 0) throw (mine as PromiseRejectedResult).reason;
  return lists.flat();
}

async function* mergedFeed(local: Api, { params, own, ofFleet }: Merged & { own: Method }): AsyncGenerator {
  const { session } = params;
  if (typeof session !== "string") return yield* own(params) as AsyncIterable<unknown>;
  let isOwn = true;
  try {
    await local.session.show({ session });
  } catch (error) {
    if (!isUnknown(error)) throw error;
    isOwn = false;
  }
  yield* (isOwn ? own(params) : (await ofFleet())(params)) as AsyncIterable<unknown>;
}
