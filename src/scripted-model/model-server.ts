// A model server on 127.0.0.1 that plays a script to clients of four wires: for trials of agents, tests and benchmarks.
// Its answers depend on the request, the faults that were set and the fake cache, and on no other state.
import { anthropic } from "./wires/anthropic.ts";
import { countUncached, createPromptCache } from "./cache.ts";
import { chat } from "./wires/chat.ts";
import { composeAnswer, isSideRequest } from "./compose-answer.ts";
import { gemini } from "./wires/gemini.ts";
import { field, parseJson, type JsonValue } from "./json.ts";
import { findPosition, type ScriptPosition } from "./position.ts";
import type { ServerWire, ServerWireName } from "./wires/wire.ts";
import { isInterrupting, sendAnswer, sendFailure } from "./reply.ts";
import { responses } from "./wires/responses.ts";
import type { ServerFault, Script, ScriptStep, TokenCounts } from "./script.ts";
import { answerSideRequest, requestedModel } from "./side-requests.ts";

/** A function chooses the script for a request. */
export type ScriptSource = Script | ((request: { position: ScriptPosition; body: JsonValue }) => Script);

export type ModelServerOptions = {
  /** Faults by number of the request, from 1. Side requests do not count. */
  faults?: Record<number, ServerFault>;
  /** Report cache tokens from a fake cache of earlier prompts. */
  cache?: boolean;
  chunkDelayMs?: number;
  /** Only user texts that contain the marker count as prompts. */
  marker?: string;
  /** "results" (default) finds the step in the request. "requests" counts answers, for histories that get shorter. */
  count?: "results" | "requests";
  /** The answer to side requests. */
  sideText?: string;
  /** Keeps the bodies of the first and the last request only, for runs of thousands of calls. */
  keepsOnlyEnds?: boolean;
  /** Extra routes, tried first. Null leaves the request to the wires; the body must then be read from a clone. */
  route?: (request: Request, path: string) => Promise<Response | null> | null;
};

export type RecordedRequest = {
  /** 0 for requests that do not play the script. */
  number: number;
  /** Arrival in Unix ms, with fractions. */
  at: number;
  method: string;
  path: string;
  wire: ServerWireName | null;
  isSide: boolean;
  step: number;
  /** Usage in the answer; null without an answer. */
  usage: TokenCounts | null;
  headers: Record<string, string>;
  /** The body as received. */
  text: string;
  body: JsonValue;
};

export type ModelServer = {
  url: string;
  requests: RecordedRequest[];
  /** Requests that played the script. */
  main: () => RecordedRequest[];
  setScript: (script: ScriptSource) => void;
  /** Without a number the fault applies to every request, until it is set to null. */
  setFault: (fault: ServerFault | null, request?: number) => void;
  /** Clears the record and restarts the numbering. */
  clear: () => void;
  stop: () => Promise<void>;
};

type State = {
  script: ScriptSource;
  options: ModelServerOptions;
  permanentFault: ServerFault | null;
  /** The key is the number of the request. */
  faults: Map<number, ServerFault>;
  requests: RecordedRequest[];
  answeredCount: number;
  arrivedCount: number;
  countPrompt: typeof countUncached;
};

export function startModelServer(script: ScriptSource, options: ModelServerOptions = {}): ModelServer {
  const faults = new Map(Object.entries(options.faults ?? {}).map(([number, fault]) => [Number(number), fault]));
  const countPrompt = options.cache === true ? createPromptCache() : countUncached;
  const state: State = { script, options, permanentFault: null, faults, requests: [], answeredCount: 0, arrivedCount: 0, countPrompt };
  const server = Bun.serve({ hostname: "127.0.0.1", port: 0, idleTimeout: 0, fetch: (request) => answerRequest(state, request) });
  return {
    url: `http://127.0.0.1:${server.port}`,
    requests: state.requests,
    main: () => state.requests.filter((request) => request.number > 0),
    setScript: (next) => {
      state.script = next;
    },
    setFault: (fault, request) => setFault(state, fault, request),
    clear: () => {
      state.requests.length = 0;
      state.answeredCount = 0;
      state.arrivedCount = 0;
    },
    stop: () => server.stop(true),
  };
}

function setFault(state: State, fault: ServerFault | null, request: number | undefined): void {
  if (request === undefined) state.permanentFault = fault;
  else if (fault === null) state.faults.delete(request);
  else state.faults.set(request, fault);
}

async function answerRequest(state: State, request: Request): Promise<Response> {
  const at = performance.timeOrigin + performance.now();
  const path = new URL(request.url).pathname;
  const routed = await state.options.route?.(request, path);
  if (routed) return routed;
  const text = await request.text();
  const body = parseJson(text) ?? null;
  const wire = wires.find(([pattern]) => pattern.test(path))?.[1] ?? null;
  const { method } = request;
  const headers = Object.fromEntries(request.headers);
  const unplayed = { number: 0, isSide: true, step: -1, usage: null };
  const record: RecordedRequest = { ...unplayed, at, method, path, wire: wire?.name ?? null, headers, text, body };
  state.requests.push(record);
  const side = answerSideRequest(method, path, text);
  if (side !== null) return side;
  if (wire === null || method !== "POST") return Response.json({ error: { message: `no such path: ${path}` } }, { status: 404 });
  if (body === null) return Response.json(wire.failure(400, "the body is not JSON"), { status: 400 });
  return answerModel(state, wire, record, request.signal);
}

const wires: [path: RegExp, wire: ServerWire][] = [
  [/\/messages$/, anthropic],
  [/\/responses$/, responses],
  [/\/chat\/completions$/, chat],
  [/:(streamGenerateContent|generateContent)$/, gemini],
];

async function answerModel(state: State, wire: ServerWire, record: RecordedRequest, signal: AbortSignal): Promise<Response> {
  const { body, path } = record;
  const { options } = state;
  const parsed = wire.read(body);
  const position = findPosition(parsed.items, options.marker);
  if (options.count === "requests") position.step = state.answeredCount;
  const script = typeof state.script === "function" ? state.script({ position, body }) : state.script;
  record.isSide = isSideRequest(script, parsed.tools);
  const stream = wire.name === "gemini" ? path.endsWith(":streamGenerateContent") : field(body, "stream") === true;
  const model = requestedModel(path, body);
  if (record.isSide) {
    const step: ScriptStep = { text: options.sideText ?? "side" };
    const prompt = countUncached(wire.name, parsed.pieces);
    const answer = composeAnswer({ model, number: 0, parsed, position, step, fault: null, prompt });
    return sendAnswer(wire, answer, { stream, chunkDelayMs: 0, fault: null, signal });
  }
  state.arrivedCount += 1;
  record.number = state.arrivedCount;
  record.step = position.step;
  if (options.keepsOnlyEnds === true) forgetBodyBefore(state.requests, record);
  const fault = state.faults.get(record.number) ?? state.permanentFault;
  if (fault?.type === "status") return sendFailure(wire, fault);
  const step = script.steps[position.step] ?? { text: script.final };
  if (step.delayMs !== undefined) await Bun.sleep(step.delayMs);
  const prompt = state.countPrompt(wire.name, parsed.pieces);
  const answer = composeAnswer({ model, number: record.number, parsed, position, step, fault, prompt });
  record.usage = answer.usage;
  if (fault === null || !isInterrupting(fault)) state.answeredCount += 1;
  return sendAnswer(wire, answer, { stream, chunkDelayMs: options.chunkDelayMs ?? 0, fault, signal });
}

function forgetBodyBefore(requests: RecordedRequest[], { number }: RecordedRequest): void {
  const previous = number > 2 ? requests.findLast((request) => request.number === number - 1) : undefined;
  if (previous !== undefined) Object.assign(previous, { text: "", body: null });
}
