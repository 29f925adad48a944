// Turns that the hub starts later. The store holds each with its whole request. A turn starts in the transaction that consumes
// its row, so it starts once, also if two hubs try or one is killed.
import type { Api, TurnStartParams } from "../../protocol/api/api.ts";
import { refuseArchived } from "../../protocol/api/archived.ts";
import type { PendingTurn, TurnInfo } from "../../protocol/api/control.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { refuseNesting } from "../../protocol/api/nesting.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { countedTokens, withSubSessions, zeroSpent } from "../../protocol/tree/usage.ts";
import type { NewPendingTurn, Store, StoredPendingTurn } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import type { TurnRequest } from "../turn/run-turn.ts";

export async function queueTurn(deps: EngineDeps, params: TurnStartParams): Promise<PendingTurn> {
  refuseNesting(deps.enclosingSession());
  const store = await deps.store();
  refuseArchived(await store.requireSession(params.session));
  if (params.prompt !== null && params.prompt.trim() === "") throw new Fault("usage", "the task is empty");
  const pending = await store.queueTurn(params.session, { ...requestFields(deps, params), kind: "queued", wakeAt: null, credential: null });
  await deps.leaveToHub(params.session);
  return pending;
}

type StoredRequest = Pick<NewPendingTurn, "request" | "caller" | "giveUpAt" | "attempt">;

/** The stored form of a turn's request. */
function requestFields({ caller }: EngineDeps, params: TurnStartParams): StoredRequest {
  if (caller === null) throw new Fault("usage", "an ephemeral run starts no turn later");
  const {
    fromQueue: _,
    appliedRole: _role,
    recordedRole: _name,
    env: _env,
    pending: _id,
    onOutput: _out,
    pass: _pass,
    failureOf: _failure,
    isCheckOnly: _check,
    handOver: _hand,
    requested: _params,
    mcpServers,
    ...request
  } = params as TurnRequest;
  // Servers of a front end may contain secrets, which are not stored.
  const stored = { ...request, mcpServers: mcpServers === null ? null : {} };
  return { request: stored, caller, giveUpAt: null, attempt: 0 };
}

const noTask = { prompt: null, images: [], command: null, race: null, loop: null };

/**
 * The request that continues a turn. Undefined for a command, a group or a team: to run those again would repeat their work. A
 * race or a loop continues by itself when its session does.
 */
export function continuedRequest(deps: EngineDeps, params: TurnRequest): StoredRequest | undefined {
  // The check of a loop is a command. The loop runs it again.
  const isCommand = params.command !== null && params.pass === undefined;
  if (isCommand || params.group !== null || params.team !== null) return undefined;
  // Another agent may have taken the turn over since it was requested.
  const { agent, model, effort, agentArgs, atLimit, limits, timeoutMs } = params;
  const current = { agent, model, agentArgs, atLimit, limits, timeoutMs, ...(effort === undefined ? {} : { effort }) };
  return requestFields(deps, { ...(params.requested ?? params), ...current, ...noTask });
}

/** The request to continue a turn with after its process was killed. */
export function continuationOf(deps: EngineDeps, params: TurnRequest): NewPendingTurn | undefined {
  const request = params.autoResume ? continuedRequest(deps, params) : undefined;
  if (request === undefined) return undefined;
  const { kind, attempt = 0, giveUpAt = null } = params.pending ?? {};
  return { ...request, kind: "continued", wakeAt: null, credential: null, attempt: kind === "continued" ? attempt : 0, giveUpAt };
}

export async function withdrawTurn(deps: EngineDeps, { pending }: { pending: string }): Promise<PendingTurn | null> {
  if (!deps.hasStore()) return null;
  const store = await deps.store();
  const found = await store.findPendingTurn(pending);
  if (found === null || !(await store.withdrawTurn(found.id))) return null;
  const { request: _, attempt: _attempt, giveUpAt: _giveUp, ...turn } = found;
  return turn;
}

/** The params to start a pending turn with. Throws if it is not the next one of its session. */
export async function pendingRequest(deps: EngineDeps, id: string): Promise<TurnRequest> {
  const store = await deps.store();
  const pending = await store.findPendingTurn(id);
  if (pending === null) throw new Fault("pending-unknown", `the queued turn ${id} has started or was withdrawn`);
  if (pending.place > 1) throw new Fault("session-busy", `${pending.place - 1} turns of the session come before it`);
  const request = pending.request as TurnStartParams;
  const start = { pending };
  if (pending.kind === "queued") return { ...request, ...start };
  return { ...request, ...(await remainingLimits(store, request, pending)), ...start };
}

/** A continued turn has what its last part left of the limits. The time that it waited does not count as time of the turn. */
async function remainingLimits(store: Store, { limits, timeoutMs }: TurnStartParams, { session, kind }: StoredPendingTurn) {
  const last = (await store.turnsOf(session)).at(-1);
  if (last === undefined) return {};
  const spent = withSubSessions(last);
  // The end of a killed turn is recorded when its session is used again, which may be days later.
  const endedAt = kind === "waiting" ? last.endedAt : last.tip === null ? null : ((await store.node(last.tip))?.at ?? null);
  const elapsedMs = Math.max(0, (endedAt ?? last.startedAt) - last.startedAt);
  return {
    limits: {
      ...limits,
      maxSteps: Math.max(1, limits.maxSteps - last.steps),
      maxTokens: limits.maxTokens === null ? null : Math.max(1, limits.maxTokens - countedTokens(spent.usage)),
      maxBudgetUsd: limits.maxBudgetUsd === null ? null : Math.max(Number.EPSILON, limits.maxBudgetUsd - (spent.costUsd ?? 0)),
    },
    timeoutMs: timeoutMs === null ? null : Math.max(1_000, timeoutMs - elapsedMs),
  };
}

/** Stores why a pending turn could not start, unless it only has to wait for its session. */
export async function recordProblem(deps: EngineDeps, id: string, error: unknown): Promise<void> {
  if (error instanceof Fault && ["session-busy", "pending-unknown"].includes(error.code)) return;
  const hint = error instanceof Fault && error.hint !== undefined ? ` (${error.hint})` : "";
  await (await deps.store()).setPendingProblem(id, `${messageOf(error)}${hint}`);
}

/** Pending turns in the form of `turn.list`. */
export async function pendingInfos(store: Store): Promise<TurnInfo[]> {
  const infos = (await store.pendingTurns(null)).map(async (pending): Promise<TurnInfo[]> => {
    const [session, stored] = await Promise.all([store.session(pending.session), store.findPendingTurn(pending.id)]);
    if (session === null || stored === null) return [];
    const last = pending.kind === "waiting" ? (await store.turnsOf(session.id)).at(-1) : undefined;
    const turn = last ?? plannedTurn(stored, session);
    const prompt = pending.prompt === null ? {} : { prompt: pending.prompt };
    return [{ state: pending.kind === "waiting" ? "waiting" : "queued", pid: null, session, turn, pending, ...prompt }];
  });
  return (await Promise.all(infos)).flat();
}

/** A turn as it will be, with nothing done yet. */
function plannedTurn({ id, queuedAt, request }: StoredPendingTurn, session: Session): TurnInfo["turn"] {
  const { agent, model, policy } = request as TurnStartParams;
  return {
    id,
    session: session.id,
    parent: session.tip,
    tip: null,
    agent: agent ?? session.agent,
    model: model ?? (agent === null || agent === session.agent ? session.model : null),
    nativeId: null,
    policy,
    enforced: null,
    ...zeroSpent,
    steps: 0,
    startedAt: queuedAt,
    endedAt: null,
    status: null,
    error: null,
  };
}

export async function listPending(deps: EngineDeps, { session }: Parameters<Api["turn"]["pending"]>[0]): Promise<PendingTurn[]> {
  return deps.hasStore() ? (await deps.store()).pendingTurns(session) : [];
}
