// The native turn: ask the model, run what it calls, until it rests. Yields nodes and passing events, ends
// with exactly one `end`, never throws for what a model, a tool or a server does.
import { createFeed } from "../../kit/flow/feed.ts";
import { createGateBehind } from "../../kit/flow/pause-gate.ts";
import type { ModelEvent } from "../../models/model.ts";
import { Fault, messageOf, type TurnError } from "../../protocol/api/error.ts";
import { callsOf, textOf, type CallPart, type NewNode } from "../../protocol/tree/node.ts";
import type { AgentEvent, Limits, TurnCheckInput, SettleReservation, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import type { TurnEnd } from "../../protocol/tree/turn.ts";
import { addSpent, zeroSpent, zeroUsage } from "../../protocol/tree/usage.ts";
import { needsInputError, type OpenQuestion } from "./tools/ask-user.ts";
import { estimateRequest, stepLimitError } from "./request/estimate.ts";
import { callTool, distinctCalls } from "./tools/call-tool.ts";
import { compact, needsCompaction } from "./request/compact.ts";
import { renderMessages } from "./request/messages.ts";
import type { BoundModel, NativeAgentDeps } from "./native.ts";
import { systemPrompt } from "./request/system-prompt.ts";
import { addNode, agentNode, priceUsage, type LoopState } from "./turn-state.ts";
import { teamTools } from "./tools/team-tools.ts";
import { offeredTools } from "./tools/offered-tools.ts";

const failedRoundsAllowed = 3;
const continuationsAllowed = 2;

export async function* takeTurn(deps: NativeAgentDeps, input: TurnInput, context: TurnContext): AsyncGenerator<AgentEvent> {
  let state: LoopState | null = null;
  const ended = (end: TurnEnd): AgentEvent => ({ type: "end", end: { ...end, ...restOf(state) } });
  try {
    state = await prepare(deps, input, context);
    for await (const event of runSteps(state)) yield event.type === "end" ? ended(event.end) : event;
  } catch (error) {
    yield ended(endOf(error, context.signal));
  }
}

function restOf(state: LoopState | null): Pick<TurnEnd, "rest"> {
  return state === null || state.unrecorded === zeroSpent ? {} : { rest: state.unrecorded };
}

/** What can be said against a turn before anything of it is recorded. */
export async function checkTurn(deps: NativeAgentDeps, turn: TurnCheckInput): Promise<void> {
  offeredTools({ ...turn, canAsk: true });
  if (turn.agentArgs.length > 0)
    throw new Fault("usage", "--agent-arg is for the command lines of other agents; the native agent has none", {
      hint: "name an agent with -a",
    });
  if (turn.answerSchema !== null) (await import("./answer-schema.ts")).compileSchema(turn.answerSchema);
  if (turn.model !== null) await checkPrice(await deps.model(turn.model), turn.limits);
}

async function prepare(deps: NativeAgentDeps, input: TurnInput, context: TurnContext): Promise<LoopState> {
  const tools = [...offeredTools({ ...input, canAsk: context.canAsk }), ...(context.team === undefined ? [] : teamTools)];
  const model = await deps.model(input.model);
  const skills = tools.length > 0 ? deps.skills(input.directory, input.project) : { text: "", paths: [] };
  const contextFiles = input.contextFiles ? deps.contextFiles(input.directory, input.project) : [];
  const system = systemPrompt({ ...input, tools, contextFiles, skills: skills.text });
  await checkPrice(model, input.limits);
  const counted = { steps: 0, unrecorded: zeroSpent };
  const gate = createGateBehind(context.registerPausable);
  return { input, context, gate, parts: deps, model, system, tools, skillPaths: skills.paths, path: [...input.path], ...counted };
}

async function checkPrice(model: BoundModel, limits: Limits): Promise<void> {
  if (limits.maxBudgetUsd === null || (await model.price({ ...zeroUsage, input: 1 })) !== null) return;
  throw new Fault("usage", `no price is known for ${model.name}, so --max-budget-usd can't be held`, { hint: "use --max-tokens instead" });
}

async function* runSteps(state: LoopState): AsyncGenerator<AgentEvent> {
  let failedRounds = 0;
  let continuations = 0;
  let repaired = false;
  let isTooLong = false;
  let askedAgain = false;
  /** The pieces of an answer that the output limit cut. */
  let begun = "";
  for (;;) {
    state.path.push(...(await state.context.takeInput()));
    const room = yield* makeRoom(state, { isTooLong });
    if (typeof room !== "function") return yield end(room.kind, room, begun);
    const answer = yield* askModel(state, room);
    if (answer.type === "failed" && answer.error.kind === "too-long" && !isTooLong) {
      isTooLong = true;
      continue;
    }
    if (answer.type === "failed" && answer.cut !== undefined) {
      begun += answer.cut;
      yield* addNode(state, correction("The connection was lost during your answer. Go on exactly where it stopped."));
      continue;
    }
    if (answer.type === "failed") return yield end(answer.error.kind, answer.error);
    isTooLong = false;

    const calls = callsOf(answer.node);
    if (calls.length > 0) {
      begun = "";
      const { isInVain, open } = yield* runCalls(state, calls);
      const [first, ...others] = open;
      if (first !== undefined) return yield end("needs-input", needsInputError([first, ...others]));
      failedRounds = isInVain ? failedRounds + 1 : 0;
      if (failedRounds === failedRoundsAllowed) return yield end("broken", repeatedFailure(state.model.name));
      continue;
    }
    if (answer.stop === "refused") return yield end("refused", refusal(state.model.name));
    if (answer.stop === "length") {
      begun += textOf(answer.node);
      if (continuations++ === continuationsAllowed) return yield end("too-long", cutAnswer(), begun);
      yield* addNode(state, correction("Your answer was cut at the output limit. Go on exactly where it stopped."));
      continue;
    }
    const text = begun + textOf(answer.node);
    if (text.trim() === "") {
      if (askedAgain) return yield end("broken", noAnswer(state.model.name));
      askedAgain = true;
      yield* addNode(state, correction("Your last message held no answer. Finish with one."));
      continue;
    }
    const { problem, result } = await checked(state.input.answerSchema, text);
    if (problem === null) {
      const more = await state.context.takeInput();
      if (more.length === 0) return yield { type: "end", end: { status: "ok", answer: result } };
      state.path.push(...more);
      begun = "";
      continue;
    }
    if (repaired) return yield end("broken", unsatisfied(problem), text);
    repaired = true;
    begun = "";
    yield* addNode(
      state,
      correction(`The answer must be one JSON value that satisfies the schema. ${problem} Send only the corrected JSON.`),
    );
  }
}

/** Shortens the path where it must be, and has the next request reserved; or the limit that is in its way. */
async function* makeRoom(
  state: LoopState,
  { isTooLong }: { isTooLong: boolean },
): AsyncGenerator<AgentEvent, TurnError | SettleReservation> {
  const over = stepLimitError(state.steps, state.input.limits);
  if (over !== null) return over;
  const refused = isTooLong || (await needsCompaction(state)) ? yield* compact(state) : null;
  return refused ?? state.context.reserve(await estimateRequest(state));
}

type Answer =
  | { type: "answered"; node: NewNode; stop: Extract<ModelEvent, { type: "done" }>["stop"] }
  /** `cut` is what had come when the network failed in a pause, which nobody but us is to blame for. */
  | { type: "failed"; error: TurnError; cut?: string };

/** One step. What had arrived of a failed answer is kept as a node of its own. */
async function* askModel(state: LoopState, settle: SettleReservation): AsyncGenerator<AgentEvent, Answer> {
  const { model, input, context } = state;
  const { pauseCount: shuts } = state.gate;
  let spent = zeroSpent;
  const request = {
    system: schemaSystem(state),
    tools: state.tools,
    messages: renderMessages(state.path),
    cacheKey: input.session,
    maxOutputTokens: null,
  };
  const events = model.stream(request, context.signal, state.gate)[Symbol.asyncIterator]();
  let next = events.next();
  if (state.tools.length > 0) setTimeout(() => prepareTools(state), 0);
  try {
    for (;;) {
      const { value: event, done } = await next;
      if (done === true || event === undefined) break;
      switch (event.type) {
        case "done": {
          spent = await priceUsage(state, event.usage);
          const node = agentNode(state, distinctCalls(event.parts), spent);
          yield* addNode(state, node);
          return { type: "answered", node, stop: event.stop };
        }
        case "failed": {
          spent = await priceUsage(state, event.usage);
          const kept = event.parts.filter((part) => part.kind !== "call");
          const node = kept.length === 0 ? null : agentNode(state, kept, spent);
          if (node !== null) yield* addNode(state, node);
          else state.unrecorded = addSpent(state.unrecorded, spent);
          const isCut = node !== null && event.error.kind === "network" && state.gate.pauseCount > shuts;
          return { type: "failed", error: event.error, ...(isCut ? { cut: textOf(node) } : {}) };
        }
        case "retry":
          yield { type: "passing", event: { type: "model.retried", attempt: event.attempt, waitMs: event.waitMs, error: event.error } };
          break;
        default:
          yield { type: "passing", event };
      }
      next = events.next();
    }
    return { type: "failed", error: { kind: "broken", message: `${model.name} ended without an answer` } };
  } finally {
    settle(spent);
  }
}

/** While the answer is awaited, and only once the request is on its way: making walls takes some milliseconds. */
function prepareTools({ parts, input, context }: LoopState): void {
  try {
    parts.executor(input);
  } catch {
    // Told by the first call that needs it.
  }
  void context.keepFiles();
}

/** `isInVain`: none could even be tried. The calls of open questions have no result yet. */
type RanCalls = { isInVain: boolean; open: OpenQuestion[] };

/** Runs independent calls together; results are recorded as they come. */
async function* runCalls(state: LoopState, calls: CallPart[]): AsyncGenerator<AgentEvent, RanCalls> {
  const feed = createFeed<{ node: NewNode } | { event: Extract<AgentEvent, { type: "passing" }>["event"] }>();
  const to = {
    input: state.input,
    path: () => state.path,
    tools: state.tools,
    executor: state.parts.executor(state.input),
    toolEnv: state.parts.toolEnv,
    context: state.context,
    emit: (event: Extract<AgentEvent, { type: "passing" }>["event"]) => feed.push({ event }),
  };
  let failed = 0;
  const open: OpenQuestion[] = [];
  await state.context.keepFiles();
  const running = calls.map(async (call) => {
    const result = await callTool(call, to);
    if ("ask" in result) return open.push(result);
    if (result.failed) failed++;
    return feed.push({ node: result.node });
  });
  void Promise.allSettled(running).then(() => feed.end());
  for await (const item of feed) {
    if ("node" in item) yield* addNode(state, item.node);
    else yield { type: "passing", event: item.event };
  }
  if (state.context.signal.aborted) throw new Fault("internal", "the turn was stopped");
  return { isInVain: failed === calls.length, open };
}

function schemaSystem(state: LoopState): string {
  if (state.input.answerSchema === null) return state.system;
  return `${state.system}\n\nYour final answer must be only JSON that satisfies this schema:\n${JSON.stringify(state.input.answerSchema)}`;
}

/** What is wrong with an answer, and what is given back: with a schema only the JSON, without the fence around it. */
async function checked(schema: Record<string, unknown> | null, text: string): Promise<{ problem: string | null; result: string }> {
  if (schema === null) return { problem: null, result: text };
  const { checkAnswer, stripFence: unfenced } = await import("./answer-schema.ts");
  return { problem: checkAnswer(schema, text), result: unfenced(text).trim() };
}

function correction(text: string): NewNode {
  return { author: "note", note: { about: "correction" }, parts: [{ kind: "text", text }] };
}

function end(status: TurnEnd["status"], error: TurnError, answer = ""): AgentEvent {
  return { type: "end", end: { status, error, ...(answer === "" ? {} : { answer }) } };
}

function refusal(model: string): TurnError {
  return { kind: "refused", message: `${model} refused to answer`, hint: "rephrase the task, or use another model with -m" };
}

function cutAnswer(): TurnError {
  return { kind: "too-long", message: "the answer did not fit the model's output limit", hint: "ask for a shorter answer, or for a file" };
}

function noAnswer(model: string): TurnError {
  return { kind: "broken", message: `${model} ended without an answer`, hint: "go on with --resume, or try another model with -m" };
}

function unsatisfied(problem: string): TurnError {
  return {
    kind: "broken",
    message: `the answer does not satisfy the JSON schema: ${problem}`,
    hint: "say in the task what the JSON means, or use another model with -m",
  };
}

function repeatedFailure(model: string): TurnError {
  return { kind: "broken", message: `${model} keeps sending tool calls that can't be run`, hint: "try another model with -m" };
}

function isStatus(code: Fault["code"]): code is "auth" | "too-long" | "sandbox-unavailable" {
  return code === "auth" || code === "too-long" || code === "sandbox-unavailable";
}

function endOf(error: unknown, signal: AbortSignal): TurnEnd {
  if (signal.aborted) return { status: "cancelled", error: { kind: "cancelled", message: "the turn was stopped" } };
  const kind = error instanceof Fault && isStatus(error.code) ? error.code : "broken";
  const hint = error instanceof Fault ? error.hint : undefined;
  return { status: kind, error: { kind, message: messageOf(error), ...(hint === undefined ? {} : { hint }) } };
}
