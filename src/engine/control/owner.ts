// Finds the owner of a session, the process that runs its turn, and calls it. The owner may be this process, another
// one with a socket, or none.
import { isStopped } from "../../kit/process/processes.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { Api } from "../../protocol/api/api.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { ActiveHolder } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import type { RunningTurn } from "../turn/running-turns.ts";

export type OwnerActions<T> = {
  local: (turn: RunningTurn) => T | Promise<T>;
  remote: (api: Api, holder: ActiveHolder) => Promise<T>;
  idle: () => T | Promise<T>;
  /** Whether a second request is harmless if it is unknown whether the first one arrived. */
  mayRepeat?: boolean;
};

export async function callOwner<T>(deps: EngineDeps, session: string, actions: OwnerActions<T>): Promise<T> {
  const turn = await findLocalTurn(deps, session);
  if (turn !== undefined) {
    try {
      return await actions.local(turn);
    } catch (error) {
      // The turn has just ended, so the session may have another owner or none.
      if (!(error instanceof Fault && error.code === "lease-lost") || !(await isOver(deps, turn))) throw error;
      return callOwner(deps, session, actions);
    }
  }
  const holder = await (await deps.store()).holder(session);
  if (holder === null || holder.pid === process.pid) return actions.idle();
  let api: Api | null = null;
  try {
    api = await connectToHolder(deps, session, holder);
    return await withTimeout(actions.remote(api, holder), holder, session);
  } catch (error) {
    const isUnreachable = error instanceof Fault && error.code === "owner-unreachable";
    if (!isUnreachable || (api !== null && actions.mayRepeat !== true) || !(await isGone(deps, session, holder))) throw error;
    return callOwner(deps, session, actions); // the owner has just ended
  } finally {
    await api?.close();
  }
}

async function isGone(deps: EngineDeps, session: string, holder: ActiveHolder): Promise<boolean> {
  return (await (await deps.store()).holder(session))?.started !== holder.started;
}

const startTimeoutMs = 1_000;
const endTimeoutMs = 1_000;

/** Waits for the end of the turn: it releases its lease a moment before. */
async function isOver(deps: EngineDeps, turn: RunningTurn): Promise<boolean> {
  const timeoutAt = performance.now() + endTimeoutMs;
  while (deps.running.get(turn.lease.session) === turn && performance.now() < timeoutAt) await Bun.sleep(5);
  return deps.running.get(turn.lease.session) !== turn;
}

/**
 * The turn of this process. Waits for a turn that is starting: it takes the lease a moment before it is registered.
 * A lease for anything else never becomes a turn.
 */
async function findLocalTurn(deps: EngineDeps, session: string): Promise<RunningTurn | undefined> {
  const timeoutAt = performance.now() + startTimeoutMs;
  for (;;) {
    const turn = deps.running.get(session);
    if (turn !== undefined || performance.now() >= timeoutAt) return turn;
    if (!deps.running.isExpected(session) && (await (await deps.store()).holder(session))?.pid !== process.pid) return undefined;
    await Bun.sleep(5);
  }
}

const connectTimeoutMs = 3_000;
const answerTimeoutMs = 15_000;

/** Retries, because a turn that has just started does not listen yet. */
export async function connectToHolder(deps: EngineDeps, session: string, holder: ActiveHolder): Promise<Api> {
  const { socket } = holder;
  if (socket === null) throw unreachable(holder, session, "it was started without a socket");
  // The kernel accepts connections for a stopped process, but nothing would answer.
  if (isHolderStopped(holder)) throw unreachable(holder, session, "it is stopped");
  const timeoutAt = performance.now() + connectTimeoutMs;
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 2, 200)) {
    try {
      return await deps.connect(socket);
    } catch (error) {
      if ((await isGone(deps, session, holder)) || performance.now() >= timeoutAt) throw unreachable(holder, session, messageOf(error));
    }
    await Bun.sleep(waitMs);
  }
}

/** Rejects after `limitMs`. The owner may still carry out the request later. */
export async function withTimeout<T>(answer: Promise<T>, holder: ActiveHolder, session: string, limitMs = answerTimeoutMs): Promise<T> {
  const late = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => late.reject(unreachable(holder, session, isHolderStopped(holder) ? "it is stopped" : "it does not answer")),
    limitMs,
  );
  try {
    return await Promise.race([answer, late.promise]);
  } catch (error) {
    if (!(error instanceof Fault && error.code === "connection-lost")) throw error;
    throw unreachable(holder, session, `the connection was lost before it answered (${error.message})`);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether the process was stopped by SIGSTOP: by `pause --force`, or in its terminal. */
export function isHolderStopped(holder: ActiveHolder): holder is ActiveHolder & { pid: number } {
  return holder.pid !== null && isStopped(holder.pid);
}

function unreachable(holder: ActiveHolder, session: string, why: string): Fault {
  const hint = isHolderStopped(holder) ? `skein resume ${shortId(session)} resumes it` : `skein kill ${shortId(session)} --force ends it`;
  return new Fault("owner-unreachable", `process ${holder.namedPid} runs session ${session} and can't be reached: ${why}`, { hint });
}
