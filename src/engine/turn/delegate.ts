// Starts sub-sessions. A delegated task gets its own session and turn, linked to the parent, with fewer rights.
// All sub-sessions of a turn share its budget and end with it.
import { dirname } from "node:path";
import { oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { textOf, type Node } from "../../protocol/tree/node.ts";
import type { Policy } from "../../protocol/api/policy.ts";
import type { DelegateRequest, DelegateResult, FinishedTask } from "../../protocol/api/ports.ts";
import { roleModel, type Role, type RoleField } from "../../protocol/api/role.ts";
import { inheritedOptions } from "../../protocol/api/turn-options.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { addSpent, withSubSessions, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import type { Store } from "../../store/store.ts";
import { toTranscriptLines } from "../../protocol/json/transcript-lines.ts";
import { headerLine } from "../../store/transcript.ts";
import { narrowToolLevel, narrowPolicy } from "./narrow-policy.ts";
import { freeTextRolePrompt, findRole, joinInstructions, withRole } from "./roles.ts";
import { findAgent, openSession } from "./open-session.ts";
import type { TurnExecution, TurnRequest, TurnScope } from "./run-turn.ts";

const subSessionSteps = 100;
const maxTitleBytes = 500;

type SubSession = { session: Session; policy: Policy; role: Role | null };

export function createDelegate(execution: TurnExecution): {
  delegate: (request: DelegateRequest) => Promise<DelegateResult>;
  /** Tokens and money of all sub-sessions so far. */
  spent: () => Spent;
} {
  const { account, running } = execution;
  let total = zeroSpent;

  async function delegate(request: DelegateRequest): Promise<DelegateResult> {
    const subSession = await prepareSubSession(execution, request);
    running.recorder.publishTransient({
      type: "session.spawned",
      call: request.call,
      session: subSession.session.id,
      agent: subSession.session.agent,
      task: oneLine(request.title ?? request.task, maxTitleBytes),
    });
    let spent = zeroSpent;
    let exit: Pick<DelegateResult, "exitCode"> = {};
    const onEvent = (event: Event) => {
      if (event.type === "turn.ended") spent = addSpent(spent, withSubSessions(event.turn));
      if (event.type === "node.added" && request.command !== undefined) exit = exitOf(event.node);
      if ("n" in event) request.onEvent?.(event);
    };
    const resumeIdle = running.deadline.holdIdle();
    try {
      const ended = await execution.runSubTurn(await subTurn(execution, request, subSession), onEvent, subScope(execution, request));
      return {
        session: subSession.session.id,
        status: ended.turn.status ?? "broken",
        answer: ended.answer,
        transcript: ended.session.transcript,
        ...(ended.session.worktree !== undefined && { worktree: ended.session.worktree }),
        readTranscript: () => transcriptText(running.store, ended.session),
        spent,
        left: account.budget.remaining(),
        ...exit,
        error: ended.turn.error ?? undefined,
      };
    } finally {
      total = addSpent(total, spent);
      resumeIdle();
    }
  }

  return { delegate, spent: () => total };
}

async function transcriptText(store: Store, session: Session): Promise<string> {
  const lines = (await store.sessionNodes(session.id)).flatMap(toTranscriptLines).map((line) => JSON.stringify(line));
  return [headerLine(session), ...lines, ""].join("\n");
}

/** Finds or opens the sub-session. Takes its slot in the budget, and returns the slot if that fails. */
async function prepareSubSession(execution: TurnExecution, request: DelegateRequest): Promise<SubSession> {
  const { deps, account, session, running } = execution;
  const policy = withWorkspace(narrowPolicy(running.params.policy, request.sandbox, session), request);
  const role = request.role === null ? null : await findRole(deps, request.role, session.directory);
  await refuseScript(execution, request, role);
  const budgetError = account.budget.takeSubSession();
  if (budgetError !== null) throw new Fault("usage", budgetError.message, { cause: budgetError });
  try {
    const existing = request.session === undefined ? null : await running.store.session(request.session);
    if (existing !== null && existing.parentSession !== session.id)
      throw new Fault("session-unknown", `no sub-session ${request.session} here`);
    const subSession = existing === null ? openSubSession(execution, request, { policy, role }) : withAgent(execution, existing, request);
    return { session: await subSession, policy, role };
  } catch (error) {
    account.budget.returnSubSession();
    throw error;
  }
}

/** A replay model reads the script that its name has: any file of the user. A tool may only name that of its own session. */
async function refuseScript({ deps, running, session }: TurnExecution, request: DelegateRequest, role: Role | null): Promise<void> {
  // The agents of a race are the user's own words.
  if (running.params.race !== null) return;
  const named = request.model ?? (role === null ? null : roleModel(role, request.agent));
  const { agent, model } = await deps.chooseAgent(request.agent ?? role?.agent ?? session.agent, named);
  const chosen = model === null ? null : await deps.chooseModel(agent, model);
  if (chosen?.startsWith("replay/") === true && chosen !== session.model)
    throw new Fault("usage", "a sub-session can't choose a replay script", { hint: "name a model of a vendor" });
}

function subScope({ account, scope, session, running }: TurnExecution, { signal, team }: DelegateRequest): TurnScope {
  return {
    parentSignal: signal,
    parentAccount: account,
    root: scope.root ?? session.id,
    gate: running.gate,
    shownWarnings: scope.shownWarnings,
    team,
  };
}

/** The result of a sub-session's earlier turns, if the last one ended ok. Turns of the agent `shell` don't count. */
export async function findFinishedTask(
  store: Store,
  { parent, session, since }: { parent: string; session: string; since: number },
): Promise<FinishedTask | null> {
  if ((await store.session(session))?.parentSession !== parent || (await store.queue(session)).length > 0) return null;
  const turns = (await store.turnsOf(session)).filter(({ agent, startedAt }) => agent !== "shell" && startedAt >= since);
  const lastTurn = turns.at(-1);
  if (lastTurn?.status !== "ok" || lastTurn.tip === null) return null;
  const answer = (await store.path(lastTurn.tip)).findLast(({ author }) => author === "agent");
  return { answer: answer === undefined ? "" : textOf(answer), spent: turns.map(withSubSessions).reduce(addSpent, zeroSpent) };
}

/** The exit code on the node of a command. */
export function exitOf({ parts: [part] }: Node): Pick<DelegateResult, "exitCode"> {
  return part?.kind === "handle" ? { exitCode: part.handle.metadata.exitCode ?? null } : {};
}

/** A sub-session with its own workspace may also write the paths that belong to the workspace. */
function withWorkspace(policy: Policy, { at: workspace }: DelegateRequest): Policy {
  if (workspace === undefined || policy.name === "full") return policy;
  return { ...policy, allowWrite: [...policy.allowWrite, ...workspace.allowWrite] };
}

function openSubSession(
  { deps, running, session, turn }: TurnExecution,
  request: DelegateRequest,
  { policy, role }: { policy: Policy; role: Role | null },
): Promise<Session> {
  const agent = request.agent ?? role?.agent ?? session.agent;
  return openSession(deps, {
    find: { by: "new" },
    id: request.session,
    directory: request.at?.directory ?? session.directory,
    task: request.title ?? request.task,
    agent,
    model:
      request.model ??
      (role === null ? null : roleModel(role, request.agent)) ??
      (agent === session.agent ? (turn.model ?? session.model) : null),
    toolLevel: request.toolLevel ?? narrowToolLevel(running.params.toolLevel, policy),
    parentSession: session.id,
    transcriptDir: session.transcript === null ? null : dirname(session.transcript),
    worktree: request.worktree ?? null,
    ...(request.forkAt ? { forkAt: { session: session.id, node: request.forkAt } } : {}),
  });
}

/** An existing sub-session continues with the agent and the model of the request, if that names others. */
async function withAgent({ deps, running }: TurnExecution, session: Session, request: DelegateRequest): Promise<Session> {
  const chosen = await deps.chooseAgent(request.agent ?? session.agent, request.model);
  const { name } = findAgent(deps, chosen.agent);
  if (name === session.agent && chosen.model === null) return session;
  const model = await deps.chooseModel(name, chosen.model);
  return name === session.agent && model === session.model ? session : running.store.updateSession(session.id, { agent: name, model });
}

/**
 * The turn of a sub-session. It can't spawn, and it gets its role's prompt after its parent's extra instructions.
 * A participant of a group asks no user, because the other participants wait for it.
 */
async function subTurn(
  { deps, running: { params, store } }: TurnExecution,
  request: DelegateRequest,
  subSession: SubSession,
): Promise<TurnRequest> {
  const { session, policy, role } = subSession;
  const freeText = request.role === null || role !== null ? null : freeTextRolePrompt(request.role);
  const turn: TurnRequest = {
    ...inheritedOptions(params),
    session: session.id,
    prompt: (await hasTurn(store, session)) && request.resumePrompt !== undefined ? request.resumePrompt : request.task,
    model: session.model,
    toolLevel: session.toolLevel,
    tools: toolsFor(request, session, params),
    appendSystem: joinInstructions(params.appendSystem, freeText),
    policy,
    limits: { ...params.limits, maxSteps: Math.min(request.limits?.maxSteps ?? subSessionSteps, params.limits.maxSteps) },
    timeoutMs: request.limits?.timeoutMs ?? null,
    idleMs: request.limits?.idleMs ?? params.idleMs,
    command: request.command ?? null,
    atLimit: atLimitFor(params),
    asks: params.group === null ? params.asks : { how: "none" },
    steerable: request.attachable,
    env: request.at?.env,
    recordedRole: request.recordedRole,
  };
  if (role === null) return turn;
  // Only the planning turn itself writes the plan.
  const subRole = role.policy === "plan" ? { ...role, policy: "readonly" as const } : role;
  return withRole(deps, turn, { role: subRole, agent: session.agent, explicitFields: explicitFieldsOf(request) });
}

/** Sub-sessions are handed over like their parent. They do not wait, and the agents of a group and of a race stay as chosen. */
function atLimitFor({ atLimit, group, race }: TurnRequest): TurnRequest["atLimit"] {
  return atLimit.how === "agents" && group === null && race === null ? atLimit : { how: "stop" };
}

/** Whether the session has had a turn of an agent. A fork starts with the nodes of another session. */
async function hasTurn(store: Store, { id, tip }: Session): Promise<boolean> {
  return tip !== null && (await store.turnsOf(id)).some(({ agent }) => agent !== "shell");
}

/** Null for the default tools. An external agent always has its own. */
function toolsFor({ tools, toolLevel }: DelegateRequest, session: Session, params: TurnRequest): string[] | null {
  if (tools !== undefined) return session.agent === "native" ? tools : null;
  return toolLevel === "none" ? null : params.tools;
}

/** Fields that the delegating agent set. They take precedence over the role. */
function explicitFieldsOf({ toolLevel, tools, limits }: DelegateRequest): RoleField[] {
  const fields: RoleField[] = toolLevel === undefined && tools === undefined ? [] : ["tools"];
  return limits?.timeoutMs === undefined ? fields : [...fields, "time"];
}
