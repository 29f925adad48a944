// One request to one model over the network: sends it, streams the answer, waits out what can be waited out.
// Never throws; the last event is `done` or `failed`. What a wire or a vendor means is decided elsewhere.
import type { Clock } from "../kit/flow/clock.ts";
import type { PauseGate } from "../kit/flow/pause-gate.ts";
import { messageOf } from "../protocol/api/error.ts";
import { zeroUsage } from "../protocol/tree/usage.ts";
import { readVendorError } from "./error-response.ts";
import {
  brokenFailure,
  cancelledFailure,
  classify,
  droppedFailure,
  emptyFailure,
  type Failure,
  networkFailure,
  stalledFailure,
  type RequestTarget,
  retryTooLate,
} from "./failure.ts";
import { IdleTimeout } from "./idle-timeout.ts";
import type { Endpoint, ModelEvent, ModelRequest, ServerEvent, Wire, WireEvent, WireName, WireReader } from "./model.ts";
import { sleep } from "../kit/flow/sleep.ts";
import { SseParser } from "./sse.ts";

export type StreamOptions = {
  signal: AbortSignal;
  /** Null waits for a silent server as long as it takes. */
  idleMs: number | null;
  retry: { attempts: number; maxWaitMs: number };
  /** Nothing is sent while it is shut. */
  gate?: PauseGate;
  /** Time of `idleMs`; the system clock unless a test sets another. */
  clock?: Clock;
  fetch?: (url: string, init: RequestInit) => Promise<Response>;
  loadWire?: (name: WireName) => Promise<Wire>;
};

const wires: Record<WireName, () => Promise<Wire>> = {
  anthropic: async () => (await import("./wire/anthropic.ts")).anthropic,
  "openai-responses": async () => (await import("./wire/openai-responses.ts")).openaiResponses,
  "openai-chat": async () => (await import("./wire/openai-chat.ts")).openaiChat,
  gemini: async () => (await import("./wire/gemini.ts")).gemini,
};

type Done = Extract<ModelEvent, { type: "done" }>;
type Delta = Exclude<WireEvent, { type: "failed" }>;
type Attempt = { failure: Failure; parts: Done["parts"]; usage: Done["usage"]; hadContent: boolean };

export async function* streamModel(request: ModelRequest, endpoint: Endpoint, options: StreamOptions): AsyncGenerator<ModelEvent, void> {
  const target: RequestTarget = { endpoint, model: request.model };
  const patience: RetryBudget = { left: options.retry.maxWaitMs, retries: 0, onceUsed: false };
  for (;;) {
    const outcome = yield* tryOnce(request, target, options);
    if ("type" in outcome) return yield outcome;
    const { failure, parts, usage, hadContent } = outcome;
    const waitMs = hadContent ? "no" : nextWait(failure, patience, options.retry.attempts);
    if (typeof waitMs !== "number") {
      const asked = failure.retryAfterMs ?? 0;
      return yield { type: "failed", error: waitMs === "too-long" ? retryTooLate(failure, asked) : failure.error, parts, usage };
    }
    patience.left -= waitMs;
    patience.retries += 1;
    yield { type: "retry", attempt: patience.retries, waitMs, error: failure.error };
    await sleep(waitMs, options.signal);
    if (options.signal.aborted) return yield { type: "failed", error: cancelledFailure().error, parts: [], usage: zeroUsage };
  }
}

type RetryBudget = { left: number; retries: number; onceUsed: boolean };

function nextWait(failure: Failure, patience: RetryBudget, attempts: number): number | "no" | "too-long" {
  if (failure.retry === "never" || patience.retries + 1 >= attempts) return "no";
  if (failure.retry === "once") {
    if (patience.onceUsed) return "no";
    patience.onceUsed = true;
  }
  const growing = Math.min(8000, 500 * 2 ** patience.retries);
  const wait = Math.round(failure.retryAfterMs ?? growing * (1 - Math.random() / 2));
  if (wait <= patience.left) return wait;
  return failure.retryAfterMs === undefined ? "no" : "too-long";
}

/** One attempt. Its end is returned, so that the caller can decide whether there will be another. */
async function* tryOnce(request: ModelRequest, target: RequestTarget, options: StreamOptions): AsyncGenerator<Delta, Done | Attempt> {
  await options.gate?.whenOpen();
  const watch = new IdleTimeout(options.signal, options);
  let reader: WireReader | null = null;
  let hadContent = false;
  const fail = (failure: Failure): Attempt => ({ failure, hadContent, ...(reader?.partial() ?? { parts: [], usage: zeroUsage }) });
  try {
    const wire = await (options.loadWire ?? loadWire)(target.endpoint.wire);
    const response = await watch.over(send(wire, request, target, options, watch.signal));
    const refusal = await watch.over(refusalIn(response, target));
    if (refusal) return fail(refusal);
    reader = wire.reader(request.model);
    for await (const events of read(response, reader, watch)) {
      if (events.overflowed) return fail(brokenFailure("sent a line past the bound of 64 MB", target));
      for (const event of events.list) {
        if (event.type === "failed") return fail(classify(event.problem, target));
        hadContent = true;
        yield event;
      }
      if (reader.ended()) break;
    }
    const message = reader.finish();
    if (!message) return fail(droppedFailure(target));
    if (message.parts.length === 0 && message.stop === "end") return fail(emptyFailure(target));
    return { type: "done", ...message };
  } catch (error) {
    if (options.signal.aborted) return fail(cancelledFailure());
    // Some servers end the answer and never the connection, or break it off: what was said is whole all the same.
    const message = hadContent ? reader?.finish() : null;
    if (message) return { type: "done", ...message };
    if (watch.hasFired) return fail(stalledFailure(options.idleMs ?? 0, target));
    // What the network did carries a code; anything else is a fault of ours or of a wire.
    return fail(error instanceof Error && "code" in error ? networkFailure(error, target) : brokenFailure(messageOf(error), target));
  } finally {
    watch.stop();
  }
}

export function loadWire(name: WireName): Promise<Wire> {
  return wires[name]();
}

function send(wire: Wire, request: ModelRequest, target: RequestTarget, options: StreamOptions, signal: AbortSignal): Promise<Response> {
  const { url, headers, body } = wire.request(request, target.endpoint);
  return (options.fetch ?? fetch)(url, {
    method: "POST",
    headers: {
      "content-type": "application/json",
      accept: "text/event-stream",
      "user-agent": "skein",
      ...headers,
      ...target.endpoint.headers,
    },
    body,
    signal,
    // A key must not follow a redirect to another host.
    redirect: "manual",
  });
}

/** An answer that is no stream: an error, or a page that some other server sent. */
async function refusalIn(response: Response, target: RequestTarget): Promise<Failure | null> {
  const type = response.headers.get("content-type") ?? "";
  if (response.ok && !/^(application\/json|text\/html)/.test(type)) return null;
  const problem = await readVendorError(response);
  if (!response.ok || problem.status !== null || problem.code !== "") {
    const failure = classify(problem, target);
    return response.headers.get("x-should-retry") === "false" ? { ...failure, retry: "never" } : failure;
  }
  return brokenFailure(`answered with ${type.split(";")[0]}, not with a stream: ${problem.message}`, target, "check the base URL");
}

type BodyReader = Pick<ReadableStreamDefaultReader<Uint8Array>, "read" | "cancel">;
type Batch = { list: WireEvent[]; overflowed: boolean };

/** The deltas of one network chunk go out as one: readers are spared what the network already joined. */
async function* read(response: Response, reader: WireReader, watch: IdleTimeout): AsyncGenerator<Batch, void> {
  const body = response.body?.getReader();
  if (!body) return;
  const parser = new SseParser();
  let isOpen = true;
  try {
    while (isOpen) {
      const { value, done } = await watch.over(body.read());
      isOpen = !done;
      const events = value ? parser.push(value) : parser.end().filter(isWhole);
      const list = joinDeltas(events.flatMap((event) => reader.push(event)));
      if (list.length > 0 || parser.overflowed || reader.ended()) yield { list, overflowed: parser.overflowed };
    }
  } finally {
    if (isOpen) void drain(body, reader.ended());
  }
}

/** A last event that was cut by the connection's end says nothing. */
function isWhole(event: ServerEvent): boolean {
  if (event.data === "[DONE]") return true;
  try {
    JSON.parse(event.data);
    return true;
  } catch {
    return false;
  }
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

/** After the vendor's last event the connection is read to its end, so that the next request can use it again. */
async function drain(body: BodyReader, isWorthIt: boolean): Promise<void> {
  const giveUp = setTimeout(() => void body.cancel().catch(() => {}), isWorthIt ? 1000 : 0);
  try {
    while (!(await body.read()).done);
  } catch {
    return;
  } finally {
    clearTimeout(giveUp);
  }
}
