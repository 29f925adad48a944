// Finds the owner of a session, which is the process that runs its turn, and calls it. The owner may be this process,
// another one with a socket, or none. In the store, the owner is the holder of the session's lease.
import { pollUntil } from "../../kit/flow/sleep.ts";
import { isStopped } from "../../kit/process/processes.ts";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import type { Api } from "../../protocol/api/api.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { ActiveHolder } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import type { RunningTurn } from "../turn/running-turns.ts";

export type OwnerActions<T> = {
  /** Called if this process runs the turn. */
  local: (turn: RunningTurn) => T | Promise<T>;
  /** Called if another process runs the turn. */
  remote: (api: Api) => Promise<T>;
  /** Called if no turn runs. */
  idle: () => T | Promise<T>;
  /** True if the request may be sent again after the connection was lost. The first one may have arrived. */
  mayRepeat?: boolean;
};

export async function callOwner<T>(deps: EngineDeps, session: string, actions: OwnerActions<T>): Promise<T> {
  const turn = await findLocalTurn(deps, session);
  if (turn !== undefined) {
    try {
      return await actions.local(turn);
    } catch (error) {
      // The turn has just ended, so the session may have another owner or none.
      if (!(error instanceof Fault && error.code === "lease-lost") || !(await waitForEnd(deps, turn))) throw error;
      return callOwner(deps, session, actions);
    }
  }
  const holder = await (await deps.store()).holder(session);
  if (holder === null || holder.pid === process.pid) return actions.idle();
  let api: Api | null = null;
  try {
    api = await connectToHolder(deps, session, holder);
    return await withTimeout(actions.remote(api), holder, session);
  } catch (error) {
    const isUnreachable = error instanceof Fault && error.code === "owner-unreachable";
    if (!isUnreachable || (api !== null && actions.mayRepeat !== true) || !(await hasOwnerChanged(deps, session, holder))) throw error;
    return callOwner(deps, session, actions); // the owner has just ended
  } finally {
    await api?.close();
  }
}

async function hasOwnerChanged(deps: EngineDeps, session: string, holder: ActiveHolder): Promise<boolean> {
  return (await (await deps.store()).holder(session))?.started !== holder.started;
}

const startTimeoutMs = 1_000;
const endTimeoutMs = 1_000;

/** Returns whether the turn ended in time. A turn releases its lease a moment before it ends. */
async function waitForEnd(deps: EngineDeps, turn: RunningTurn): Promise<boolean> {
  return pollUntil(endTimeoutMs, async () => deps.running.get(turn.lease.session) !== turn);
}

/**
 * Finds the turn of this process. Waits for a turn that is starting, which takes its lease a moment before it is registered.
 * The wait is limited, because the lease may be for other work than a turn.
 */
async function findLocalTurn(deps: EngineDeps, session: string): Promise<RunningTurn | undefined> {
  const timeoutAt = performance.now() + startTimeoutMs;
  for (;;) {
    const turn = deps.running.get(session);
    if (turn !== undefined || performance.now() >= timeoutAt) return turn;
    if (!deps.running.isRequested(session) && (await (await deps.store()).holder(session))?.pid !== process.pid) return undefined;
    await Bun.sleep(5);
  }
}

const connectTimeoutMs = 3_000;
const answerTimeoutMs = 15_000;

/** Retries, because a turn that has just started does not listen yet. */
export async function connectToHolder(deps: EngineDeps, session: string, holder: ActiveHolder): Promise<Api> {
  const { socket } = holder;
  if (socket === null) throw unreachableFault(holder, session, "it was started without a socket");
  // The kernel accepts connections for a suspended process, but nothing would answer.
  if (isHolderSuspended(holder)) throw unreachableFault(holder, session, "it is suspended");
  const timeoutAt = performance.now() + connectTimeoutMs;
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 2, 200)) {
    try {
      return await deps.connect(socket);
    } catch (error) {
      if ((await hasOwnerChanged(deps, session, holder)) || performance.now() >= timeoutAt)
        throw unreachableFault(holder, session, messageOf(error));
    }
    await Bun.sleep(waitMs);
  }
}

/** Rejects after `limitMs`. The owner may still carry out the request later. */
export async function withTimeout<T>(answer: Promise<T>, holder: ActiveHolder, session: string, limitMs = answerTimeoutMs): Promise<T> {
  const timeout = Promise.withResolvers<never>();
  const timer = setTimeout(
    () => timeout.reject(unreachableFault(holder, session, isHolderSuspended(holder) ? "it is suspended" : "it does not answer")),
    limitMs,
  );
  try {
    return await Promise.race([answer, timeout.promise]);
  } catch (error) {
    if (!(error instanceof Fault && error.code === "connection-lost")) throw error;
    throw unreachableFault(holder, session, `the connection was lost before it answered (${error.message})`);
  } finally {
    clearTimeout(timer);
  }
}

/** Whether a signal suspended the process: by `pause --force`, or in its terminal. */
export function isHolderSuspended(holder: ActiveHolder): holder is ActiveHolder & { pid: number } {
  return holder.pid !== null && isStopped(holder.pid);
}

function unreachableFault(holder: ActiveHolder, session: string, why: string): Fault {
  const hint = isHolderSuspended(holder) ? `skein resume ${shortId(session)} resumes it` : `skein kill ${shortId(session)} --force ends it`;
  return new Fault("owner-unreachable", `process ${holder.namedPid} runs session ${session} and can't be reached: ${why}`, { hint });
}
