// Builds the two arguments of an agent for a turn: the input (data) and the context (functions of the engine).
import { once } from "../../kit/flow/lazy.ts";
import { storedIdentifier } from "../../protocol/tree/handle.ts";
import type { OutputSink, TurnContext, TurnInput } from "../../protocol/api/ports.ts";
import { zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import type { EngineDeps } from "../engine.ts";
import type { Deadline } from "../limits/deadline.ts";
import { roleInstructions } from "./roles.ts";
import type { TurnExecution } from "./run-turn.ts";

// Most turns have no sub-session and no question. Calls of one answer keep their order.
const loadDelegate = once(() => import("./delegate.ts"));
const loadAsk = once(() => import("./ask-person.ts"));

export async function createTurnContext(
  execution: TurnExecution,
  keepFiles: TurnContext["keepFiles"],
): Promise<{ input: TurnInput; context: TurnContext; spent: () => Spent }> {
  const { deps, scope, running, account } = execution;
  const { params, store, lease, recorder, deadline, gate } = running;
  let subSessions: ReturnType<Awaited<ReturnType<typeof loadDelegate>>["createDelegate"]> | null = null;
  const context: TurnContext = {
    signal: deadline.signal,
    keepOutput: (call, source) => withTouch(store.openOutput(lease, call, source), deadline),
    readOutput: (handle) => store.readOutput(storedIdentifier(handle)),
    delegate: async (request) => {
      const { createDelegate } = await loadDelegate();
      return (subSessions ??= createDelegate(execution)).delegate(request);
    },
    findFinishedTask: async (session, since) =>
      (await loadDelegate()).findFinishedTask(store, { parent: execution.session.id, session, since }),
    keepFiles,
    keepAlive: deadline.touch,
    reserve: (estimate) => account.reserve(estimate),
    count: (spent) => account.count(spent),
    ask: async (question) => (await loadAsk()).askPerson(running, question),
    canAsk: params.asks.how !== "none",
    takeInput: () => recorder.takeInputs(),
    registerPausable: (pausable) => gate.add(pausable),
    sendMessage: async (session, { id, text }) => (await deps.running.get(session)?.recorder.queueInput(text, id)) !== undefined,
    team: scope.team,
    ...(params.race === null ? {} : { adoptRacer: createAdoption(deps) }),
  };
  return { input: await inputOf(execution), context, spent: () => subSessions?.spent() ?? zeroSpent };
}

async function inputOf({ deps, scope, running, session, turn, cliSession }: TurnExecution): Promise<TurnInput> {
  const { params, store } = running;
  const path = await store.sessionPath(session.id);
  const traceEnv = await deps.traceEnv?.(turn, params.traceparent);
  return {
    ...params,
    ...(traceEnv === undefined ? {} : { env: { ...params.env, ...traceEnv } }),
    appendSystem: roleInstructions(params),
    session: session.id,
    root: scope.root ?? session.id,
    turn: turn.id,
    path: params.fresh ? path.slice(-1) : path,
    model: turn.model,
    directory: session.directory,
    project: session.project,
    sessionDefaults: { agent: session.agent, model: session.model },
    plan: session.plan ?? null,
    cliSession,
    tree: session.tree,
    logs: session.transcript?.replace(/\.jsonl$/, "") ?? null,
  };
}

/** Loaded with the first adoption: it needs the tree's operations, which this folder must not load. */
function createAdoption(deps: EngineDeps): NonNullable<TurnContext["adoptRacer"]> {
  return async (race, racer) => (await import("../races/adopt-race.ts")).adoptRacer(deps, race, racer, { dryRun: false });
}

/** Every chunk of output counts as activity, also between two events. */
function withTouch(sink: OutputSink, deadline: Deadline): OutputSink {
  return {
    write(chunk) {
      deadline.touch();
      sink.write(chunk);
    },
    close: (metadata, inlineBytes) => sink.close(metadata, inlineBytes),
  };
}
