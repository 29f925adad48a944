// One turn, whoever takes it: take the session, mend what a dead process left, record the prompt, let the agent
// work, record what it yields, record how it ended.
import type { TurnCheckParams, TurnStartParams } from "../../protocol/api/api.ts";
import { Fault, type TurnError } from "../../protocol/api/error.ts";
import type { Event, TurnOutcome } from "../../protocol/tree/event.ts";
import { storedIdentifier } from "../../protocol/tree/handle.ts";
import { refuseNesting } from "../../protocol/api/nesting.ts";
import { callsOf, textOf, type NewNode, type Node } from "../../protocol/tree/node.ts";
import type { Agent, OutputSink, TeamMailPort, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import type { Role } from "../../protocol/api/role.ts";
import type { NativeStart, Session, Turn, TurnEnd } from "../../protocol/tree/turn.ts";
import type { Spent } from "../../protocol/tree/usage.ts";
import { systemClock } from "../../kit/flow/clock.ts";
import { PauseGate } from "../../kit/flow/pause-gate.ts";
import type { Lease, NewTurn, Store } from "../../store/store.ts";
import { askPerson } from "../control/asks.ts";
import { type BudgetAccount, openBudgetAccount } from "./budget.ts";
import { createDeadline, type Deadline } from "./deadline.ts";
import { createDelegate, findFinishedTask } from "./delegate.ts";
import type { EngineDeps } from "../engine.ts";
import { createFileRecorder } from "./file-snapshots.ts";
import type { RunningTurn } from "./running-turns.ts";
import { Recorder } from "./recorder.ts";
import { continuation, recover } from "./recover.ts";
import { applyRoleToCheck, ignoredFieldsText, roleInstructions } from "./roles.ts";
import { findAgent } from "./open-session.ts";
import { settleAsks } from "./settle-asks.ts";
import { openTranscript } from "./transcripts.ts";

/** The prompt may be the oldest message that waits for the session; a role has been put on it. */
export type TurnRequest = TurnStartParams & { fromQueue?: string; appliedRole?: Role; env?: Readonly<Record<string, string>> };

export type EndedTurn = TurnOutcome & { turn: Turn; session: Session };

/** Where a turn stands: what stops it, and what it draws on, when it is a sub-session's. */
export type TurnScope = {
  parentSignal: AbortSignal;
  /** The account of the turn above; null at the top. */
  parentAccount: BudgetAccount | null;
  /** The topmost session of the run; null when this turn is its own. */
  root: string | null;
  /** Shut when the turn above stands still; null at the top. */
  gate: PauseGate | null;
  shownWarnings: ShownWarnings;
  /** For a member of a team. */
  team?: TeamMailPort;
};

/** Warnings that were given already: a missing wall is told once in a run, however many turns it has. */
export type ShownWarnings = Set<string>;

/** A turn, and one more for every message that came too late to be part of it. */
export async function runTurnAndQueue(
  deps: EngineDeps,
  params: TurnRequest,
  publish: (event: Event) => void,
  scope: TurnScope,
): Promise<EndedTurn> {
  let ended = await runTurn(deps, params, publish, scope);
  while (ended.turn.status === "ok") {
    const [waiting] = await (await deps.store()).queue(params.session);
    if (waiting === undefined) break;
    ended = await runTurn(
      deps,
      { ...params, prompt: waiting.text, images: [], group: null, team: null, fromQueue: waiting.id },
      publish,
      scope,
    );
  }
  return ended;
}

async function runTurn(deps: EngineDeps, params: TurnRequest, publish: (event: Event) => void, scope: TurnScope): Promise<EndedTurn> {
  if (scope.root === null) refuseNesting(deps.enclosingSession());
  const store = await deps.store();
  const { session, agent, model } = await resolveAgent(deps, store, params);
  // One that was named was asked before; only the session or the turn knew this one.
  if ((params.agent === null && params.command === null) || params.group !== null || params.team !== null)
    await agent.check({ ...params, model, project: session.project });
  const enforced = await agent.enforced(params.policy, model);
  if (params.policy.name === "plan") await deps.ensurePlanFile(session.project);
  const lease = await store.acquire(session.id);
  const clock = deps.clock ?? systemClock;
  const deadline = createDeadline(params, scope.parentSignal, clock);
  const drawer = { signal: deadline.signal, stop: deadline.end };
  const account = scope.parentAccount?.openSubAccount(drawer) ?? openBudgetAccount(params.limits, drawer, clock);
  const gate = new PauseGate();
  deadline.signal.addEventListener("abort", () => gate.release());
  const { gate: above } = scope;
  const leaveGate = [above?.add({ pause: () => gate.pause(above), resume: () => gate.resume(above) }), gate.add(deadline)];
  let transcript = null;
  let leave = (): void => {};
  try {
    transcript = await openTranscript(deps, store, { ...session, model: session.model ?? model });
    const tell = (event: Event): void => {
      deps.running.publish(event);
      publish(event);
    };
    const recorder = new Recorder(store, lease, transcript, tell);
    const live: RunningTurn = { params, store, lease, recorder, deadline, clock, gate, asking: new Map() };
    leave = deps.running.begin(live);
    await recover(store, recorder, session.id);
    const isGoingOn = params.prompt === null && !hasNoPrompt(params);
    const answers = await settleAsks(store, recorder, session.id, isGoingOn ? "on" : "anew");
    if (isGoingOn && answers === null) await checkResumable(store, session);
    const { turn, native } = await recorder.startTurn({
      agent: agent.name,
      model,
      ...(params.appliedRole === undefined ? {} : { role: params.appliedRole.name }),
      policy: params.policy,
      enforced,
      ...(scope.parentAccount === null ? budgetIn(params.limits) : {}),
      prompt: await firstNode(store, params, answers ?? []),
      ...(params.fromQueue === undefined ? {} : { fromQueue: params.fromQueue }),
      ...(agent.native === undefined || params.fresh ? {} : { native: agent.native }),
    });
    warnOnce([missingSandboxText(turn), ignoredFieldsText(params.appliedRole)], scope.shownWarnings, (message) =>
      recorder.publishTransient({ type: "warning.raised", message }),
    );
    const runBelow: TurnExecution["runSubTurn"] = (below, watch, within) => runTurnAndQueue(deps, below, watch, within);
    return await executeTurn({
      parts: deps,
      runSubTurn: runBelow,
      scope: scope,
      params,
      live,
      store,
      lease,
      recorder,
      deadline,
      account,
      agent,
      turn,
      native,
      session,
    });
  } catch (error) {
    deadline.cancel(); // what could not be recorded must not go on
    throw error;
  } finally {
    deadline.clear();
    account.leave();
    for (const away of leaveGate) away?.();
    transcript?.close();
    await store.release(lease);
    leave();
  }
}

/** Who takes the turn, with which model. What is named for a turn stays the session's. */
async function resolveAgent(
  deps: EngineDeps,
  store: Store,
  params: TurnStartParams,
): Promise<{ session: Session; agent: Agent; model: string | null }> {
  const session = await sessionOf(store, params.session);
  if (params.command !== null) return { session, agent: findAgent(deps, "shell"), model: null };
  const gathered = multiAgentName(params);
  if (gathered !== null) return { session, agent: findAgent(deps, gathered), model: null };
  const chosen = params.agent === null ? { agent: session.agent, model: params.model } : deps.chooseAgent(params.agent, params.model);
  const agent = findAgent(deps, chosen.agent);
  const model = await deps.chooseModel(agent.name, chosen.model ?? (agent.name === session.agent ? session.model : null));
  const isChanged = agent.name !== session.agent || (chosen.model !== null && model !== session.model);
  return { session: isChanged ? await store.updateSession(session.id, { agent: agent.name, model }) : session, agent, model };
}

export async function checkTurn(deps: EngineDeps, wish: TurnCheckParams): Promise<void> {
  refuseNesting(deps.enclosingSession());
  const params = await applyRoleToCheck(deps, wish);
  const gathered = multiAgentName(params);
  if (gathered !== null) return findAgent(deps, gathered).check({ ...params, project: deps.projectOf(params.directory) });
  const chosen = deps.chooseAgent(params.agent, params.model);
  const agent = findAgent(deps, chosen.agent);
  const model = chosen.model === null && !params.isNew ? null : await deps.chooseModel(chosen.agent, chosen.model);
  await agent.check({ ...params, model, project: deps.projectOf(params.directory) });
  await agent.enforced(params.policy, model);
  if (params.policy.name === "plan" && params.isNew) await deps.ensurePlanFile(deps.projectOf(params.directory));
}

/** The agent that has others work. */
function multiAgentName({ group, team }: Pick<TurnStartParams, "group" | "team">): "group" | "team" | null {
  return group !== null ? "group" : team !== null ? "team" : null;
}

function warnOnce(messages: (string | null)[], told: ShownWarnings, warn: (message: string) => void): void {
  for (const message of messages) {
    if (message !== null && !told.has(message)) warn(message);
    if (message !== null) told.add(message);
  }
}

/** What was asked for and is not held by the kernel is never passed over; on the turn it is recorded. */
function missingSandboxText({ policy, enforced }: Turn): string | null {
  if (enforced === null || enforced.missing.length === 0) return null;
  const how = enforced.tier === "none" ? "is not enforced here" : `is enforced only in part here; missing: ${enforced.missing.join(", ")}`;
  return `policy ${policy.name} ${how} (\`skein doctor\` says why)`;
}

export type TurnExecution = {
  parts: EngineDeps;
  /** Runs a turn below this one. */
  runSubTurn: (params: TurnRequest, publish: (event: Event) => void, scope: TurnScope) => Promise<EndedTurn>;
  scope: TurnScope;
  params: TurnRequest;
  live: RunningTurn;
  store: Store;
  lease: Lease;
  recorder: Recorder;
  deadline: Deadline;
  account: BudgetAccount;
  agent: Agent;
  turn: Turn;
  native: NativeStart | null;
  session: Session;
};

async function executeTurn(execution: TurnExecution): Promise<EndedTurn> {
  const { params, recorder, deadline, agent, turn } = execution;
  const files = createFileRecorder(execution);
  const { input, context, spent } = await turnInput(execution, files.keep);
  let end: TurnEnd = { status: "broken", error: { kind: "broken", message: `${agent.name} ended without saying how` } };
  let answer: Node | null = null;
  let mayHaveChanged = params.command !== null || params.team?.work === "merge";
  await execution.live.gate.whenOpen();
  for await (const event of agent.takeTurn(input, context)) {
    deadline.touch();
    await execution.live.gate.whenOpen();
    if (event.type === "passing") recorder.publishTransient(event.event);
    else if (event.type === "native") await recorder.recordNativeId(event.id);
    else if (event.type === "end") end = event.end;
    else {
      const node = await recorder.addNode(event.node);
      if (node.author === "agent") answer = node;
      mayHaveChanged ||= callsOf(node).length > 0;
      event.recorded(node);
    }
  }
  await files.finish(mayHaveChanged);
  end = endedBy(deadline.reason(), end);
  const closed = {
    status: end.status,
    error: end.error ?? null,
    nativeId: end.nativeId ?? null,
    enforced: turn.enforced,
    ...(end.cli === undefined ? {} : { cli: end.cli }),
    ...(end.rest === undefined ? {} : { rest: end.rest }),
  };
  const outcome = { answer: end.answer ?? (answer === null ? "" : textOf(answer)), below: spent(), left: execution.account.left() };
  const ended = await recorder.endTurn(closed, turn.id, outcome);
  const session = await sessionOf(execution.store, turn.session);
  const isPlanning = params.policy.name === "plan" && !hasNoPrompt(params);
  if (isPlanning && (mayHaveChanged || end.status === "ok")) execution.parts.setPlanner(session.project, session.id);
  if (params.outputFile !== null) await execution.parts.copyTranscript(session, params.outputFile);
  return { turn: ended, session, ...outcome };
}

async function turnInput(
  execution: TurnExecution,
  keepFiles: TurnContext["keepFiles"],
): Promise<{ input: TurnInput; context: TurnContext; spent: () => Spent }> {
  const { params, live, store, lease, recorder, deadline, account, turn, session } = execution;
  const tip = (await sessionOf(store, session.id)).tip;
  const whole = tip === null ? [] : await store.path(tip);
  const { delegate, spent } = createDelegate(execution);
  const input: TurnInput = {
    ...params,
    appendSystem: roleInstructions(params),
    session: session.id,
    root: execution.scope.root ?? session.id,
    turn: turn.id,
    path: params.fresh ? whole.slice(-1) : whole,
    model: turn.model,
    directory: session.directory,
    project: session.project,
    plan: session.plan ?? null,
    native: execution.native,
    tree: session.tree,
    logs: session.transcript?.replace(/\.jsonl$/, "") ?? null,
  };
  const context: TurnContext = {
    signal: deadline.signal,
    keepOutput: (call, source) => touching(store.openOutput(lease, call, source), deadline),
    readOutput: (handle) => store.readOutput(storedIdentifier(handle)),
    delegate,
    findFinishedTask: (below, since) => findFinishedTask(execution, below, since),
    keepFiles,
    keepAlive: deadline.touch,
    reserve: (estimate) => account.reserve(estimate),
    count: (used) => account.count(used),
    ask: (wish) => askPerson(live, wish),
    canAsk: params.asks.how !== "none",
    takeInput: () => recorder.takeInputs(),
    registerPausable: (part) => live.gate.add(part),
    sendMessage: async (to, { id, text }) => (await execution.parts.running.get(to)?.recorder.queueInput(text, id)) !== undefined,
    ...(execution.scope.team === undefined ? {} : { team: execution.scope.team }),
  };
  return { input, context, spent };
}

/** Output counts as a sign of life, also between the events that watchers get. */
function touching(sink: OutputSink, deadline: Deadline): OutputSink {
  return {
    write(chunk) {
      deadline.touch();
      sink.write(chunk);
    },
    close: (metadata, inlineBytes) => sink.close(metadata, inlineBytes),
  };
}

function budgetIn({ maxTokens, maxBudgetUsd }: TurnRequest["limits"]): Pick<NewTurn, "budget"> {
  return maxTokens === null && maxBudgetUsd === null ? {} : { budget: { maxTokens, maxBudgetUsd } };
}

/** Has no prompt: its agent records what it was asked. */
function hasNoPrompt(params: TurnStartParams): boolean {
  return params.command !== null || multiAgentName(params) !== null;
}

/** Answers to questions that no call waits for come before the prompt, or are it. */
async function firstNode(store: Store, params: TurnStartParams, answers: string[]): Promise<NewNode | null> {
  if (hasNoPrompt(params)) return null;
  const words = [...answers, ...(params.prompt === null ? [] : [params.prompt])];
  if (words.length === 0) {
    const { tip } = await sessionOf(store, params.session);
    return continuation(tip === null ? null : await store.node(tip));
  }
  const images = params.images.map((image) => ({ kind: "image" as const, ...image }));
  return { author: "user", parts: [{ kind: "text", text: words.join("\n\n") }, ...images] };
}

/** A limit or a person stopped it: that is how it ended, unless it was finished anyway. */
function endedBy(reason: TurnError | null, end: TurnEnd): TurnEnd {
  if (reason === null || end.status === "ok") return end;
  // Who ended may know better how to go on.
  const hint = end.error?.kind === reason.kind ? end.error.hint : undefined;
  return { ...end, status: reason.kind, error: { ...reason, ...(hint === undefined ? {} : { hint }) } };
}

async function checkResumable(store: Store, session: Session): Promise<void> {
  const last = (await store.turnsOf(session.id)).at(-1);
  if (last !== undefined && last.status !== "ok") return;
  throw new Fault("usage", "there is no interrupted turn to go on with", { hint: 'give a task: skein run --resume <session> "task"' });
}

async function sessionOf(store: Store, id: string): Promise<Session> {
  const session = await store.session(id);
  if (session === null) throw new Fault("session-unknown", `no session ${id}`);
  return session;
}
