// Serves an Api over one connection: the handshake, then every row by its name. The house behind it is built with the
// first request and left when the connection ends; turns that it started go on.
import { isRecord } from "../kit/text/json.ts";
import { isAbsolute } from "node:path";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { Rpc, rpcCodes, type RpcReply } from "../kit/flow/rpc.ts";
import { isFeed, type Api, type MethodName } from "../protocol/api/api.ts";
import { protocolVersion } from "../protocol/api/control.ts";
import { Fault } from "../protocol/api/error.ts";
import type { Event } from "../protocol/tree/event.ts";
import { toJsonCase, toMethodName } from "../protocol/json/json-case.ts";
import { connectionLimits, type Connection, type FrameHandler } from "./connection.ts";
import { badRequest, faultReply } from "./rpc-faults.ts";
import { Feeds } from "./feeds.ts";
import { withoutBackpressure } from "./without-backpressure.ts";

/** Who is there, and in whose name the house is built. */
export type Hello = {
  client: string;
  /** Null: where the server is. */
  directory: string | null;
  /** Null: the server's own. Kept in memory only. */
  env: Record<string, string> | null;
  /** Null asks what was granted. */
  trust: boolean | null;
};

export type ServeOptions = {
  apiFor: (hello: Hello) => Api | Promise<Api>;
  version: string;
  startedAt: number;
  /** Over a socket that only this user can open, a caller may bring its environment. */
  transport: "private" | "web";
  /** Methods beside the Api. */
  extraMethods?: Record<string, (params: Record<string, unknown>) => unknown>;
  /** A reason not to begin this now, or not to begin at all. */
  refuse?: (method: MethodName | "hub.hello") => Fault | null;
};

/** Calls that can be stopped half-way. */
const stoppable = new Set<MethodName>(["doctor.tryAgents", "session.describe"]);

const patience = { helloMs: 10_000, requests: 64 };

export function serveApi(connection: Connection, serving: ServeOptions): FrameHandler {
  const served = new ServedConnection(connection, serving);
  return { receive: (frame) => served.receive(frame), closed: (why) => served.lost(why) };
}

class ServedConnection {
  readonly #serving: ServeOptions;
  readonly #rpc: Rpc;
  readonly #feeds: Feeds;
  readonly #tooLate: Timer;
  #hello: (Hello & { window: number }) | null = null;
  #house: Promise<Api> | null = null;
  #room: Promise<void> | null = null;
  #isLost = false;

  constructor(connection: Connection, serving: ServeOptions) {
    this.#serving = serving;
    this.#rpc = new Rpc({
      send: (frame) => this.#sent(connection.send(frame)),
      onRequest: (method, params, signal) => this.#answer(method, params, signal),
      onNotification: (method, params) => this.#noticed(method, params),
      whenWritable: () => this.#room,
      cancel: { method: "hub.cancel", field: "id" },
      maxFrame: connectionLimits.frameBytes,
      maxRunning: patience.requests,
    });
    this.#feeds = new Feeds({
      notify: (method, params) => this.#rpc.notify(method, params),
      notifyText: (method, params) => this.#rpc.notifyText(method, params),
      room: () => this.#room,
    });
    this.#tooLate = setTimeout(() => connection.close("hub.hello did not come"), patience.helloMs);
    this.#tooLate.unref();
  }

  receive(frame: string): void {
    this.#rpc.receive(frame);
  }

  lost(why: string): void {
    if (this.#isLost) return;
    this.#isLost = true;
    clearTimeout(this.#tooLate);
    this.#feeds.closeAll();
    this.#rpc.close(why);
    // A house that could not be built was told of; one that can't be left has nobody to be told any more.
    void this.#house?.then((api) => api.close("finish")).catch(() => {});
    this.#house = null;
  }

  #sent(room: Promise<void> | void): void {
    if (!room || room === this.#room) return;
    this.#room = room;
    void room.then(() => (this.#room = this.#room === room ? null : this.#room));
  }

  async #answer(method: string, params: unknown, signal: AbortSignal): Promise<RpcReply> {
    try {
      return await this.#act(method, params ?? {}, signal);
    } catch (error) {
      return faultReply(error);
    }
  }

  async #act(method: string, params: unknown, signal: AbortSignal): Promise<RpcReply> {
    if (method === "hub.hello") return this.#greet(params);
    if (this.#hello === null) return badRequest(rpcCodes.invalid, "hub.hello comes first");
    const { extraMethods: own = {}, refuse } = this.#serving;
    if (Object.hasOwn(own, method)) {
      if (!isRecord(params)) return badRequest(rpcCodes.badParams, "params are an object with named fields");
      return { ok: true, result: await own[method]!(params) };
    }
    const { checkParams, findMethod, methodNames } = await import("../protocol/schema/check-params.ts");
    const name = findMethod(method);
    if (name === null) return unknownMethod(method, [...methodNames.map(toMethodName), "hub.hello", ...Object.keys(own)]);
    const checked = checkParams(name, params, nearestWord);
    if (!checked.ok) return badRequest(rpcCodes.badParams, checked.message);
    const refused = refuse?.(name);
    if (refused) return faultReply(refused);
    const api = await this.#api(this.#hello);
    const { hasConfiguredDefaults, fillDefaults } = await import("../protocol/schema/default-params.ts");
    const full = hasConfiguredDefaults(name) ? fillDefaults(name, checked.params, params, await api.config.values()) : checked.params;
    // From here on nothing is waited for: a feed must not be opened for someone who has left.
    if (signal.aborted) return badRequest(rpcCodes.cancelled, "cancelled");
    const act = methodOf(api, name);
    if (!isFeed(name)) return { ok: true, result: toJsonCase(await act(stoppable.has(name) ? { ...full, signal } : full)) };
    if (this.#feeds.isFull) return badRequest(rpcCodes.tooMany, "too many feeds at once", "close one with feed.close");
    const events = act(full) as AsyncIterable<Event>;
    const { id, begin } = this.#feeds.add(name === "turn.watch" ? events : withoutBackpressure(events), this.#hello.window);
    return { ok: true, result: { feed: id }, onSent: begin, onUnsent: () => this.#feeds.close(id) };
  }

  #greet(params: unknown): RpcReply {
    const { version, startedAt, transport, refuse } = this.#serving;
    if (!isRecord(params)) return badRequest(rpcCodes.badParams, "params are an object with named fields");
    if (this.#hello !== null) return badRequest(rpcCodes.invalid, "hub.hello was said already");
    const hello = helloIn(params, transport);
    if (typeof hello === "string") return badRequest(rpcCodes.badParams, hello);
    if (params["protocol"] !== protocolVersion) return faultReply(otherVersion(params["protocol"] as number, version));
    const refused = refuse?.("hub.hello");
    if (refused) return faultReply(refused);
    clearTimeout(this.#tooLate);
    this.#hello = hello;
    return { ok: true, result: { protocol: protocolVersion, version, pid: process.pid, started_at: new Date(startedAt).toISOString() } };
  }

  #api(hello: Hello): Promise<Api> {
    if (this.#isLost) throw new Fault("connection-lost", "the connection was closed");
    if (this.#house !== null) return this.#house;
    const house = Promise.resolve(this.#serving.apiFor(hello));
    this.#house = house;
    // What was wrong may be mended before the next request.
    house.catch(() => (this.#house = this.#house === house ? null : this.#house));
    return house;
  }

  #noticed(method: string, params: unknown): void {
    if (!isRecord(params) || typeof params["feed"] !== "number") return;
    const { feed, count } = params;
    if (method === "feed.close") this.#feeds.close(feed);
    if (method === "feed.took" && typeof count === "number" && count > 0) this.#feeds.took(feed, count);
  }
}

function methodOf(api: Api, name: MethodName): (params: unknown) => unknown {
  const [noun, verb] = name.split(".") as [keyof Api, string];
  return (api[noun] as unknown as Record<string, (params: unknown) => unknown>)[verb]!;
}

/** Or what is wrong with it. */
function helloIn(params: Record<string, unknown>, transport: ServeOptions["transport"]): (Hello & { window: number }) | string {
  const { protocol, client, directory = null, env = null, trust = null, window = Infinity, ...rest } = params;
  const [stranger] = Object.keys(rest);
  if (stranger !== undefined) return `hub.hello takes no ${stranger}`;
  if (!Number.isInteger(protocol)) return "protocol is a whole number";
  if (typeof client !== "string") return "client is the name and version of the program that calls";
  if (directory !== null && (typeof directory !== "string" || !isAbsolute(directory))) return "directory is an absolute path";
  if (trust !== null && typeof trust !== "boolean") return "trust is true, false or left out";
  if (typeof window !== "number" || !(window >= 1)) return "window is a number of items above 0";
  if (env !== null && transport !== "private") return "env travels over the unix socket only";
  if (env !== null && !isEnvironment(env)) return "env is an object of texts";
  return { client, directory, env, trust, window };
}

function isEnvironment(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}

function otherVersion(theirs: number, version: string): Fault {
  const message = `the client speaks protocol ${theirs}, skein ${version} speaks ${protocolVersion}`;
  const hint =
    theirs > protocolVersion
      ? "start it again with the newer skein; the hub with `skein hub stop` and `skein hub start`"
      : "update the client";
  return new Fault("protocol-mismatch", message, { hint });
}

function unknownMethod(method: string, names: string[]): RpcReply {
  const noun = method.slice(0, method.indexOf(".") + 1);
  const near = nearestWord(method, names);
  const beside = names.filter((name) => noun !== "" && name.startsWith(noun));
  const offered = near === null ? beside : [near, ...beside.filter((name) => name !== near)];
  const hint = offered.length === 0 ? "docs/HUB.md lists the methods" : `there is ${offered.join(", ")}`;
  return badRequest(rpcCodes.noMethod, `there is no method ${method.slice(0, 100)}`, hint);
}
