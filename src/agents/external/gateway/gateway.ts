// A server on the loopback that a CLI uses as its vendor. It replaces the turn's token by the real key, forwards every
// byte as it comes, and counts the usage. It reaches only the vendor paths in routes.ts.
import { closeSync } from "node:fs";
import type { Socket } from "node:net";
import { isSameToken } from "../../../kit/flow/loopback.ts";
import type { PauseGate } from "../../../kit/flow/pause-gate.ts";
import { readVendorError } from "../../../models/error-response.ts";
import { brokenFailure, classify, networkFailure } from "../../../models/failure.ts";
import type { Endpoint, WireName } from "../../../models/model.ts";
import { loadWire } from "../../../models/stream.ts";
import { messageOf, type TurnError } from "../../../protocol/api/error.ts";
import type { SettleReservation } from "../../../protocol/api/ports.ts";
import { isLimitError } from "../../../protocol/limits/at-limit.ts";
import type { Spent } from "../../../protocol/tree/usage.ts";
import { createBodyMemory, type HeldBody, modelOf, outputLimit, priceFactor, readAtMost, readRequestBody } from "./request-body.ts";
import { type LedgerEntry, Ledger, type MeteredRequest, type Price } from "./ledger.ts";
import type { HostProxyOptions } from "../../../sandbox/proxy/host-proxy.ts";
import type { ListenTarget } from "../../../sandbox/proxy/join-sockets.ts";
import { Meter } from "./meter.ts";
import { errorAnswer, forwardedHeaders, type GatewayRoute, matchRoute, authTokens, vendorHeaders, vendorUrl, guessWire } from "./routes.ts";

export type GatewayOptions = {
  /** A request goes to the first endpoint of its wire. */
  endpoints: readonly Endpoint[];
  /** Resolves to null when the price is unknown. */
  price: Price;
  /** The network is off: requests that make the vendor fetch an address are refused. */
  isOffline?: boolean;
  /** Hosts besides the vendor that the port of the CLI leads to; null: none. */
  named?: Pick<HostProxyOptions, "hosts" | "through" | "onRefused"> | null;
  /** No request is forwarded before this resolves. */
  ready?: Promise<void>;
  /** While the gate is paused, no request and no byte of an answer is forwarded. */
  pauseGate?: PauseGate;
  /** Called before every request. An error refuses the request, and the CLI does not retry it. */
  reserve: (request: LedgerEntry) => Promise<TurnError | SettleReservation>;
  /** Called for every chunk of an answer. */
  onBytes?: () => void;
  /** Called for the third request in a row to a model whose limit ends in more than a minute: the CLI would repeat it for hours. */
  onRepeatedLimit?: (error: TurnError) => void;
  /** Called with the headers of every answer. */
  onHeaders?: (endpoint: Endpoint, headers: Headers) => void;
};

type RoutedRequest = { request: Request; url: URL; route: GatewayRoute; endpoint: Endpoint };
type ForwardedRequest = { request: Request; url: URL; body: Uint8Array | null };

export class Gateway {
  /** The CLI gets this instead of a key. */
  readonly token = `sk-skein-${crypto.getRandomValues(new Uint8Array(24)).toHex()}`;
  /** On this machine's loopback, without a limit of connections. A CLI gets the port of `listen` instead. */
  readonly url: string;
  readonly #options: GatewayOptions;
  readonly #ledger: Ledger;
  readonly #server: Bun.Server<undefined>;
  readonly #listeners: { close: () => void }[] = [];
  readonly #bodies = createBodyMemory();
  /** Requests in a row that a long limit refused, by model. */
  readonly #limited = new Map<string | null, number>();
  #isClosed = false;

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.#ledger = new Ledger(options.price);
    this.#server = Bun.serve({
      port: 0,
      hostname: "127.0.0.1",
      // A model may think for a long time. The turn has its own idle limit.
      idleTimeout: 0,
      development: false,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request) => this.#answer(request),
      error: () => errorAnswer("openai-chat", 502, "the gateway failed"),
    });
    this.url = `http://127.0.0.1:${this.#server.port}`;
  }

  /**
   * Opens the port for a CLI: a listening socket in its namespace, or a free port of the machine. Returns the port. It accepts
   * a bounded number of connections, which Bun.serve can't do.
   */
  async listen(target: ListenTarget): Promise<number> {
    const { connectAndJoin, listenForSockets } = await import("../../../sandbox/proxy/join-sockets.ts");
    const { startHostProxy } = this.#options.named ? await import("../../../sandbox/proxy/host-proxy.ts") : { startHostProxy: null };
    if (this.#isClosed && "fd" in target) closeSync(target.fd);
    if (this.#isClosed) return 0;
    const address = { host: "127.0.0.1", port: this.#server.port! };
    const onOther = (socket: Socket, bytes?: Buffer) => connectAndJoin(address, socket, bytes);
    const listener = await (startHostProxy && this.#options.named
      ? startHostProxy({ listen: target, ...this.#options.named, onOther })
      : listenForSockets(target, onOther));
    if (this.#isClosed) listener.close();
    else this.#listeners.push(listener);
    return listener.port;
  }

  /** Loads the code that the first request needs. */
  warmUp(): void {
    for (const { wire } of this.#options.endpoints) void loadWire(wire);
  }

  /** Sum of the ended requests. */
  spent(): Spent {
    return this.#ledger.spent;
  }

  /** The ended requests. */
  requests(): readonly MeteredRequest[] {
    return this.#ledger.records;
  }

  /** Interrupts running requests. Resolves when all are counted. */
  async close(): Promise<void> {
    this.#isClosed = true;
    for (const listener of this.#listeners) listener.close();
    await this.#ledger.interruptAll();
    await this.#server.stop(true);
  }

  #endpoint(wire: WireName): Endpoint | undefined {
    return this.#options.endpoints.find((endpoint) => endpoint.wire === wire);
  }

  async #answer(request: Request): Promise<Response> {
    const { method, headers } = request;
    const url = new URL(request.url);
    const path = url.pathname;
    if (path === "/" && (method === "HEAD" || method === "GET")) return new Response(null);
    const guessedWire = guessWire(path, headers);
    if (!authTokens(headers, url.searchParams).some((token) => isSameToken(token, this.token))) {
      return errorAnswer(guessedWire, 401, "the token does not belong to this turn");
    }
    const route = matchRoute(request, path, (wire) => this.#endpoint(wire) !== undefined);
    if (route === null) return errorAnswer(guessedWire, 404, `there is nothing at ${method} ${path.slice(0, 200)}`);
    const endpoint = this.#endpoint(route.wire);
    if (endpoint === undefined) return errorAnswer(route.wire, 404, "this turn has no vendor for such requests");
    const held = this.#bodies.hold();
    try {
      return await this.#answerRoute({ request, url, route, endpoint }, held);
    } finally {
      held.release();
    }
  }

  /** Resolves with the head of the answer. The request was sent then. */
  async #answerRoute({ request, url, route, endpoint }: RoutedRequest, { take }: HeldBody): Promise<Response> {
    const { isOffline = false } = this.#options;
    const read = await readRequestBody(request, { wire: route.wire, vendor: endpoint.vendor, isOffline, take });
    if ("status" in read) return errorAnswer(route.wire, read.status, read.message);
    const { body, json } = read;
    const model = route.model ?? (json === null ? null : modelOf(json));
    const limit = json === null ? null : outputLimit(json, route.wire);
    const factor = json === null ? 1 : priceFactor(json);
    const entry = this.#ledger.begin({ endpoint, route, model, bytes: body?.length ?? 0, outputLimit: limit, priceFactor: factor });
    return this.#forward({ request, url, body }, entry);
  }

  async #forward(forwarded: ForwardedRequest, entry: LedgerEntry): Promise<Response> {
    const { route, stop } = entry;
    forwarded.request.signal.addEventListener("abort", () => stop.abort());
    try {
      await this.#options.ready;
      await this.#options.pauseGate?.whenOpen();
      const reservation = await this.#options.reserve(entry);
      if (typeof reservation !== "function") {
        await this.#ledger.end(entry, reservation);
        return errorAnswer(route.wire, 400, "this turn's budget is used up");
      }
      entry.settle = reservation;
      entry.isSent = true;
      const response = await sendToVendor(forwarded, entry);
      entry.status = response.status;
      this.#options.onHeaders?.(entry.endpoint, response.headers);
      return await (response.ok ? this.#forwardAnswer(response, entry) : this.#forwardError(response, entry));
    } catch (error) {
      const failure = failureOf(error, entry);
      await this.#ledger.end(entry, interruptedError(entry) ?? failure);
      return errorAnswer(route.wire, 502, failure.message);
    }
  }

  async #forwardAnswer(response: Response, entry: LedgerEntry): Promise<Response> {
    const { route } = entry;
    this.#limited.delete(entry.model);
    if (route.kind === "answer") entry.meter = new Meter(await loadWire(route.wire), response);
    if (response.body === null) await this.#settle(entry);
    const body = response.body === null ? null : this.#tee(response.body, entry);
    return new Response(body, headOf(response));
  }

  /** Reads an error to its end, because it may quote the key. */
  async #forwardError(response: Response, entry: LedgerEntry): Promise<Response> {
    const { route, endpoint } = entry;
    const isRedirect = response.status < 400;
    const { bytes } = await readAtMost(isRedirect ? null : response.body, maxErrorBytes);
    const text = Buffer.from(bytes).toString();
    await this.#options.pauseGate?.whenOpen();
    const { status, headers } = response;
    const { error } = classify(await readVendorError(new Response(text, { status, headers })), targetOf(entry));
    await this.#ledger.end(entry, interruptedError(entry) ?? error);
    const isLong = isLongLimit(error);
    if (isLong) this.#countLimit(entry, error);
    if (!isRedirect) return new Response(withoutKey(text, endpoint.apiKey), isLong ? finalHeadOf(response) : headOf(response));
    await response.body?.cancel();
    return errorAnswer(route.wire, 502, `${endpoint.vendor} redirects to another address; skein does not follow with a key`);
  }

  #countLimit({ model }: LedgerEntry, error: TurnError): void {
    const count = (this.#limited.get(model) ?? 0) + 1;
    this.#limited.set(model, count);
    if (count >= maxLimitedRequests) this.#options.onRepeatedLimit?.(error);
  }

  /** Counts every chunk before it is forwarded: the CLI's next request may come before this connection ends. */
  #tee(body: ReadableStream<Uint8Array>, entry: LedgerEntry): ReadableStream<Uint8Array> {
    const { stop } = entry;
    const reader = body.getReader();
    // A client that disconnects may have stopped reading before, so `pull` would not run again.
    stop.signal.addEventListener("abort", () => void this.#settle(entry));
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        await this.#options.pauseGate?.whenOpen();
        const { value, done } = await reader.read();
        await this.#options.pauseGate?.whenOpen();
        if (done) {
          await this.#settle(entry);
          return controller.close();
        }
        entry.meter?.push(value);
        this.#options.onBytes?.();
        controller.enqueue(value);
      } catch (error) {
        await this.#settle(entry, failureOf(error, entry));
        // `undefined` resets the connection to the CLI, as the connection to the vendor was reset.
        controller.error(undefined);
      }
    };
    return new ReadableStream({ pull, cancel: () => stop.abort() }, { highWaterMark: 0 });
  }

  /** An error that the vendor sent has priority over `failure`, its consequence. */
  async #settle(entry: LedgerEntry, failure: TurnError | null = null): Promise<void> {
    entry.meter?.end();
    const problem = entry.meter?.problem ?? null;
    const error = problem === null ? failure : classify(problem, targetOf(entry)).error;
    await this.#ledger.end(entry, interruptedError(entry) ?? error);
  }
}

function sendToVendor({ request, url, body }: ForwardedRequest, { route, endpoint, stop }: LedgerEntry): Promise<Response> {
  return fetch(vendorUrl(route, endpoint, url.searchParams), {
    method: request.method,
    headers: { ...forwardedHeaders(request.headers), "accept-encoding": "identity", ...vendorHeaders(route.wire, endpoint) },
    body,
    signal: stop.signal,
    // Neither the key nor the CLI may follow a redirect to another host.
    redirect: "manual",
    timeout: false,
  });
}

function headOf({ status, statusText, headers }: Response): ResponseInit {
  return { status, statusText, headers: forwardedHeaders(headers) };
}

/** A CLI that reads such a header waits for hours without any output. The turn must end instead, so that skein can wait or hand over. */
function finalHeadOf(response: Response): ResponseInit {
  const headers = forwardedHeaders(response.headers);
  delete headers["retry-after"];
  delete headers["retry-after-ms"];
  return { ...headOf(response), headers: { ...headers, "x-should-retry": "false" } };
}

function isLongLimit(error: TurnError): boolean {
  return isLimitError(error) && error.resetAt !== undefined && error.resetAt - Date.now() > longestRetryWaitMs;
}

function targetOf({ endpoint, model }: LedgerEntry) {
  return { endpoint, model: model ?? "" };
}

/** A network error has a code. Any other error is a bug of skein. */
function failureOf(error: unknown, entry: LedgerEntry): TurnError {
  const isNetworkError = error instanceof Error && "code" in error;
  return (isNetworkError ? networkFailure(error, targetOf(entry)) : brokenFailure(messageOf(error), targetOf(entry))).error;
}

/** Null for a complete answer: some clients disconnect after the vendor's last event. */
function interruptedError({ stop, meter }: LedgerEntry): TurnError | null {
  const isInterrupted = stop.signal.aborted && !meter?.isWhole;
  return isInterrupted ? { kind: "cancelled", message: "the request was cancelled before its answer was complete" } : null;
}

const maxErrorBytes = 64 * 1024;
/** The native agent also waits at most this long before it repeats a request. */
const longestRetryWaitMs = 60_000;
const maxLimitedRequests = 3;

/** Some vendors quote the refused key in their error. */
function withoutKey(text: string, key: string): string {
  return key === "" ? text : text.replaceAll(key, "[key]");
}
