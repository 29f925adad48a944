// A server on the loopback that a CLI uses as its vendor. It replaces the turn's token by the real key, forwards every
// byte as it comes, and counts the usage. It reaches only the vendor paths in routes.ts.
import { closeSync } from "node:fs";
import { isSameToken } from "../../../kit/flow/loopback.ts";
import type { PauseGate } from "../../../kit/flow/pause-gate.ts";
import { brokenFailure, classify, type Failure, networkFailure, type RequestTarget } from "../../../models/failure.ts";
import type { Endpoint, WireName } from "../../../models/model.ts";
import { loadWire } from "../../../models/stream.ts";
import type { Json } from "../../../kit/text/json.ts";
import { textAt } from "../../../models/wire/json.ts";
import { messageOf, type TurnError } from "../../../protocol/api/error.ts";
import type { SettleReservation } from "../../../protocol/api/ports.ts";
import type { Spent } from "../../../protocol/tree/usage.ts";
import { readRequestBody } from "./request-body.ts";
import { type LedgerEntry, type LastAnswer, Ledger, type MeteredRequest, type Price } from "./ledger.ts";
import { freeMeter, createMeter } from "./meter.ts";
import {
  errorAnswer,
  forwardedHeaders,
  routedWires,
  type GatewayRoute,
  matchRoute,
  authTokens,
  vendorHeaders,
  vendorUrl,
  guessWire,
} from "./routes.ts";

export type GatewayOptions = {
  /** Returns the endpoint for requests on a wire; null when this turn has no such vendor. */
  vendors: (wire: WireName) => Endpoint | null;
  /** Resolves to null when the price is unknown. */
  price: Price;
  /** No request is forwarded before this resolves. */
  ready?: Promise<void>;
  /** While the gate is paused, no request and no byte of an answer is forwarded. */
  pauseGate?: PauseGate;
  /** Called before every request. An error refuses the request, and the CLI does not retry it. */
  reserve: (request: LedgerEntry, last: LastAnswer | null) => Promise<TurnError | SettleReservation>;
  /** Called for every chunk of an answer. */
  onBytes?: () => void;
};

export type Gateway = {
  /** On this machine's loopback. */
  url: string;
  /** The CLI gets this instead of a key. */
  token: string;
  /** Also serves a listening socket, the port in a CLI's namespace, and closes it at the end. */
  serve: (file: number) => Promise<void>;
  /** Loads the code that the first request needs. */
  warmUp: () => void;
  /** Sum of the finished requests. */
  spent: () => Spent;
  requests: () => readonly MeteredRequest[];
  /** Interrupts running requests. Resolves when all are counted. */
  close: () => Promise<void>;
};

export function startGateway(options: GatewayOptions): Gateway {
  const gateway = new RunningGateway(options);
  return {
    url: gateway.url,
    token: gateway.token,
    serve: (file) => gateway.serve(file),
    warmUp: () => gateway.warmUp(),
    spent: () => gateway.ledger.spent,
    requests: () => gateway.ledger.records,
    close: () => gateway.close(),
  };
}

type RoutedRequest = { route: GatewayRoute; endpoint: Endpoint; url: URL; body: Uint8Array | null; json: Json | null };

type RequestInFlight = { routed: RoutedRequest; entry: LedgerEntry; stop: AbortController };

class RunningGateway {
  readonly token = `sk-skein-${crypto.getRandomValues(new Uint8Array(24)).toHex()}`;
  readonly url: string;
  readonly ledger: Ledger;
  readonly #options: GatewayOptions;
  readonly #server: Bun.Server<undefined>;
  readonly #listeners: { close: () => void }[] = [];
  #isClosed = false;
  /** Functions that interrupt the running requests. */
  readonly #interrupts = new Set<() => void>();

  constructor(options: GatewayOptions) {
    this.#options = options;
    this.ledger = new Ledger(options.price);
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

  async serve(file: number): Promise<void> {
    const { connectAndJoin, listenForSockets } = await import("./join-sockets.ts");
    if (this.#isClosed) return closeSync(file);
    const address = { host: "127.0.0.1", port: this.#server.port! };
    const listener = await listenForSockets({ fd: file }, (socket) => connectAndJoin(address, socket));
    if (this.#isClosed) listener.close();
    else this.#listeners.push(listener);
  }

  warmUp(): void {
    for (const wire of routedWires) if (this.#options.vendors(wire) !== null) void loadWire(wire);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const listener of this.#listeners) listener.close();
    for (const interrupt of this.#interrupts) interrupt();
    await this.ledger.settled();
    await this.#server.stop(true);
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
    const { vendors } = this.#options;
    const route = matchRoute({ method, path, headers }, (wire) => vendors(wire) !== null);
    if (route === null) return errorAnswer(guessedWire, 404, `there is nothing at ${method} ${path.slice(0, 200)}`);
    const endpoint = vendors(route.wire);
    if (endpoint === null) return errorAnswer(route.wire, 404, "this turn has no vendor for such requests");
    const read = await readRequestBody(request, route.wire, endpoint.vendor);
    if (typeof read === "string") return errorAnswer(route.wire, 413, read);
    return this.#forward(request, { route, endpoint, url, ...read });
  }

  async #forward(request: Request, routed: RoutedRequest): Promise<Response> {
    const { route, endpoint, json } = routed;
    const model = route.model ?? (textAt(json ?? undefined, "model") || null);
    const entry = this.ledger.begin({ vendor: endpoint.vendor, route, model, bytes: routed.body?.length ?? 0 });
    const inFlight: RequestInFlight = { routed, entry, stop: new AbortController() };
    const interrupt = () => inFlight.stop.abort();
    this.#interrupts.add(interrupt);
    request.signal.addEventListener("abort", interrupt);
    try {
      await this.#options.ready;
      await this.#options.pauseGate?.whenOpen();
      const reservation = await this.#options.reserve(entry, this.ledger.lastAnswer);
      if (typeof reservation !== "function") {
        await this.ledger.end(entry, reservation);
        return errorAnswer(route.wire, 400, "this turn's budget is used up");
      }
      entry.settle = reservation;
      const response = await this.#fetch(request, inFlight);
      const wire = await loadWire(route.wire);
      entry.status = response.status;
      entry.meter = route.kind === "answer" ? createMeter(wire, response) : freeMeter(response);
      return await this.#forwardAnswer(response, inFlight);
    } catch (error) {
      const failure = failureOf(error, { endpoint, model: model ?? "" }).error;
      await this.ledger.end(entry, interruptedError(inFlight) ?? failure);
      return errorAnswer(route.wire, 502, failure.message);
    } finally {
      void this.ledger.ended(entry).then(() => this.#interrupts.delete(interrupt));
    }
  }

  #fetch(request: Request, { routed, stop }: RequestInFlight): Promise<Response> {
    const { route, endpoint, url, body } = routed;
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

  async #forwardAnswer(response: Response, inFlight: RequestInFlight): Promise<Response> {
    const { route, endpoint } = inFlight.routed;
    const isRedirect = response.status >= 300 && response.status < 400;
    if (isRedirect || response.body === null) {
      await response.body?.cancel();
      await this.#settle(inFlight);
      if (isRedirect)
        return errorAnswer(route.wire, 502, `${endpoint.vendor} redirects to another address; skein does not follow with a key`);
    }
    const { status, statusText } = response;
    const head = { status, statusText, headers: forwardedHeaders(response.headers) };
    const body = this.#tee(response.body, inFlight);
    return new Response(response.ok ? body : withoutKey(await readErrorText(body), endpoint.apiKey), head);
  }

  /** Counts every chunk before it is forwarded: the CLI's next request may come before this connection ends. */
  #tee(body: ReadableStream<Uint8Array> | null, inFlight: RequestInFlight): ReadableStream<Uint8Array> | null {
    if (body === null) return null;
    const { entry, stop } = inFlight;
    const reader = body.getReader();
    // A client that disconnects may have stopped reading before, so `pull` would not run again.
    stop.signal.addEventListener("abort", () => void this.#settle(inFlight));
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        await this.#options.pauseGate?.whenOpen();
        const { value, done } = await reader.read();
        await this.#options.pauseGate?.whenOpen();
        if (done) {
          await this.#settle(inFlight);
          return controller.close();
        }
        entry.meter?.push(value);
        this.#options.onBytes?.();
        controller.enqueue(value);
      } catch (error) {
        await this.#settle(inFlight, error);
        // `undefined` resets the connection, like the vendor's was.
        controller.error(undefined);
      }
    };
    return new ReadableStream({ pull, cancel: () => stop.abort() }, { highWaterMark: 0 });
  }

  async #settle(inFlight: RequestInFlight, cause?: unknown): Promise<void> {
    const { entry, routed } = inFlight;
    await entry.meter?.end();
    const problem = entry.meter?.problem() ?? null;
    const target = { endpoint: routed.endpoint, model: entry.model ?? "" };
    const failure = problem ? classify(problem, target) : cause === undefined ? null : failureOf(cause, target);
    await this.ledger.end(entry, interruptedError(inFlight) ?? failure?.error ?? null);
  }
}

/** A network error has a code. Any other error is a bug of skein. */
function failureOf(error: unknown, target: RequestTarget): Failure {
  return error instanceof Error && "code" in error ? networkFailure(error, target) : brokenFailure(messageOf(error), target);
}

/** Null for a complete answer: some clients disconnect after the vendor's last event. */
function interruptedError({ stop, entry }: RequestInFlight): TurnError | null {
  const isInterrupted = stop.signal.aborted && !entry.meter?.isWhole();
  return isInterrupted ? { kind: "cancelled", message: "the request was cancelled before its answer was complete" } : null;
}

const maxErrorBytes = 64 * 1024;

async function readErrorText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (body === null) return "";
  const chunks: Uint8Array[] = [];
  let length = 0;
  for await (const chunk of body) {
    chunks.push(chunk);
    length += chunk.length;
    if (length > maxErrorBytes) break;
  }
  return Buffer.concat(chunks).toString();
}

/** Some vendors quote the refused key in their error. */
function withoutKey(text: string, key: string): string {
  return key === "" ? text : text.replaceAll(key, "[key]");
}
