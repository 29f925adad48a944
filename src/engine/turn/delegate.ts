// Sub-sessions: a delegated task is a session and a turn of its own, linked to its parent, with less rights. All that
// run below one turn draw on its budget and end with it.
import { dirname } from "node:path";
import { oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { textOf, type Node } from "../../protocol/tree/node.ts";
import type { Policy } from "../../protocol/api/policy.ts";
import type { DelegateRequest, DelegateResult, FinishedTask } from "../../protocol/api/ports.ts";
import type { Role, RoleField } from "../../protocol/api/role.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { addSpent, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import { narrowToolLevel, narrowPolicy } from "./narrow-policy.ts";
import { freeTextRolePrompt, findRole, roleModel, withRole } from "./roles.ts";
import { openSession } from "./open-session.ts";
import type { TurnExecution, TurnRequest } from "./run-turn.ts";

const subSessionSteps = 100;
const shownTaskBytes = 500;

export function createDelegate(execution: TurnExecution): {
  delegate: (request: DelegateRequest) => Promise<DelegateResult>;
  spent: () => Spent;
} {
  let all = zeroSpent;

  async function delegate(request: DelegateRequest): Promise<DelegateResult> {
    const { account, deadline, scope: place, session, recorder } = execution;
    const policy = withWorkspace(narrowPolicy(execution.params.policy, request.sandbox, session), request);
    const role = request.role === null ? null : await findRole(execution.parts, request.role, session.directory);
    const over = account.takeSubSession();
    if (over !== null) throw new Fault("usage", over.message, { cause: over });
    const child = await subSessionFor(execution, request, policy, role).catch((error: unknown) => {
      account.returnSubSession();
      throw error;
    });
    recorder.publishTransient({
      type: "session.spawned",
      call: request.call,
      session: child.id,
      agent: child.agent,
      task: oneLine(request.title ?? request.task, shownTaskBytes),
    });
    let own = zeroSpent;
    let exit: Pick<DelegateResult, "exitCode"> = {};
    const watch = (event: Event) => {
      if (event.type === "turn.ended") own = addSpent(own, event.turn);
      if (event.type === "node.added" && request.command !== undefined) exit = exitOf(event.node);
      if ("n" in event) request.onEvent(event);
    };
    const release = deadline.holdIdle();
    try {
      const below = {
        parentSignal: request.signal,
        parentAccount: account,
        root: place.root ?? session.id,
        gate: execution.live.gate,
        shownWarnings: place.shownWarnings,
        ...(request.team === undefined ? {} : { team: request.team }),
      };
      const { turn, answer, session: ended } = await execution.runSubTurn(startOf(execution, request, child, policy, role), watch, below);
      return {
        session: child.id,
        status: turn.status ?? "broken",
        answer,
        transcript: ended.transcript,
        spent: own,
        left: account.left(),
        ...exit,
        ...(turn.error === null ? {} : { error: turn.error }),
      };
    } finally {
      all = addSpent(all, own);
      release();
    }
  }

  return { delegate, spent: () => all };
}

/** What a command did there on the side is no turn of its agent's. */
export async function findFinishedTask(
  { store, session: { id } }: TurnExecution,
  below: string,
  since: number,
): Promise<FinishedTask | null> {
  if ((await store.session(below))?.parentSession !== id || (await store.queue(below)).length > 0) return null;
  const turns = (await store.turnsOf(below)).filter(({ agent, startedAt }) => agent !== "shell" && startedAt >= since);
  const last = turns.at(-1);
  if (last?.status !== "ok" || last.tip === null) return null;
  const answer = (await store.path(last.tip)).findLast(({ author }) => author === "agent");
  return { answer: answer === undefined ? "" : textOf(answer), spent: turns.reduce<Spent>(addSpent, zeroSpent) };
}

function exitOf({ parts: [part] }: Node): Pick<DelegateResult, "exitCode"> {
  return part?.kind === "handle" ? { exitCode: part.handle.metadata.exitCode ?? null } : {};
}

async function subSessionFor(execution: TurnExecution, request: DelegateRequest, policy: Policy, role: Role | null): Promise<Session> {
  if (request.session === undefined) return openSubSession(execution, request, policy, role);
  const known = await execution.store.session(request.session);
  if (known === null) return openSubSession(execution, request, policy, role);
  if (known.parentSession !== execution.session.id) throw new Fault("session-unknown", `no sub-session ${request.session} here`);
  return known;
}

/** Where it has a place of its own, it may also write what belongs to that. */
function withWorkspace(policy: Policy, { at }: DelegateRequest): Policy {
  return at === undefined || policy.name === "full" ? policy : { ...policy, allowWrite: [...policy.allowWrite, ...at.allowWrite] };
}

function openSubSession(parent: TurnExecution, request: DelegateRequest, policy: Policy, role: Role | null): Promise<Session> {
  const { parts, params, session, turn } = parent;
  const agent = request.agent ?? role?.agent ?? session.agent;
  return openSession(parts, {
    find: { by: "new" },
    ...(request.session === undefined ? {} : { id: request.session }),
    directory: request.at?.directory ?? session.directory,
    task: request.title ?? request.task,
    agent,
    model: request.model ?? (role === null ? null : roleModel(role, request.agent)) ?? (agent === session.agent ? turn.model : null),
    toolLevel: request.toolLevel ?? narrowToolLevel(params.toolLevel, policy),
    parentSession: session.id,
    transcriptDir: session.transcript === null ? null : dirname(session.transcript),
  });
}

/**
 * What is not its parent's: it can't spawn, has no time of its own, and is told its role after what its parent is told.
 * Who takes part in a group asks no person: the others wait for it.
 */
function startOf(
  { parts, params }: TurnExecution,
  request: DelegateRequest,
  child: Session,
  policy: Policy,
  role: Role | null,
): TurnRequest {
  const { appliedRole: _parents, role: _wish, fromQueue: _waited, ...own } = params;
  const said = request.role === null || role !== null ? null : freeTextRolePrompt(request.role);
  const start: TurnRequest = {
    ...own,
    session: child.id,
    prompt: child.tip === null ? request.task : (request.again ?? request.task),
    images: [],
    agent: null,
    agentArgs: [],
    model: child.model,
    toolLevel: child.toolLevel,
    tools: toolsFor(request, child, params),
    spawn: false,
    appendSystem: [params.appendSystem, said].filter((text) => text !== null).join("\n\n") || null,
    policy,
    limits: { ...params.limits, maxSteps: Math.min(request.limits?.maxSteps ?? subSessionSteps, params.limits.maxSteps) },
    timeoutMs: request.limits?.timeoutMs ?? null,
    idleMs: request.limits?.idleMs ?? params.idleMs,
    fresh: false,
    answerSchema: null,
    command: request.command ?? null,
    group: null,
    team: null,
    asks: params.group === null ? params.asks : { how: "none" },
    ...(request.at === undefined ? {} : { env: request.at.env }),
    outputFile: null,
    steerable: request.attachable,
    nesting: false,
  };
  // Only the planning turn itself writes the plan.
  const below = role?.policy === "plan" ? { ...role, policy: "readonly" as const } : role;
  return below === null ? start : withRole(parts, start, below, child.agent, decidedFields(request));
}

/** Another agent's command line has its own. */
function toolsFor({ tools, toolLevel }: DelegateRequest, child: Session, params: TurnRequest): string[] | null {
  if (tools !== undefined) return child.agent === "native" ? tools : null;
  return toolLevel === "none" ? null : params.tools;
}

/** What whoever delegates has decided itself counts more than the role. */
function decidedFields({ toolLevel, tools, limits }: DelegateRequest): RoleField[] {
  const said: RoleField[] = toolLevel === undefined && tools === undefined ? [] : ["tools"];
  return limits?.timeoutMs === undefined ? said : [...said, "time"];
}
