// Sends one request to one model, streams the answer, and retries temporary errors.
// Never throws: the last event is `done` or `failed`. Contains no code for a single wire or vendor.
import type { Clock } from "../kit/flow/clock.ts";
import { once } from "../kit/flow/lazy.ts";
import type { PauseGate } from "../kit/flow/pause-gate.ts";
import { messageOf } from "../protocol/api/error.ts";
import { zeroUsage, type Usage } from "../protocol/tree/usage.ts";
import type { Failure, RequestTarget } from "./failure.ts";
import { IdleCollection } from "../kit/process/idle-collection.ts";
import { IdleTimeout } from "./idle-timeout.ts";
import type { Endpoint, ModelEvent, ModelRequest, ServerEvent, Wire, WireEvent, WireName, WireReader } from "./model.ts";
import { sleep } from "../kit/flow/sleep.ts";
import { settingsFor, type ModelSettingsTable } from "./model-settings.ts";
import type { RequestRate, RequestRates } from "./request-rate.ts";
import { SseParser } from "./sse.ts";
import { parseJson } from "./wire/json.ts";
import { endpointFor, parseModelName, type VendorConfig } from "./vendors.ts";

export type StreamOptions = {
  signal: AbortSignal;
  /** Null waits for a silent server without a limit. */
  idleMs: number | null;
  retry: { attempts: number; maxWaitMs: number };
  /** Null or missing sends requests at any rate. */
  rate?: RequestRate | null;
  /** No request is sent while the gate is paused. */
  gate?: PauseGate;
  /** The clock for `idleMs`. Tests replace the system clock. */
  clock?: Clock;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  loadWire?: (name: WireName) => Promise<Wire>;
  /** Called with the headers of every answer. */
  onHeaders?: (headers: Headers) => void;
};

const wires: Record<WireName, () => Promise<Wire>> = {
  anthropic: once(async () => (await import("./wire/anthropic.ts")).anthropic),
  "openai-responses": once(async () => (await import("./wire/openai-responses.ts")).openaiResponses),
  "openai-chat": once(async () => (await import("./wire/openai-chat.ts")).openaiChat),
  gemini: once(async () => (await import("./wire/gemini.ts")).gemini),
};

export type BindOptions = {
  env: Record<string, string | undefined>;
  providers: Readonly<Record<string, VendorConfig>>;
  /** Null uses the default. */
  idleMs: number | null;
  models?: ModelSettingsTable;
  /** Limits of all vendors. Missing means no limit. */
  rates?: RequestRates;
  /** Called with the headers of every answer. */
  onHeaders?: (endpoint: Endpoint, headers: Headers) => void;
};

/** Most answers are no failure, so this is loaded with the first one. */
const loadFailures = () => import("./failure.ts");
const loadCatalog = once(() => import("./catalog.ts"));

type UnboundRequest = Omit<ModelRequest, "model" | "effort" | "temperature">;

const defaultRetries = 3;
const maxRetryWaitMs = 60_000;
const defaultIdleMs = 600_000;

/** Binds a model's name to its endpoint, key, prices and context window. */
export async function bindModel(name: string, { env, providers, idleMs, models = {}, rates, onHeaders }: BindOptions) {
  const { vendor, model, effort } = parseModelName(name);
  if (vendor === "replay") return (await import("./replay-model.ts")).bindReplay(model);
  const config = providers[vendor];
  const endpoint = endpointFor(vendor, { env, config });
  const settings = settingsFor(models, vendor, model);
  const retry = { attempts: 1 + (config?.maxRetries ?? defaultRetries), maxWaitMs: maxRetryWaitMs };
  const rate = rates?.(vendor, config?.requestsPerMinute) ?? null;
  const bound = (request: UnboundRequest): ModelRequest => ({
    ...request,
    model,
    effort,
    maxOutputTokens: smallerLimit(request.maxOutputTokens, settings?.maxOutputTokens ?? null),
    temperature: settings?.temperature ?? null,
  });
  return {
    name: `${vendor}/${model}`,
    stream: (request: UnboundRequest, signal: AbortSignal, gate: PauseGate) =>
      streamModel(bound(request), endpoint, {
        signal,
        gate,
        idleMs: idleMs ?? defaultIdleMs,
        retry,
        rate,
        onHeaders: (headers) => onHeaders?.(endpoint, headers),
      }),
    connect: () => connectEarly(endpoint.baseUrl, env),
    body: async (request: UnboundRequest) => (await loadWire(endpoint.wire)).request(bound(request), endpoint).body,
    price: async (usage: Usage) => (await loadCatalog()).priceOf(vendor, model, usage, { settings: models }),
    window: async () => config?.contextWindow ?? (await loadCatalog()).contextWindowOf(vendor, model),
  };
}

/** A TLS connection takes several round trips. skein opens its session meanwhile, and the first request uses the connection. */
function connectEarly(baseUrl: string, env: BindOptions["env"]): void {
  const hasProxy = ["http_proxy", "https_proxy"].some((name) => env[name] || env[name.toUpperCase()]);
  if (hasProxy) return;
  try {
    fetch.preconnect(baseUrl);
  } catch {
    // The request reports an address that is not valid.
  }
}

/** Null means no limit. */
function smallerLimit(a: number | null, b: number | null): number | null {
  return a === null || b === null ? (a ?? b) : Math.min(a, b);
}

type Done = Extract<ModelEvent, { type: "done" }>;
type Delta = Exclude<WireEvent, { type: "failed" }>;
type Failures = Awaited<ReturnType<typeof loadFailures>>;
type FailedAttempt = { failure: Failure; parts: Done["parts"]; usage: Done["usage"]; hadContent: boolean };

export async function* streamModel(request: ModelRequest, endpoint: Endpoint, options: StreamOptions): AsyncGenerator<ModelEvent, void> {
  const target: RequestTarget = { endpoint, model: request.model };
  const budget: RetryBudget = { remainingMs: options.retry.maxWaitMs, retries: 0, hasRetriedOnce: false };
  for (;;) {
    yield* waitForRate(endpoint.vendor, options);
    if (options.signal.aborted) return yield cancelledAnswer();
    const outcome = yield* tryOnce(request, target, options);
    if ("type" in outcome) return yield outcome;
    const { failure, parts, usage, hadContent } = outcome;
    const waitMs = hadContent ? "no" : nextWait(failure, budget, options.retry.attempts);
    if (typeof waitMs !== "number") {
      const error = waitMs === "too-long" ? (await loadFailures()).retryTooLate(failure, failure.retryAfterMs ?? 0) : failure.error;
      return yield { type: "failed", error, parts, usage };
    }
    budget.remainingMs -= waitMs;
    budget.retries += 1;
    yield { type: "retry", attempt: budget.retries, waitMs, error: failure.error };
    await sleep(waitMs, options.signal);
    if (options.signal.aborted) return yield cancelledAnswer();
  }
}

async function cancelledAnswer(): Promise<ModelEvent> {
  const { error } = (await loadFailures()).cancelledFailure();
  return { type: "failed", error, parts: [], usage: zeroUsage };
}

/** A shorter wait is not reported. */
const reportedWaitMs = 1000;

async function* waitForRate(vendor: string, { rate, signal }: StreamOptions): AsyncGenerator<ModelEvent, void> {
  const waitMs = rate?.reserve() ?? 0;
  if (waitMs <= 0) return;
  const limit = `providers.${vendor}.requests_per_minute is ${rate?.perMinute}`;
  if (waitMs >= reportedWaitMs) yield { type: "warning.raised", message: `${limit}: the next request waits ${Math.ceil(waitMs / 1000)} s` };
  await sleep(waitMs, signal);
}

type RetryBudget = { remainingMs: number; retries: number; hasRetriedOnce: boolean };

function nextWait(failure: Failure, budget: RetryBudget, attempts: number): number | "no" | "too-long" {
  if (failure.retry === "never" || budget.retries + 1 >= attempts) return "no";
  if (failure.retry === "once") {
    if (budget.hasRetriedOnce) return "no";
    budget.hasRetriedOnce = true;
  }
  const backoffMs = Math.min(8000, 500 * 2 ** budget.retries);
  const wait = Math.round(failure.retryAfterMs ?? backoffMs * (1 - Math.random() / 2));
  if (wait <= budget.remainingMs) return wait;
  return failure.retryAfterMs === undefined ? "no" : "too-long";
}

/** One for the process, as its heap is one. */
const idleCollection = new IdleCollection();

/** One attempt. Returns how it ended, so that the caller can decide about another attempt. */
async function* tryOnce(request: ModelRequest, target: RequestTarget, options: StreamOptions): AsyncGenerator<Delta, Done | FailedAttempt> {
  await options.gate?.whenOpen();
  const timeout = new IdleTimeout(options.signal, options);
  let reader: WireReader | null = null;
  let hadContent = false;
  const fail = async (failureOf: (failures: Failures) => Failure): Promise<FailedAttempt> => {
    const failure = failureOf(await loadFailures());
    return { failure, hadContent, ...(reader?.partial() ?? { parts: [], usage: zeroUsage }) };
  };
  try {
    const wire = await (options.loadWire ?? loadWire)(target.endpoint.wire);
    const sent = send(wire, request, target.endpoint, { fetch: options.fetch, signal: timeout.signal });
    const response = await timeout.limit(sent.finally(idleCollection.begin()));
    options.onHeaders?.(response.headers);
    const failure = await timeout.limit(readFailure(response, target));
    if (failure) return await fail(() => failure);
    reader = wire.reader(request.model);
    for await (const events of read(response, reader, timeout)) {
      for (const event of events) {
        if (event.type === "failed") return await fail(({ classify }) => classify(event.problem, target));
        hadContent = true;
        yield event;
      }
      if (reader.ended()) break;
    }
    const message = reader.finish();
    if (!message) return await fail(({ droppedFailure }) => droppedFailure(target));
    if (message.parts.length === 0 && message.stop === "end") return await fail(({ emptyFailure }) => emptyFailure(target));
    return { type: "done", ...message };
  } catch (error) {
    if (options.signal.aborted) return fail(({ cancelledFailure }) => cancelledFailure());
    // Some servers never close the connection after the answer, or reset it. The answer is complete nevertheless.
    const message = hadContent ? reader?.finish() : null;
    if (message) return { type: "done", ...message };
    if (timeout.hasFired) return fail(({ stalledFailure }) => stalledFailure(options.idleMs ?? 0, target));
    // Errors of the network have a code. Any other error is a bug of skein or of a wire.
    const isOfNetwork = error instanceof Error && "code" in error;
    return fail((failures) => (isOfNetwork ? failures.networkFailure(error, target) : failures.brokenFailure(messageOf(error), target)));
  }
}

export function loadWire(name: WireName): Promise<Wire> {
  return wires[name]();
}

type SendOptions = Pick<StreamOptions, "fetch" | "signal">;

function send(wire: Wire, request: ModelRequest, endpoint: Endpoint, options: SendOptions): Promise<Response> {
  const { fetch: fetchUrl = fetch, signal } = options;
  const { url, headers, body } = wire.request(request, endpoint);
  return fetchUrl(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      "user-agent": "skein",
      ...headers,
      ...endpoint.headers,
    },
    body,
    signal,
    // A key must not follow a redirect to another host.
    redirect: "manual",
  });
}

/** The failure of an answer that is not a stream: an error, or a page of another server. Null for a stream. */
async function readFailure(response: Response, target: RequestTarget): Promise<Failure | null> {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && !/^(application\/json|text\/html)/.test(type)) return null;
  const [{ readVendorError }, { brokenFailure, classify }] = await Promise.all([import("./error-response.ts"), loadFailures()]);
  const problem = await readVendorError(response);
  if (!response.ok || problem.status !== null || problem.code !== "") {
    const failure = classify(problem, target);
    return response.headers.get("x-should-retry") === "false" ? { ...failure, retry: "never" } : failure;
  }
  return brokenFailure(`answered with ${type.split(";")[0]}, not with a stream: ${problem.message}`, target, "check the base URL");
}

type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;
const tooLong: WireEvent = { type: "failed", problem: { status: null, code: "", message: "sent a line above the limit of 64 MB" } };

/** Yields the events of each network chunk. Joins its deltas, so that watchers get fewer events. */
async function* read(response: Response, reader: WireReader, timeout: IdleTimeout): AsyncGenerator<WireEvent[], void> {
  const body = response.body?.getReader();
  if (!body) return;
  const parser = new SseParser();
  let isOpen = true;
  try {
    while (isOpen) {
      const { value, done } = await timeout.limit(body.read());
      isOpen = !done;
      const events = value ? parser.push(value) : parser.end().filter(isComplete);
      const list = joinDeltas(events.flatMap((event) => reader.push(event)));
      yield parser.overflowed ? [...list, tooLong] : list;
    }
  } finally {
    if (isOpen) void drain(body, reader.ended());
  }
}

/** False for a last event that the end of the connection cut. */
function isComplete({ data }: ServerEvent): boolean {
  return data === "[DONE]" || parseJson(data) !== null;
}

function joinDeltas(events: WireEvent[]): WireEvent[] {
  if (events.length < 2) return events;
  const joined: WireEvent[] = [];
  for (const event of events) {
    const last = joined.at(-1);
    const isSame = last !== undefined && last.type === event.type;
    if (isSame && (last.type === "text.delta" || last.type === "thinking.delta") && "text" in event) last.text += event.text;
    else joined.push(event);
  }
  return joined;
}

/** Reads the connection to its end after the vendor's last event, so that the next request can reuse it. */
async function drain(body: BodyReader, isReusable: boolean): Promise<void> {
  const timer = setTimeout(() => void body.cancel().catch(() => {}), isReusable ? 1000 : 0);
  try {
    while (!(await body.read()).done);
  } catch {
    return;
  } finally {
    clearTimeout(timer);
  }
}
