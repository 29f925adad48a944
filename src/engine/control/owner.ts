// Whoever runs a session's turn: this process, another one that can be asked over its socket, or nobody.
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
  /** Whether asking a second time does no harm, where it is not known if the first was heard. */
  mayRepeat?: boolean;
};

export async function callOwner<T>(deps: EngineDeps, session: string, ways: OwnerActions<T>): Promise<T> {
  const turn = await turnHere(deps, session);
  if (turn !== undefined) {
    try {
      return await ways.local(turn);
    } catch (error) {
      // It has just ended: whoever comes after it is asked, or nobody.
      if (!(error instanceof Fault && error.code === "lease-lost") || !(await isOver(deps, turn))) throw error;
      return callOwner(deps, session, ways);
    }
  }
  const holder = await (await deps.store()).holder(session);
  if (holder === null || holder.pid === process.pid) return ways.idle();
  let api: Api | null = null;
  try {
    api = await connectToHolder(deps, session, holder);
    return await withTimeout(ways.remote(api, holder), holder, session);
  } catch (error) {
    const isUnreachable = error instanceof Fault && error.code === "owner-unreachable";
    if (!isUnreachable || (api !== null && ways.mayRepeat !== true) || !(await isGone(deps, session, holder))) throw error;
    return callOwner(deps, session, ways); // it has just ended
  } finally {
    await api?.close();
  }
}

async function isGone(deps: EngineDeps, session: string, holder: ActiveHolder): Promise<boolean> {
  return (await (await deps.store()).holder(session))?.started !== holder.started;
}

const beginMs = 1_000;
const endMs = 1_000;

/** A turn gives its session up a moment before it is gone. */
async function isOver(deps: EngineDeps, turn: RunningTurn): Promise<boolean> {
  const giveUpAt = performance.now() + endMs;
  while (deps.running.get(turn.lease.session) === turn && performance.now() < giveUpAt) await Bun.sleep(5);
  return deps.running.get(turn.lease.session) !== turn;
}

/**
 * A turn takes its session a moment before it begins, and gives it up before the next message's turn; who holds it for
 * something else never begins one.
 */
async function turnHere(deps: EngineDeps, session: string): Promise<RunningTurn | undefined> {
  const giveUpAt = performance.now() + beginMs;
  for (;;) {
    const turn = deps.running.get(session);
    if (turn !== undefined || performance.now() >= giveUpAt) return turn;
    if (!deps.running.isExpected(session) && (await (await deps.store()).holder(session))?.pid !== process.pid) return undefined;
    await Bun.sleep(5);
  }
}

const patienceMs = 3_000;
const answerMs = 15_000;

/** A turn that has just begun is not listening yet. */
export async function connectToHolder(deps: EngineDeps, session: string, holder: ActiveHolder): Promise<Api> {
  const { socket } = holder;
  if (socket === null) throw unreachable(holder, session, "it was started without a socket");
  // Its socket takes connections, and nobody would answer.
  if (isHolderStopped(holder)) throw unreachable(holder, session, "it is stopped");
  const giveUpAt = performance.now() + patienceMs;
  for (let waitMs = 5; ; waitMs = Math.min(waitMs * 2, 200)) {
    try {
      return await deps.connect(socket);
    } catch (error) {
      if ((await isGone(deps, session, holder)) || performance.now() >= giveUpAt) throw unreachable(holder, session, messageOf(error));
    }
    await Bun.sleep(waitMs);
  }
}

/** What an owner is asked it does at once, or it hangs. Whether it will still do it is not known then. */
export async function withTimeout<T>(answer: Promise<T>, holder: ActiveHolder, session: string, limitMs = answerMs): Promise<T> {
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

/** Stopped from outside: by `pause --force`, or in its terminal. */
export function isHolderStopped(holder: ActiveHolder): holder is ActiveHolder & { pid: number } {
  return holder.pid !== null && isStopped(holder.pid);
}

function unreachable(holder: ActiveHolder, session: string, why: string): Fault {
  const hint = isHolderStopped(holder)
    ? `skein resume ${shortId(session)} lets it go on`
    : `skein kill ${shortId(session)} --force ends it`;
  return new Fault("owner-unreachable", `process ${holder.namedPid} runs session ${session} and can't be asked: ${why}`, { hint });
}
