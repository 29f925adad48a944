// Runs one turn of any agent: takes the session's lease, repairs the turn of a killed process, records the prompt,
// starts the agent, and records its events and its end. A node is stored before the agent may continue.
import type { Api, TurnCheckParams, TurnStartParams } from "../../protocol/api/api.ts";
import { refuseArchived } from "../../protocol/api/archived.ts";
import type { PendingTurn } from "../../protocol/api/control.ts";
import { withResumeHint, type TurnError } from "../../protocol/api/error.ts";
import type { Event, TransientEventBody, TurnOutcome } from "../../protocol/tree/event.ts";
import { fireHook } from "./fire-hook.ts";
import { refuseNesting } from "../../protocol/api/nesting.ts";
import { isLimitError } from "../../protocol/limits/at-limit.ts";
import { callsOf, textOf, type Node } from "../../protocol/tree/node.ts";
import type { Agent, TeamMailPort } from "../../protocol/api/ports.ts";
import type { Role } from "../../protocol/api/role.ts";
import { bareTurn } from "../../protocol/api/turn-options.ts";
import type { CheckOutcome, CliSessionStart, Session, Turn, TurnEnd, TurnLoop } from "../../protocol/tree/turn.ts";
import { systemClock } from "../../kit/flow/clock.ts";
import { PauseGate } from "../../kit/flow/pause-gate.ts";
import type { NewTurn, Store, StoredPendingTurn } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { type BudgetAccount, openBudgetAccount } from "../limits/budget.ts";
import { createDeadline } from "../limits/deadline.ts";
import { createFileRecorder } from "../record/file-recorder.ts";
import { createGuardRecorder } from "../record/guard-recorder.ts";
import { Recorder } from "../record/recorder.ts";
import { reportSnapshots } from "../record/report-snapshots.ts";
import { openTranscript, TurnTranscript } from "../record/transcripts.ts";
import { checkEnded, endedAtOnce, repairOf, turnCheckOf, withStoredCheck } from "./check-request.ts";
import { continuationOf, limitErrorOf, waitOf } from "./continue-later.ts";
import type { HandOver } from "./hand-over.ts";
import { findAgent } from "./open-session.ts";
import { applyRole, ignoredFieldsText } from "./roles.ts";
import type { RunningTurn } from "./running-turns.ts";
import { canSetUp, inWorktree, runSetup } from "./set-up-worktree.ts";
import { createTurnContext } from "./turn-context.ts";
import { continueRace, hasNoPrompt, multiAgentName, recoverAndPrompt } from "./turn-prompt.ts";

/** The params, with the id of the queued message that is the prompt, the applied role, and fields of a team's sub-session. */
export type TurnRequest = Parameters<Api["turn"]["start"]>[0] & {
  fromQueue?: string;
  /** The pending turn that starts, and its attempts so far. */
  pending?: Pick<StoredPendingTurn, "id" | "kind" | "attempt" | "giveUpAt">;
  /** The params as they were before the role was applied. */
  requested?: TurnStartParams;
  appliedRole?: Role;
  /** A role to record that is not applied, because the prompt contains it. */
  recordedRole?: string;
  env?: Readonly<Record<string, string>>;
  /** Set for an agent that continues the turn of another one. */
  handOver?: HandOver;
  /** The loop that the turn is a pass of. */
  pass?: TurnLoop;
  /** Runs only the check, as a turn of the agent `shell`. */
  isCheckOnly?: true;
  /** The error of a turn whose check failed; default: that of a single turn. Called before the turn ends. */
  failureOf?: (outcome: CheckOutcome, turn: string) => Promise<TurnError>;
};

/** `next` is the pending turn that continues this one. */
export type EndedTurn = TurnOutcome & { turn: Turn; session: Session; next: PendingTurn | null };

/** The values that a turn shares with its parent turn, if it runs in a sub-session. */
export type TurnScope = {
  parentSignal: AbortSignal;
  /** The parent's budget account; null without a parent. */
  parentAccount: BudgetAccount | null;
  /** The topmost session of the run; null if it is this one. */
  root: string | null;
  /** The parent's gate: its pause pauses this turn too. Null without a parent. */
  gate: PauseGate | null;
  /** Warnings of this run that were already shown: a missing sandbox is reported once, not in every turn. */
  shownWarnings: Set<string>;
  /** The mail of the team; set only for a member of one. */
  team?: TeamMailPort;
};

export type TurnExecution = {
  deps: EngineDeps;
  scope: TurnScope;
  running: RunningTurn;
  account: BudgetAccount;
  session: Session;
  agent: Agent;
  turn: Turn;
  /** The agent's own session to continue; null starts a new one. */
  cliSession: CliSessionStart | null;
  runSubTurn: (params: TurnRequest, publish: (event: Event) => void, scope: TurnScope) => Promise<EndedTurn>;
};

/** Runs a turn, and one more for every message that arrived too late for the turn before. */
export async function runTurnAndQueue(
  deps: EngineDeps,
  params: TurnRequest,
  publish: (event: Event) => void,
  scope: TurnScope,
): Promise<EndedTurn> {
  if (scope.root === null) refuseNesting(deps.enclosingSession());
  const store = await deps.store();
  const session = await store.requireSession(params.session);
  refuseArchived(session);
  const resumed = await continueRace(store, params);
  const { params: placed, setup } = await inWorktree(deps, resumed, session);
  const applied = await withStoredCheck(store, await applyRole(deps, placed, session));
  let request: TurnRequest = { ...applied, requested: params };
  if (setup !== null && canSetUp(request))
    await runSetup(deps, session, (watch) =>
      runTurn(deps, { ...bareTurn(session.id, request.policy), command: setup, env: placed.env }, withWatch(publish, watch), scope),
    );
  let ended = await runTurn(deps, request, publish, scope);
  request = { ...request, pending: undefined };
  for (;;) {
    const next = await handOverOf(deps, request, ended, scope);
    if (next !== null) {
      request = next;
      ended = await runTurn(deps, request, publish, scope);
      continue;
    }
    // A race whose agents failed their checks has no check of its own.
    if (ended.turn.status === "check-failed" && ended.turn.check !== undefined && request.pass === undefined && request.checkRepairs > 0) {
      request = { ...request, ...(await repairOf(store, ended.turn)), checkRepairs: request.checkRepairs - 1 };
      ended = await runTurn(deps, request, publish, scope);
      continue;
    }
    if (ended.turn.status !== "ok") break;
    const [queued] = await store.queue(params.session);
    if (queued === undefined) break;
    // A message is for an agent, so a command, a group, a team or a race of the turn before does not run again.
    const task = { images: [], command: null, group: null, team: null, race: null };
    const message = { ...request, ...task, handOver: undefined, prompt: queued.text, fromQueue: queued.id };
    ended = await runTurn(deps, message, publish, scope);
  }
  // Only now, because the lease of the session is free.
  if (ended.next !== null) await deps.leaveToHub(params.session);
  return ended;
}

async function handOverOf(deps: EngineDeps, request: TurnRequest, ended: EndedTurn, scope: TurnScope): Promise<TurnRequest | null> {
  if (request.atLimit.how !== "agents" || !isLimitError(ended.turn.error)) return null;
  return (await import("./hand-over.ts")).handOver(deps, request, ended, scope);
}

function withWatch(publish: (event: Event) => void, watch: (event: Event) => void): (event: Event) => void {
  return (event) => {
    watch(event);
    publish(event);
  };
}

async function runTurn(deps: EngineDeps, params: TurnRequest, publish: (event: Event) => void, scope: TurnScope): Promise<EndedTurn> {
  const store = await deps.store();
  const { session, agent, model } = await resolveAgent(deps, store, params);
  // `turn.check` has already checked an agent that the caller named, unless the turn starts later than that.
  const isUnchecked = params.agent === null || params.pending !== undefined;
  if ((isUnchecked && params.command === null) || multiAgentName(params) !== null)
    await agent.check({ ...params, model, project: session.project, directory: session.directory });
  const enforced = await agent.enforced(params.policy, model);
  await deps.guards.check({ project: session.project, directory: session.directory, policy: params.policy });
  if (params.policy.name === "plan") await deps.ensurePlanFile(session.project);
  const lease = await store.acquire(session.id);
  const clock = deps.clock ?? systemClock;
  const deadline = createDeadline(params, scope.parentSignal, clock);
  const budgetUser = { signal: deadline.signal, stop: deadline.end };
  const account = scope.parentAccount?.openSubAccount(budgetUser) ?? openBudgetAccount(params.limits, budgetUser, clock);
  const { gate, disconnect } = createGate(scope.gate, deadline);
  let transcript: TurnTranscript | null = null;
  let unregister = (): void => {};
  try {
    const file = await openTranscript(deps, store, { ...session, model: session.model ?? model });
    transcript = new TurnTranscript(file, (message) => recorder.publishTransient({ type: "warning.raised", message }));
    const recorder = new Recorder(store, lease, transcript, (event) => {
      deps.running.publish(event);
      publish(event);
      if (event.type === "turn.ended") deps.traceTurn?.(event.turn);
      if (deps.runHook !== undefined) fireHook(deps.runHook, event, { session, isSubSession: scope.root !== null });
    });
    const continueWith = await continuationOf(deps, params, scope);
    const canContinue = continueWith !== undefined;
    const running: RunningTurn = { params, store, lease, recorder, deadline, clock, gate, canContinue, asking: new Map() };
    unregister = deps.running.begin(running);
    const prompt = await recoverAndPrompt(running, session);
    const { turn, cliSession } = await recorder.startTurn({
      agent: agent.name,
      model,
      role: params.appliedRole?.name ?? params.recordedRole,
      policy: params.policy,
      enforced,
      budget: scope.parentAccount === null ? budgetOf(params.limits) : undefined,
      prompt,
      fromQueue: params.fromQueue,
      pending: params.pending?.id,
      continueWith,
      cliSessions: params.fresh ? undefined : agent.cliSessions,
      check: turnCheckOf(params),
      loop: params.pass,
    });
    warnOnce([missingSandboxText(turn), ignoredFieldsText(params.appliedRole)], scope.shownWarnings, (message) =>
      recorder.publishTransient({ type: "warning.raised", message }),
    );
    const runSubTurn: TurnExecution["runSubTurn"] = (...args) => runTurnAndQueue(deps, ...args);
    const opened = { ...session, transcript: transcript.path };
    return await executeTurn({ deps, scope, running, account, session: opened, agent, turn, cliSession, runSubTurn });
  } catch (error) {
    deadline.cancel(); // a turn that can't be recorded must not continue
    throw error;
  } finally {
    deadline.clear();
    account.leave();
    disconnect();
    transcript?.close();
    await store.release(lease);
    unregister();
  }
}

/** The executor has sent a signal to every process of a call within this time. */
const signalMs = 100;

/** Creates the turn's gate. It pauses with the parent's gate, and opens for good when the turn is stopped. */
function createGate(parent: PauseGate | null, deadline: RunningTurn["deadline"]): { gate: PauseGate; disconnect: () => void } {
  const gate = new PauseGate();
  // A paused process must get its signal before it resumes, so that it changes nothing more.
  deadline.signal.addEventListener("abort", () => (gate.isPaused ? setTimeout(() => gate.release(), signalMs) : gate.release()));
  const pauseWith = (holder: PauseGate): Promise<void> => {
    gate.pause(holder);
    return gate.whenStopped();
  };
  const removeFromParent = parent?.add({ pause: () => pauseWith(parent), resume: () => gate.resume(parent) });
  const removeDeadline = gate.add(deadline);
  const disconnect = (): void => {
    removeFromParent?.();
    removeDeadline();
  };
  return { gate, disconnect };
}

/** Finds the agent and the model of a turn. A session keeps the agent and model that a turn names. */
async function resolveAgent(
  deps: EngineDeps,
  store: Store,
  params: TurnStartParams,
): Promise<{ session: Session; agent: Agent; model: string | null }> {
  const session = await store.requireSession(params.session);
  if (params.command !== null) return { session, agent: findAgent(deps, "shell"), model: null };
  const multiAgent = multiAgentName(params);
  const changesTeam = multiAgent === "team" && (params.agent !== null || params.model !== null);
  if (multiAgent !== null && !changesTeam) return { session, agent: findAgent(deps, multiAgent), model: null };
  const planner = plannerOf(deps, params);
  const named = planner ?? params;
  const chosen = named.agent === null ? { agent: session.agent, model: named.model } : await deps.chooseAgent(named.agent, named.model);
  const agent = findAgent(deps, chosen.agent);
  const model = await deps.chooseModel(agent.name, chosen.model ?? (agent.name === session.agent ? session.model : null));
  // The session keeps its own agent and model for the turns that carry out the plan.
  if (planner !== null) return { session, agent, model };
  const isModelChanged = model !== session.model && (chosen.model !== null || session.model === null);
  const isChanged = agent.name !== session.agent || isModelChanged;
  const updated = isChanged ? await store.updateSession(session.id, { agent: agent.name, model }) : session;
  // The members of a team get the agent and the model. The team's own turn sends no requests.
  return changesTeam ? { session: updated, agent: findAgent(deps, "team"), model: null } : { session: updated, agent, model };
}

/** The configured agent and model of a planning turn. Null if there are none, and for a turn that names its own. */
function plannerOf({ planner }: EngineDeps, { policy, agent, model, team }: TurnStartParams): NonNullable<EngineDeps["planner"]> | null {
  const isNamed = agent !== null || model !== null || team !== null;
  return policy.name !== "plan" || isNamed || planner === undefined ? null : planner;
}

/** Throws the error that would stop such a turn. Writes nothing to the store. */
export async function checkTurn(deps: EngineDeps, request: TurnCheckParams): Promise<void> {
  refuseNesting(deps.enclosingSession());
  const params = await applyRole(deps, request, request);
  const project = deps.projectOf(params.directory);
  const multiAgent = multiAgentName(params);
  if (multiAgent !== null) return findAgent(deps, multiAgent).check({ ...params, project });
  const chosen = await deps.chooseAgent(params.agent, params.model);
  const agent = findAgent(deps, chosen.agent);
  const model = chosen.model === null && !params.isNew ? null : await deps.chooseModel(chosen.agent, chosen.model);
  await agent.check({ ...params, model, project });
  if (params.atLimit.how === "agents")
    for (const successor of params.atLimit.agents) findAgent(deps, (await deps.chooseAgent(successor.agent, successor.model)).agent);
  await agent.enforced(params.policy, model);
  await deps.guards.check({ project, directory: params.directory, policy: params.policy });
  if (params.policy.name === "plan" && params.isNew) await deps.ensurePlanFile(project);
}

function warnOnce(messages: (string | null)[], shown: Set<string>, warn: (message: string) => void): void {
  for (const message of messages) {
    if (message === null || shown.has(message)) continue;
    shown.add(message);
    warn(message);
  }
}

/** A warning for a policy that this machine does not enforce in full; null if it does. */
function missingSandboxText({ policy, enforced }: Turn): string | null {
  if (enforced === null || enforced.missing.length === 0) return null;
  const state =
    enforced.tier === "none" ? "is not enforced here" : `is enforced only in part here; missing: ${enforced.missing.join(", ")}`;
  return `policy ${policy.name} ${state} (\`skein doctor\` says why)`;
}

async function executeTurn(execution: TurnExecution): Promise<EndedTurn> {
  const { deps, running, agent, turn } = execution;
  const { params, recorder, deadline, gate } = running;
  const { project, directory } = execution.session;
  const canDelayCalls = agent.takesTools === true;
  const publish = recorder.publishTransient.bind(recorder);
  const snapshots = deps.snapshots === null ? null : reportSnapshots(deps.snapshots, publish, running.clock);
  const files = createFileRecorder(snapshots, running, { project, directory, turn: turn.id, canDelayCalls });
  const guards = createGuardRecorder(deps.guards, recorder, {
    ...execution.session,
    root: execution.scope.root ?? turn.session,
    policy: params.policy,
  });
  const keepFiles = async (): Promise<void> => {
    await files.recordBefore();
    await guards.begin();
  };
  const { input, context, spent } = await createTurnContext(execution, keepFiles);
  let end: TurnEnd = { status: "broken", error: { kind: "broken", message: `${agent.name} ended without a result` } };
  let answer: Node | null = null;
  let mayHaveChanged = params.command !== null || params.team?.work === "merge";
  await gate.whenOpen();
  for await (const event of params.isCheckOnly ? [endedAtOnce] : agent.takeTurn(input, context)) {
    deadline.touch();
    if (gate.isPaused) await gate.whenOpen();
    if (event.type === "transient") await publishTransient(recorder, event.event);
    else if (event.type === "cli-session") await recorder.recordNativeId(event.id);
    else if (event.type === "end") end = event.end;
    else {
      const node = await recorder.addNode(event.node, turn.id, await files.beforeNode(event.node));
      if (node.author === "agent") answer = node;
      mayHaveChanged ||= callsOf(node).length > 0;
      await files.recordNode(node);
      event.recorded(node);
    }
  }
  await files.recordAfter(mayHaveChanged);
  const outcomeOfCheck = await checkEnded(execution, end, keepFiles);
  ({ end } = outcomeOfCheck);
  await guards.finish();
  end = withStopReason(end, deadline.reason());
  const outcome = {
    answer: end.answer ?? (answer === null ? "" : textOf(answer)),
    below: spent(),
    left: execution.account.budget.remaining(),
  };
  const { status, nativeId = null, cli, spentOutsideNodes } = end;
  const next = await waitOf(execution, end);
  const error = end.error === undefined ? null : withResumeHint(await limitErrorOf(execution, end.error, next), turn.session);
  const model = turn.model ?? end.model ?? null;
  const isInterrupted = running.canContinue && status === "killed" && deadline.reason()?.kind === "killed" ? "stopped" : undefined;
  const { checked } = outcomeOfCheck;
  const close = { status, error, nativeId, model, enforced: turn.enforced, cli, spentOutsideNodes, checked, next, isInterrupted } as const;
  const { turn: ended, next: pending } = await recorder.endTurn(close, turn.id, outcome);
  if (status === "ok" || isLimitError(error)) await deps.limits?.noteEnd(agent.name, model, error);
  const session = await running.store.requireSession(turn.session);
  if (next?.kind === "waiting") deps.runHook?.({ type: "turn_waiting", session, turn: ended, until: next.wakeAt, error });
  const isPlanning = params.policy.name === "plan" && !hasNoPrompt(params);
  if (isPlanning && (mayHaveChanged || end.status === "ok")) deps.setPlanner(session.project, session.id);
  if (params.outputFile !== null) await deps.copyTranscript(session, params.outputFile);
  return { turn: ended, session, next: pending, ...outcome };
}

/** A shorter wait is over before anyone reads it. */
const shownWaitMs = 2_000;

/** Publishes an event that is not stored. Stores a long wait for the vendor on the turn, so that other processes can show it. */
async function publishTransient(recorder: Recorder, event: TransientEventBody): Promise<void> {
  recorder.publishTransient(event);
  if (event.type === "model.retried" && event.waitMs >= shownWaitMs) await recorder.setState({ retryAt: Date.now() + event.waitMs });
}

/** Undefined without a limit. */
function budgetOf({ maxTokens, maxBudgetUsd }: TurnRequest["limits"]): NewTurn["budget"] {
  return maxTokens === null && maxBudgetUsd === null ? undefined : { maxTokens, maxBudgetUsd };
}

/** A stopped turn ends with the reason of the stop, unless it ended ok anyway. */
function withStopReason(end: TurnEnd, reason: TurnError | null): TurnEnd {
  if (reason === null || end.status === "ok") return end;
  // The agent's hint for the same kind of error is more specific.
  const hint = (end.error?.kind === reason.kind ? end.error.hint : undefined) ?? reason.hint;
  return { ...end, status: reason.kind, error: { ...reason, hint } };
}
