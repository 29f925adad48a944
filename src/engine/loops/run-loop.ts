// Runs a loop: the check, then passes until the check succeeds or nothing more can be expected. Each pass is a turn of the
// session and ends with the check. The state is read from the turns after each pass (loop-state.ts).
import { Fault, type TurnError } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { CheckOutcome, Turn, TurnLoop } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { runTurnAndQueue, type EndedTurn, type TurnRequest, type TurnScope } from "../turn/run-turn.ts";
import { promptOf } from "./loop-prompts.ts";
import { nextStep, passText, readPasses, remainingLimits, type LoopSettings, type LoopStep, type Pass } from "./loop-state.ts";

/** Runs the params' loop, continues the session's interrupted one, or runs an ordinary turn. */
export async function runLoopOrTurn(
  deps: EngineDeps,
  params: TurnRequest,
  publish: (event: Event) => void,
  scope: TurnScope,
): Promise<EndedTurn> {
  const store = await deps.store();
  const stored = params.prompt === null ? await findLoop(store, params.session) : null;
  if (params.loop === null && (stored === null || (await isOver(store, params.session, stored))))
    return runTurnAndQueue(deps, params, publish, scope);
  const loop = stored === null ? newLoop(params) : changedLoop(stored, params);
  return runLoop({ deps, store, params: { ...params, loop: null }, loop, publish, scope }, stored !== null);
}

/** The loop that the session's latest turn belongs to; null if it belongs to none. */
export async function findLoop(store: Store, session: string): Promise<LoopSettings | null> {
  const last = (await store.turnsOf(session)).at(-1);
  return last?.loop === undefined ? null : settingsOf(last.loop);
}

function settingsOf({ pass: _pass, stage: _stage, ...settings }: TurnLoop): LoopSettings {
  return settings;
}

async function isOver(store: Store, session: string, loop: LoopSettings): Promise<boolean> {
  return nextStep(loop, await readPasses(store, session, loop.id), { resumes: true }).do === "stop";
}

function newLoop({ loop, prompt, limits, timeoutMs }: TurnRequest): LoopSettings {
  if (loop === null || prompt === null)
    throw new Fault("usage", "there is no loop to continue in this session", { hint: "give a task and --until" });
  const { maxTokens, maxBudgetUsd, treeSteps } = limits;
  return { ...loop, id: Bun.randomUUIDv7(), task: prompt, maxTokens, maxBudgetUsd, maxSteps: treeSteps, timeoutMs };
}

/** A continued loop keeps its settings, except for those that the params name. Further agents are added to its list. */
function changedLoop(stored: LoopSettings, { loop, limits, timeoutMs }: TurnRequest): LoopSettings {
  if (loop === null) return stored;
  const known = new Set(stored.agents);
  return {
    ...stored,
    until: loop.until,
    maxRuns: loop.maxRuns,
    fresh: loop.fresh,
    agents: [...stored.agents, ...loop.agents.filter((name) => !known.has(name))],
    maxTokens: limits.maxTokens ?? stored.maxTokens,
    maxBudgetUsd: limits.maxBudgetUsd ?? stored.maxBudgetUsd,
    maxSteps: limits.treeSteps ?? stored.maxSteps,
    timeoutMs: timeoutMs ?? stored.timeoutMs,
  };
}

type LoopRun = {
  deps: EngineDeps;
  store: Store;
  params: TurnRequest;
  loop: LoopSettings;
  publish: (event: Event) => void;
  scope: TurnScope;
};

async function runLoop(run: LoopRun, isResumed: boolean): Promise<EndedTurn> {
  const { deps, store, params, loop, publish, scope } = run;
  let ended: EndedTurn | null = null;
  for (let resumes = isResumed; ; resumes = false) {
    const passes = await readPasses(store, params.session, loop.id);
    const step = nextStep(loop, passes, { resumes });
    if (step.do === "stop" && ended === null) throw overFault(step, params.session);
    if (step.do === "stop") return ended!;
    const request = step.do === "check" ? checkRequest(run) : await passRequest(run, step, passes);
    // A pending turn is consumed by the first pass.
    ended = await runTurnAndQueue(deps, { ...request, pending: ended === null ? params.pending : undefined }, publish, scope);
  }
}

function overFault({ why }: Extract<LoopStep, { do: "stop" }>, session: string): Fault {
  return new Fault("usage", `the loop has ended: ${why}`, {
    hint: `raise --max-runs or the budget, name another agent with -a, or start a loop in the same session: skein loop "task" --until "command" --session ${shortId(session)}`,
  });
}

function checkRequest({ params, loop, store }: LoopRun): TurnRequest {
  const { role: _role, ...options } = params;
  return {
    ...options,
    ...passOptions(loop, { pass: 0, stage: 0 }),
    prompt: null,
    images: [],
    command: loop.until,
    isCheckOnly: true,
    failureOf: (outcome, turn) => failureOf(store, loop, { outcome, turn, session: params.session }),
  };
}

async function passRequest(
  { params, loop, store }: LoopRun,
  { number, stage, isContinued, changesAgent }: Extract<LoopStep, { do: "pass" }>,
  passes: Pass[],
): Promise<TurnRequest> {
  const { timeoutMs, ...limits } = remainingLimits(loop, passes);
  const isFirst = number === 1 && !isContinued;
  // A session keeps its agent and model, so only a change names them.
  const chosen = isFirst ? { agent: loop.agents[0] ?? params.agent, model: params.model } : { agent: null, model: null };
  return {
    ...params,
    ...(changesAgent ? { agent: loop.agents[stage] ?? null, model: null } : chosen),
    ...passOptions(loop, { pass: number, stage }),
    prompt: isContinued ? null : await promptOf(store, loop, passes),
    images: isFirst || loop.fresh ? params.images : [],
    fresh: loop.fresh && !isContinued,
    limits: { ...params.limits, ...limits },
    timeoutMs,
    failureOf: (outcome, turn) => failureOf(store, loop, { outcome, turn, session: params.session }),
  };
}

function passOptions(loop: LoopSettings, position: { pass: number; stage: number }) {
  return { pass: { ...loop, ...position }, check: loop.until, checkRepairs: 0 };
}

type FailedPass = { outcome: CheckOutcome; turn: string; session: string };

/** The error of a pass whose check failed. It is stored with the turn, so it states whether the loop continues. */
async function failureOf(store: Store, loop: LoopSettings, { outcome, turn, session }: FailedPass): Promise<TurnError> {
  const passes = (await readPasses(store, session, loop.id)).map((pass) => withOutcome(pass, turn, outcome));
  const step = nextStep(loop, passes, { resumes: false });
  const number = passes.at(-1)?.number ?? 0;
  if (step.do !== "stop") return { kind: "check-failed", message: passText(loop, number, outcome) };
  return { kind: step.kind ?? "check-failed", message: `the loop stopped: ${step.why}`, hint: stopHint(step, session) };
}

/** The pass as it is when the running turn has ended. */
function withOutcome(pass: Pass, id: string, checked: CheckOutcome): Pass {
  const ended = (turn: Turn): Turn => (turn.id === id ? { ...turn, checked, status: "check-failed", endedAt: Date.now() } : turn);
  return { ...pass, turns: pass.turns.map(ended) };
}

function stopHint({ reason }: Extract<LoopStep, { do: "stop" }>, session: string): string {
  const resume = `skein loop --resume ${shortId(session)}`;
  if (reason === "budget") return `raise the limit and continue: ${resume} --max-budget-usd <more>`;
  if (reason === "max-runs") return `continue: ${resume} --max-runs <more>`;
  return `let another agent try: ${resume} -a <agent>; or say what is wrong: skein run --session ${shortId(session)} "..."`;
}
