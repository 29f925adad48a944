// The built-in agent. A turn asks the model and runs its tool calls until an answer has none. It yields nodes and transient
// events and ends with exactly one `end`. It never throws for a failure of a model, a tool or a server.
import { once } from "../../kit/flow/lazy.ts";
import { createGateBehind, type PauseGate } from "../../kit/flow/pause-gate.ts";
import type { ModelEvent, ModelRequest } from "../../models/model.ts";
import { Fault, type TurnError } from "../../protocol/api/error.ts";
import type { EnforcedPolicy, Policy } from "../../protocol/api/policy.ts";
import type {
  Agent,
  AgentEvent,
  Executor,
  SettleReservation,
  TurnCheckInput,
  TurnContext,
  TurnInput,
  TurnServers,
  TurnServersInput,
} from "../../protocol/api/ports.ts";
import { executorTools, mcpToolName } from "../../protocol/api/tool-table.ts";
import type { Limits } from "../../protocol/api/turn-options.ts";
import { callsOf, textOf, type NewNode } from "../../protocol/tree/node.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { addSpent, zeroSpent, zeroUsage, type Usage } from "../../protocol/tree/usage.ts";
import { createMessageRenderer } from "./request/messages.ts";
import { preview, buildSystemPrompt, surroundingsOf } from "./request/preview.ts";
import { estimateRequest, needsCompaction, stepLimitError, withMissingCounts } from "./request/request-size.ts";
import { needsInputError } from "./tools/ask-user.ts";
import { offeredTools } from "./tools/offered-tools.ts";
import type { SpawnTargets } from "./tools/spawn-session.ts";
import { teamTools } from "./tools/team-tools.ts";
import { answerTooLong, endOf, noAnswer, refusal, repeatedInvalidCalls, schemaViolation } from "./turn-errors.ts";
import { addNode, agentNode, priceUsage, withDistinctIds, type LoopState } from "./turn-state.ts";

/** A model with its endpoint, key and prices, from the configuration. */
export type ConfiguredModel = {
  /** `vendor/id`, as recorded on nodes. */
  name: string;
  stream: (request: Omit<ModelRequest, "model" | "effort">, signal: AbortSignal, pauseGate: PauseGate) => AsyncIterable<ModelEvent>;
  /** Connects to the vendor, so that the first request does not wait for it. Without a connection nothing is lost. */
  connect?: () => void;
  /** The JSON body that `stream` would send. */
  body: (request: Omit<ModelRequest, "model" | "effort">) => Promise<string>;
  /** Cost in dollars; null if the prices of the model are unknown. */
  price: (usage: Usage) => Promise<number | null>;
  /** Size of the context window in tokens; null if unknown. */
  window: () => Promise<number | null>;
};

export type NativeAgentDeps = {
  model: (name: string | null) => Promise<ConfiguredModel>;
  /** Returns at once. The process starts in the background; only a tool call waits for it. */
  executor: (turn: TurnInput) => Executor;
  enforced: (policy: Policy) => Promise<EnforcedPolicy>;
  /** Added to the environment of tools. */
  toolEnv: Record<string, string>;
  contextFiles: (directory: string, project: string) => { path: string; text: string }[];
  skills: (directory: string, project: string) => { text: string; paths: string[] };
  /** The agents and models that spawn_session names. Must be fast: it is called before the first request. */
  spawnTargets: () => SpawnTargets;
  /** The names of a turn's MCP servers. Must be fast, like `spawnTargets`, and must start nothing. */
  serverNames: (turn: TurnServersInput) => readonly string[];
  /** Called for a turn with servers. Starts nothing. */
  openServers: (turn: TurnInput) => TurnServers;
};

// The first request needs neither.
const loadCalls = once(() => import("./tools/call-tool.ts"));
const loadCompaction = () => import("./request/compact.ts");

const maxInvalidRounds = 3;
const maxContinuations = 2;

export function nativeAgent(deps: NativeAgentDeps): Agent {
  return {
    name: "native",
    takesTasks: true,
    takesTools: true,
    check: (turn) => checkTurn(deps, turn),
    preview: (input) => preview(deps, input),
    takeTurn: (input, context) => takeTurn(deps, input, context),
    enforced: deps.enforced,
  };
}

/** Throws for a turn that can't work, before anything of it is recorded. */
async function checkTurn(deps: NativeAgentDeps, turn: TurnCheckInput): Promise<void> {
  offeredTools({ ...turn, canAsk: true }, surroundingsOf(deps, turn));
  if (turn.agentArgs.length > 0)
    throw new Fault("usage", "--agent-arg is for the command lines of other agents; the native agent has none", {
      hint: "name an agent with -a",
    });
  if (turn.answerSchema !== null) (await import("./answer-schema.ts")).compileSchema(turn.answerSchema);
  if (turn.model === null) return;
  const model = await deps.model(turn.model);
  await checkPrice(model, turn.limits);
  model.connect?.();
}

async function* takeTurn(deps: NativeAgentDeps, input: TurnInput, context: TurnContext): AsyncGenerator<AgentEvent> {
  let state: LoopState | null = null;
  const withUnrecorded = (end: TurnEnd): AgentEvent => {
    const unrecorded = state?.unrecorded ?? zeroSpent;
    return { type: "end", end: unrecorded === zeroSpent ? end : { ...end, spentOutsideNodes: unrecorded } };
  };
  try {
    state = await prepare(deps, input, context);
    for await (const event of input.compact === true ? runCompaction(state) : runSteps(state))
      yield event.type === "end" ? withUnrecorded(event.end) : event;
  } catch (error) {
    yield withUnrecorded(endOf(error, context.signal));
  } finally {
    await state?.servers?.close();
  }
}

async function prepare(deps: NativeAgentDeps, input: TurnInput, context: TurnContext): Promise<LoopState> {
  const tools = [
    ...offeredTools({ ...input, canAsk: context.canAsk }, surroundingsOf(deps, input)),
    ...(context.team === undefined ? [] : teamTools),
  ];
  const model = await deps.model(input.model);
  const { system, skillPaths } = buildSystemPrompt(deps, input, tools);
  await checkPrice(model, input.limits);
  return {
    input,
    context,
    pauseGate: createGateBehind(context.registerPausable),
    deps,
    model,
    system,
    tools,
    skillPaths,
    servers: tools.some(({ name }) => name === mcpToolName) ? deps.openServers(input) : null,
    path: [...input.path],
    renderMessages: createMessageRenderer(),
    kept: { items: null },
    steps: 0,
    unrecorded: zeroSpent,
  };
}

async function checkPrice(model: ConfiguredModel, limits: Limits): Promise<void> {
  if (limits.maxBudgetUsd === null || (await model.price({ ...zeroUsage, input: 1 })) !== null) return;
  throw new Fault("usage", `no price is known for ${model.name}, so --max-budget-usd can't be enforced`, {
    hint: "use --max-tokens instead",
  });
}

async function* runSteps(state: LoopState): AsyncGenerator<AgentEvent> {
  let invalidRounds = 0;
  let continuations = 0;
  let wasSchemaCorrectionSent = false;
  /** The vendor refused the last request as too long. The path is compacted before the next one. */
  let isTooLong = false;
  /** A correction that asks for an answer was sent. */
  let wasAnswerRequested = false;
  /** The text of an answer that was cut and is being continued. */
  let partialAnswer = "";
  for (;;) {
    state.path.push(...(await state.context.takeInput()));
    const settle = yield* reserveRequest(state, isTooLong);
    if (typeof settle !== "function") return yield end(settle, partialAnswer);
    const answer = yield* askModel(state, settle);
    if (answer.type === "failed" && answer.error.kind === "too-long" && !isTooLong) {
      isTooLong = true;
      continue;
    }
    if (answer.type === "failed" && answer.partialText !== undefined) {
      partialAnswer += answer.partialText;
      yield* addNode(state, correction("The connection was lost during your answer. Continue exactly where it stopped."));
      continue;
    }
    if (answer.type === "failed") return yield end(answer.error);
    isTooLong = false;

    const calls = callsOf(answer.node);
    if (calls.length > 0) {
      partialAnswer = "";
      const { runCalls } = await loadCalls();
      const { allInvalid, openQuestions } = yield* runCalls(state, calls);
      if (openQuestions.length > 0) return yield end(needsInputError(openQuestions));
      invalidRounds = allInvalid ? invalidRounds + 1 : 0;
      if (invalidRounds === maxInvalidRounds) return yield end(repeatedInvalidCalls(state.model.name));
      continue;
    }
    if (answer.stop === "refused") return yield end(refusal(state.model.name));
    if (answer.stop === "length") {
      partialAnswer += textOf(answer.node);
      if (continuations++ === maxContinuations) return yield end(answerTooLong(), partialAnswer);
      yield* addNode(state, correction("Your answer was cut at the output limit. Continue exactly where it stopped."));
      continue;
    }
    const text = partialAnswer + textOf(answer.node);
    if (text.trim() === "") {
      if (wasAnswerRequested) return yield end(noAnswer(state.model.name));
      wasAnswerRequested = true;
      yield* addNode(state, correction("Your last message had no answer. Finish with one."));
      continue;
    }
    const { problem, result } = await checkSchema(state.input.answerSchema, text);
    if (problem === null) {
      const messages = await state.context.takeInput();
      if (messages.length === 0) return yield { type: "end", end: { status: "ok", answer: result } };
      state.path.push(...messages);
      partialAnswer = "";
      continue;
    }
    if (wasSchemaCorrectionSent) return yield end(schemaViolation(problem), text);
    wasSchemaCorrectionSent = true;
    partialAnswer = "";
    yield* addNode(
      state,
      correction(`The answer must be one JSON value that satisfies the schema. ${problem} Send only the corrected JSON.`),
    );
  }
}

/** A turn that only summarises, because the user asked for it. */
async function* runCompaction(state: LoopState): AsyncGenerator<AgentEvent> {
  const { compact } = await loadCompaction();
  const error = yield* compact(state, "request");
  yield error === null ? { type: "end", end: { status: "ok", answer: "" } } : end(error);
}

/** Compacts the path if necessary and reserves budget for the next request. Returns the error if a limit is reached. */
async function* reserveRequest(state: LoopState, isTooLong: boolean): AsyncGenerator<AgentEvent, TurnError | SettleReservation> {
  const limitError = stepLimitError(state.steps, state.input.limits);
  if (limitError !== null) return limitError;
  const error = isTooLong || (await needsCompaction(state)) ? yield* (await loadCompaction()).compact(state) : null;
  return error ?? state.context.reserve(await estimateRequest(state));
}

type Answer =
  | { type: "answered"; node: NewNode; stop: Extract<ModelEvent, { type: "done" }>["stop"] }
  /** `partialText` is set if the connection was lost because skein paused the turn: then the answer is continued. */
  | { type: "failed"; error: TurnError; partialText?: string };

/** Runs one step. The text of a failed answer is stored as a node too. Calls `settle` once with the usage of the request. */
async function* askModel(state: LoopState, settle: SettleReservation): AsyncGenerator<AgentEvent, Answer> {
  const { model, input, context } = state;
  const { pauseCount } = state.pauseGate;
  let spent = zeroSpent;
  const request = {
    system: systemWithSchema(state),
    tools: state.tools,
    messages: state.renderMessages(state.path),
    cacheKey: input.session,
    maxOutputTokens: null,
    kept: state.kept,
  };
  const events = model.stream(request, context.signal, state.pauseGate)[Symbol.asyncIterator]();
  let next = events.next();
  if (state.tools.length > 0) setTimeout(() => void context.keepFiles(), 0);
  try {
    for (;;) {
      const { value: event, done } = await next;
      if (done === true || event === undefined) break;
      switch (event.type) {
        case "done": {
          spent = await priceUsage(state, withMissingCounts(state, event));
          const node = agentNode(state, withDistinctIds(event.parts), spent);
          yield* addNode(state, node);
          return { type: "answered", node, stop: event.stop };
        }
        case "failed": {
          spent = await priceUsage(state, event.usage);
          const parts = event.parts.filter((part) => part.kind !== "call");
          const node = parts.length === 0 ? null : agentNode(state, parts, spent);
          if (node !== null) yield* addNode(state, node);
          else state.unrecorded = addSpent(state.unrecorded, spent);
          const isCutByPause = node !== null && event.error.kind === "network" && state.pauseGate.pauseCount > pauseCount;
          return { type: "failed", error: event.error, ...(isCutByPause ? { partialText: textOf(node) } : {}) };
        }
        case "retry":
          yield { type: "transient", event: { type: "model.retried", attempt: event.attempt, waitMs: event.waitMs, error: event.error } };
          break;
        case "call.started":
          prepareTool(state, event.name);
          yield { type: "transient", event };
          break;
        default:
          yield { type: "transient", event };
      }
      next = events.next();
    }
    return { type: "failed", error: { kind: "broken", message: `${model.name} ended without an answer` } };
  } finally {
    settle(spent);
  }
}

/**
 * Loads the code of tool calls and starts the executor while the arguments of a call arrive, because setting up a sandbox takes
 * some milliseconds. An answer without calls needs neither.
 */
function prepareTool({ deps, input }: LoopState, name: string): void {
  void loadCalls();
  if (!Object.hasOwn(executorTools, name)) return;
  try {
    deps.executor(input);
  } catch {
    // The tool call reports the error.
  }
}

function systemWithSchema(state: LoopState): string {
  if (state.input.answerSchema === null) return state.system;
  return `${state.system}\n\nYour final answer must be only JSON that satisfies this schema:\n${JSON.stringify(state.input.answerSchema)}`;
}

/** `problem` is null for a valid answer. With a schema, `result` is only the JSON, without a fence around it. */
async function checkSchema(schema: Record<string, unknown> | null, text: string): Promise<{ problem: string | null; result: string }> {
  if (schema === null) return { problem: null, result: text };
  const { checkAnswer, stripFence } = await import("./answer-schema.ts");
  return { problem: checkAnswer(schema, text), result: stripFence(text).trim() };
}

function correction(text: string): NewNode {
  return { author: "note", note: { about: "correction" }, parts: [{ kind: "text", text }] };
}

function end(error: TurnError, answer = ""): AgentEvent {
  return { type: "end", end: { status: error.kind, error, ...(answer === "" ? {} : { answer }) } };
}
