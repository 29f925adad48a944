// The loopback gateway: what an agent's CLI takes for its vendor. It knows one turn's token, puts the real key in its
// place, passes every byte on as it comes, and counts. It reaches the vendor's own paths and nothing else.
import { chmodSync, closeSync, rmSync } from "node:fs";
import type { PauseGate } from "../../../kit/flow/pause-gate.ts";
import { brokenFailure, classify, type Failure, networkFailure, type RequestTarget } from "../../../models/failure.ts";
import type { Endpoint, WireName } from "../../../models/model.ts";
import { loadWire } from "../../../models/stream.ts";
import { type Json, textAt } from "../../../models/wire/json.ts";
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
  /** A unix socket must lie in a directory that is ours alone, at a path of less than 108 bytes. */
  listen: { unix: string } | { port: 0 };
  /** Whose requests on a wire are; null when this turn has no such vendor. */
  vendors: (wire: WireName) => Endpoint | null;
  /** Null when the price is not known. */
  price: Price;
  /** No request is passed on before. */
  ready?: Promise<void>;
  /** While it is shut no request and no byte of an answer is passed on. */
  pauseGate?: PauseGate;
  /** Asked before every request; an error refuses it for good. */
  reserve: (request: LedgerEntry, last: LastAnswer | null) => Promise<TurnError | SettleReservation>;
  /** Once for each request that was for a vendor, when it is over. */
  onRequest: (metered: MeteredRequest) => void;
  /** At every piece of an answer. */
  onBytes?: () => void;
};

export type Gateway = {
  /** On this machine's loopback; null when it listens on a unix socket. */
  url: string | null;
  /** What the CLI is given for a key. */
  token: string;
  /** Also serves a socket that listens already and closes it in the end: the port inside of a child's namespace. */
  serve: (file: number) => Promise<void>;
  /** Loads what the first request needs, so that it finds everything in place. */
  warmUp: () => void;
  /** By requests that are over. */
  spent: () => Spent;
  requests: () => readonly MeteredRequest[];
  /** Breaks off what is running; everything is counted when it resolves. */
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

/** A request and how to break it off. */
type RequestInFlight = { asked: RoutedRequest; entry: LedgerEntry; stop: AbortController; startedAt: number };

class RunningGateway {
  readonly token = `sk-skein-${crypto.getRandomValues(new Uint8Array(24)).toHex()}`;
  readonly url: string | null;
  readonly ledger: Ledger;
  readonly #options: GatewayOptions;
  readonly #server: Bun.Server<undefined>;
  readonly #more: { close: () => void }[] = [];
  #isClosed = false;
  /** By what breaks each of them off. */
  readonly #passing = new Set<() => void>();

  constructor(options: GatewayOptions) {
    const { listen } = options;
    this.#options = options;
    this.ledger = new Ledger(options.price, options.onRequest);
    // A server on a unix socket has an idle time too; only the types don't know it.
    const where = ("unix" in listen ? { unix: listen.unix } : { port: 0, hostname: "127.0.0.1" }) as { port: number; hostname: string };
    this.#server = Bun.serve({
      ...where,
      // A model may think for as long as it likes; whoever waits for it has limits.
      idleTimeout: 0,
      development: false,
      maxRequestBodySize: Number.MAX_SAFE_INTEGER,
      fetch: (request) => this.#answer(request),
      error: () => errorAnswer("openai-chat", 502, "the gateway failed"),
    });
    if ("unix" in listen) chmodSync(listen.unix, 0o600);
    this.url = "unix" in listen ? null : `http://127.0.0.1:${this.#server.port}`;
  }

  async serve(file: number): Promise<void> {
    const { connectAndJoin: joinTo, listenForSockets } = await import("./join-sockets.ts");
    if (this.#isClosed) return closeSync(file);
    const { listen } = this.#options;
    const own = "unix" in listen ? { path: listen.unix } : { host: "127.0.0.1", port: this.#server.port! };
    const listener = await listenForSockets({ fd: file }, (socket) => joinTo(own, socket));
    if (this.#isClosed) listener.close();
    else this.#more.push(listener);
  }

  warmUp(): void {
    for (const wire of routedWires) if (this.#options.vendors(wire) !== null) void loadWire(wire);
  }

  async close(): Promise<void> {
    this.#isClosed = true;
    for (const listener of this.#more) listener.close();
    for (const leave of this.#passing) leave();
    await this.ledger.settled();
    await this.#server.stop(true);
    if ("unix" in this.#options.listen) rmSync(this.#options.listen.unix, { force: true });
  }

  async #answer(request: Request): Promise<Response> {
    const url = new URL(request.url);
    if (url.pathname === "/" && (request.method === "HEAD" || request.method === "GET")) return new Response(null);
    const stranger = guessWire(url.pathname, request.headers);
    if (!authTokens(request.headers, url.searchParams).some((token) => isSame(token, this.token))) {
      return errorAnswer(stranger, 401, "the token is not that of this turn");
    }
    const { vendors } = this.#options;
    const route = matchRoute(request.method, url.pathname, request.headers, (wire) => vendors(wire) !== null);
    if (route === null) return errorAnswer(stranger, 404, `there is nothing at ${request.method} ${url.pathname.slice(0, 200)}`);
    const endpoint = vendors(route.wire);
    if (endpoint === null) return errorAnswer(route.wire, 404, "this turn has no vendor for such requests");
    const sent = await readRequestBody(request, route.wire, endpoint.vendor);
    if (typeof sent === "string") return errorAnswer(route.wire, 413, sent);
    return this.#forward(request, { route, endpoint, url, ...sent });
  }

  async #forward(request: Request, asked: RoutedRequest): Promise<Response> {
    const { route, endpoint, json } = asked;
    const model = route.model ?? (textAt(json ?? undefined, "model") || null);
    const entry = this.ledger.begin({ vendor: endpoint.vendor, route, model, json, bytes: asked.body?.length ?? 0 });
    const passing: RequestInFlight = { asked, entry, stop: new AbortController(), startedAt: performance.now() };
    const leave = () => passing.stop.abort();
    this.#passing.add(leave);
    request.signal.addEventListener("abort", leave);
    try {
      await this.#options.ready;
      await this.#options.pauseGate?.whenOpen();
      const room = await this.#options.reserve(entry, this.ledger.lastAnswer);
      if (typeof room !== "function") {
        await this.ledger.end(entry, room);
        return errorAnswer(route.wire, 400, "this turn's budget is used up");
      }
      entry.settle = room;
      const response = await this.#ask(request, passing);
      const wire = await loadWire(route.wire);
      entry.status = response.status;
      entry.meter = route.kind === "answer" ? createMeter(wire, response) : freeMeter(response);
      return await this.#pass(response, passing);
    } catch (error) {
      const failure = failureOf(error, { endpoint, model: model ?? "" }).error;
      await this.ledger.end(entry, clientLeftError(passing) ?? failure);
      return errorAnswer(route.wire, 502, failure.message);
    } finally {
      void this.ledger.ended(entry).then(() => this.#passing.delete(leave));
    }
  }

  #ask(request: Request, { asked, stop }: RequestInFlight): Promise<Response> {
    const { route, endpoint, url, body } = asked;
    return fetch(vendorUrl(route, endpoint, url.searchParams), {
      method: request.method,
      headers: { ...forwardedHeaders(request.headers), "accept-encoding": "identity", ...vendorHeaders(route.wire, endpoint) },
      body,
      signal: stop.signal,
      // A key must not follow a redirect to another host, and neither must the CLI.
      redirect: "manual",
      timeout: false,
    });
  }

  async #pass(response: Response, passing: RequestInFlight): Promise<Response> {
    const { route, endpoint } = passing.asked;
    const isRedirect = response.status >= 300 && response.status < 400;
    if (isRedirect || response.body === null) {
      await response.body?.cancel();
      await this.#settle(passing);
      if (isRedirect) return errorAnswer(route.wire, 502, `${endpoint.vendor} redirects elsewhere; keys are not sent on`);
    }
    const { status, statusText } = response;
    const head = { status, statusText, headers: forwardedHeaders(response.headers) };
    const body = this.#tee(response.body, passing);
    return new Response(response.ok ? body : withoutKey(await shortText(body), endpoint.apiKey), head);
  }

  /** Every chunk is counted before it goes out: the CLI's next request may come before this connection ends. */
  #tee(body: ReadableStream<Uint8Array> | null, passing: RequestInFlight): ReadableStream<Uint8Array> | null {
    if (body === null) return null;
    const { entry, stop, startedAt } = passing;
    const reader = body.getReader();
    // Whoever leaves may have stopped reading before: nobody would notice.
    stop.signal.addEventListener("abort", () => void this.#settle(passing));
    const pull = async (controller: ReadableStreamDefaultController<Uint8Array>): Promise<void> => {
      try {
        await this.#options.pauseGate?.whenOpen();
        const { value, done } = await reader.read();
        await this.#options.pauseGate?.whenOpen();
        if (done) {
          await this.#settle(passing);
          return controller.close();
        }
        entry.firstByteMs ??= performance.now() - startedAt;
        entry.meter?.push(value);
        this.#options.onBytes?.();
        controller.enqueue(value);
      } catch (error) {
        await this.#settle(passing, error);
        // Without a reason the connection is reset, as the vendor's was.
        controller.error(undefined);
      }
    };
    return new ReadableStream({ pull, cancel: () => stop.abort() }, { highWaterMark: 0 });
  }

  async #settle(passing: RequestInFlight, broken?: unknown): Promise<void> {
    const { entry, asked } = passing;
    await entry.meter?.end();
    const problem = entry.meter?.problem() ?? null;
    const target = { endpoint: asked.endpoint, model: entry.model ?? "" };
    const failure = problem ? classify(problem, target) : broken === undefined ? null : failureOf(broken, target);
    await this.ledger.end(entry, clientLeftError(passing) ?? failure?.error ?? null);
  }
}

/** What the network did carries a code; anything else is a fault of ours. */
function failureOf(error: unknown, target: RequestTarget): Failure {
  return error instanceof Error && "code" in error ? networkFailure(error, target) : brokenFailure(messageOf(error), target);
}

/** Some clients hang up on the vendor's last event. */
function clientLeftError({ stop, entry }: RequestInFlight): TurnError | null {
  const isBroken = stop.signal.aborted && !entry.meter?.isWhole();
  return isBroken ? { kind: "cancelled", message: "the request was broken off before its answer was whole" } : null;
}

function isSame(given: string, token: string): boolean {
  const [a, b] = [given, token].map((text) => Bun.SHA256.hash(text)) as [Uint8Array, Uint8Array];
  return crypto.timingSafeEqual(a, b);
}

const errorBound = 64 * 1024;

async function shortText(body: ReadableStream<Uint8Array> | null): Promise<string> {
  if (body === null) return "";
  const pieces: Uint8Array[] = [];
  let length = 0;
  for await (const piece of body) {
    pieces.push(piece);
    length += piece.length;
    if (length > errorBound) break;
  }
  return Buffer.concat(pieces).toString();
}

/** Some vendors quote the key that they refuse. */
function withoutKey(text: string, key: string): string {
  return key === "" ? text : text.replaceAll(key, "[key]");
}
