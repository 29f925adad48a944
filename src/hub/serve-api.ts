// Serves an Api over one connection: the handshake, then every method by its name. The Api is created with the first
// request and closed with the connection; its turns continue.
import { isRecord } from "../kit/text/json.ts";
import { isAbsolute } from "node:path";
import { nearestWord } from "../kit/text/nearest-word.ts";
import { once } from "../kit/flow/lazy.ts";
import { Rpc, rpcCodes, type RpcReply } from "../kit/flow/rpc.ts";
import { isFeed, type Api, type MethodName } from "../protocol/api/api.ts";
import { type CallerTrust, protocolVersion } from "../protocol/api/control.ts";
import { Fault } from "../protocol/api/error.ts";
import type { Event } from "../protocol/tree/event.ts";
import { snakeCase } from "../protocol/json/field-names.ts";
import { toJsonCase } from "../protocol/json/json-case.ts";
import { connectionLimits, type Connection, type FrameHandler } from "../protocol/connection/connection.ts";
import { badRequest, faultReply } from "../protocol/connection/rpc-faults.ts";
import { Feeds } from "./feeds.ts";
import { withoutBackpressure } from "./without-backpressure.ts";

// Requests that a client sends one after the other start in that order.
const loadChecks = once(() => import("../protocol/schema/check-params.ts"));
const loadDefaults = once(() => import("../protocol/schema/default-params.ts"));

/** The handshake of a client. Its Api is created from it. */
export type Hello = {
  client: string;
  /** Null: the server's directory. */
  directory: string | null;
  /** Null: the server's environment. Held in memory only. */
  env: Record<string, string> | null;
  /** Null: the stored trust of the project. A client sends no digest; that of a pending turn has one. */
  trust: CallerTrust;
};

export type ServeOptions = {
  apiFor: (hello: Hello) => Api | Promise<Api>;
  version: string;
  startedAt: number;
  /** `private`: only this user can connect, so a caller may send its environment. */
  transport: "private" | "web";
  /** Methods that are not part of the Api. */
  extraMethods?: Record<string, (params: Record<string, unknown>, hello: Hello) => unknown>;
  /** Returns a fault if the method may not start now. */
  refuse?: (method: MethodName | "hub.hello") => Fault | null;
};

/** Methods that stop when their request is cancelled. */
const cancellable = new Set<MethodName>(["doctor.tryAgents", "session.describe"]);

const limits = { helloMs: 10_000, requests: 64 };

export function serveApi(connection: Connection, serving: ServeOptions): FrameHandler {
  return new ServedConnection(connection, serving);
}

class ServedConnection implements FrameHandler {
  readonly #serving: ServeOptions;
  readonly #rpc: Rpc;
  readonly #feeds: Feeds;
  readonly #helloTimeout: Timer;
  #hello: (Hello & { window: number }) | null = null;
  #createdApi: Promise<Api> | null = null;
  #isClosed = false;

  constructor(connection: Connection, serving: ServeOptions) {
    this.#serving = serving;
    this.#rpc = new Rpc({
      send: (frame) => connection.send(frame),
      onRequest: (method, params, signal) => this.#answer(method, params, signal),
      onNotification: (method, params) => this.#onNotice(method, params),
      whenWritable: () => connection.whenWritable(),
      cancel: { method: "hub.cancel", field: "id" },
      maxFrame: connectionLimits.frameBytes,
      maxRunning: limits.requests,
    });
    this.#feeds = new Feeds(this.#rpc, connection);
    this.#helloTimeout = setTimeout(() => connection.close("hub.hello is missing"), limits.helloMs);
    this.#helloTimeout.unref();
  }

  receive(frame: string): void {
    this.#rpc.receive(frame);
  }

  closed(why: string): void {
    if (this.#isClosed) return;
    this.#isClosed = true;
    clearTimeout(this.#helloTimeout);
    this.#feeds.closeAll();
    this.#rpc.close(why);
    // The client got the error of a failed creation. An error on closing has no reader any more.
    void this.#createdApi?.then((api) => api.close("finish")).catch(() => {});
    this.#createdApi = null;
  }

  async #answer(method: string, params: unknown, signal: AbortSignal): Promise<RpcReply> {
    try {
      return await this.#execute(method, params ?? {}, signal);
    } catch (error) {
      return faultReply(error);
    }
  }

  async #execute(method: string, params: unknown, signal: AbortSignal): Promise<RpcReply> {
    if (method === "hub.hello") return this.#handshake(params);
    if (this.#hello === null) return badRequest(rpcCodes.invalid, "hub.hello must come first");
    const { extraMethods = {}, refuse } = this.#serving;
    if (Object.hasOwn(extraMethods, method)) {
      if (!isRecord(params)) return badRequest(rpcCodes.badParams, "params must be an object with named fields");
      return { ok: true, result: await extraMethods[method]!(params, this.#hello) };
    }
    const { checkParams, findMethod, methodNames } = await loadChecks();
    const name = findMethod(method);
    if (name === null) return unknownMethod(method, [...methodNames.map(snakeCase), "hub.hello", ...Object.keys(extraMethods)]);
    const checked = checkParams(name, params);
    if (!checked.ok) return badRequest(rpcCodes.badParams, checked.message);
    const refused = refuse?.(name);
    if (refused) return faultReply(refused);
    const api = await this.#api(this.#hello);
    const { hasConfiguredDefaults, fillDefaults } = await loadDefaults();
    const fullParams = hasConfiguredDefaults(name) ? fillDefaults(name, checked.params, params, await api.config.values()) : checked.params;
    // No await from here on: a feed must not be opened for a client that has disconnected.
    if (signal.aborted) return badRequest(rpcCodes.cancelled, "cancelled");
    const run = methodOf(api, name);
    if (!isFeed(name)) return { ok: true, result: toJsonCase(await run(cancellable.has(name) ? { ...fullParams, signal } : fullParams)) };
    if (this.#feeds.isFull) return badRequest(rpcCodes.tooMany, "too many feeds at once", "close one with feed.close");
    const events = run(fullParams) as AsyncIterable<Event>;
    const { id, begin } = this.#feeds.add(name === "turn.watch" ? events : withoutBackpressure(events), this.#hello.window);
    return { ok: true, result: { feed: id }, onSent: begin, onUnsent: () => this.#feeds.close(id) };
  }

  #handshake(params: unknown): RpcReply {
    const { version, startedAt, transport, refuse } = this.#serving;
    if (!isRecord(params)) return badRequest(rpcCodes.badParams, "params must be an object with named fields");
    if (this.#hello !== null) return badRequest(rpcCodes.invalid, "hub.hello was sent before");
    const hello = parseHello(params, transport);
    if (typeof hello === "string") return badRequest(rpcCodes.badParams, hello);
    if (params["protocol"] !== protocolVersion) return faultReply(otherVersion(params["protocol"] as number, version));
    const refused = refuse?.("hub.hello");
    if (refused) return faultReply(refused);
    clearTimeout(this.#helloTimeout);
    this.#hello = hello;
    return { ok: true, result: { protocol: protocolVersion, version, pid: process.pid, started_at: new Date(startedAt).toISOString() } };
  }

  #api(hello: Hello): Promise<Api> {
    if (this.#isClosed) throw new Fault("connection-lost", "the connection was closed");
    if (this.#createdApi !== null) return this.#createdApi;
    const created = Promise.resolve(this.#serving.apiFor(hello));
    this.#createdApi = created;
    // The cause may be repaired before the next request.
    created.catch(() => (this.#createdApi = this.#createdApi === created ? null : this.#createdApi));
    return created;
  }

  #onNotice(method: string, params: unknown): void {
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

/** Returns the handshake, or an error message. */
function parseHello(params: Record<string, unknown>, transport: ServeOptions["transport"]): (Hello & { window: number }) | string {
  const { protocol, client, directory = null, env = null, trust = null, window = Infinity, ...others } = params;
  const [unknownField] = Object.keys(others);
  if (unknownField !== undefined) return `hub.hello takes no ${unknownField}`;
  if (!Number.isInteger(protocol)) return "protocol must be a whole number";
  if (typeof client !== "string") return "client must be the name and version of the calling program";
  if (directory !== null && (typeof directory !== "string" || !isAbsolute(directory))) return "directory must be an absolute path";
  if (trust !== null && typeof trust !== "boolean") return "trust must be true, false or missing";
  if (typeof window !== "number" || !(window >= 1)) return "window must be a number above 0";
  if (env !== null && transport !== "private") return "env is accepted over the unix socket only";
  if (env !== null && !isEnvironment(env)) return "env must be an object of texts";
  return { client, directory, env, trust, window };
}

function isEnvironment(value: unknown): value is Record<string, string> {
  return isRecord(value) && Object.values(value).every((text) => typeof text === "string");
}

function otherVersion(theirs: number, version: string): Fault {
  const message = `the client has protocol ${theirs}, skein ${version} has ${protocolVersion}`;
  const hint =
    theirs > protocolVersion
      ? "restart the other process with the newer skein; the hub: `skein hub stop`, then `skein hub start`"
      : "update the client";
  return new Fault("protocol-mismatch", message, { hint });
}

function unknownMethod(method: string, names: string[]): RpcReply {
  const noun = method.slice(0, method.indexOf(".") + 1);
  const nearest = nearestWord(method, names);
  const siblings = names.filter((name) => noun !== "" && name.startsWith(noun));
  const suggestions = nearest === null ? siblings : [nearest, ...siblings.filter((name) => name !== nearest)];
  const hint = suggestions.length === 0 ? "docs/HUB.md lists the methods" : `there is ${suggestions.join(", ")}`;
  return badRequest(rpcCodes.noMethod, `there is no method ${method.slice(0, 100)}`, hint);
}
