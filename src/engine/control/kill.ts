// Stops the running turn of a session in any process: by a request over its socket, then by SIGTERM, then by SIGKILL.
// Records the end that a killed process could not record. No other process gets a signal.
import type { KillReport } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { pollUntil } from "../../kit/flow/sleep.ts";
import { resumeIfStopped } from "../../kit/process/freeze.ts";
import { descendantsOf, familyMembers, processStartTime, sendSignal as signalIfPresent } from "../../kit/process/processes.ts";
import type { ActiveHolder, Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { withTimeout } from "./owner.ts";
import { withLease } from "../tree/tree-ops.ts";

const defaultTimeouts = {
  /** For a turn to stop: a cancelled tool has 10 s to stop, and its executor 3 s to close. */
  stopMs: 15_000,
  /** For killed processes to disappear. */
  killMs: 3_000,
  /** For a turn to be recorded after it took its lease. */
  startMs: 1_000,
};
type KillTimeouts = typeof defaultTimeouts;

export async function killTurn(
  deps: EngineDeps,
  session: string,
  { force, mayContinue = false }: { force: boolean; mayContinue?: boolean | undefined },
  timeouts: KillTimeouts = defaultTimeouts,
): Promise<KillReport> {
  const store = await deps.store();
  const hasWaited = !mayContinue && (await store.stopContinuing(session));
  const holder = await findTurnHolder(store, session, timeouts);
  if (holder === null && (await store.openTurns(session)).length === 0)
    return createReport(store, session, hasWaited ? "stopped" : "not-running", null);
  if (holder !== null && holder.pid !== null) resumeIfStopped(holder.pid);
  // Listed before the stop, so that a turn that starts afterwards keeps its processes.
  const processes = identify(familyMembers({ root: null, envTag: `SKEIN_SESSION_ID=${session}` }));
  if (holder?.pid === process.pid) await stopLocal(deps, session, timeouts);
  else if (holder !== null && (force || !(await stopByRequest(deps, session, holder, timeouts)))) {
    const others = await findOtherSessions(store, holder, session);
    if (!force && others.length > 0) throw otherSessionsFault(holder, others);
    await stopBySignal(holder, session, force ? { ...timeouts, stopMs: 0 } : timeouts);
    // Taking the lease records the end of a turn whose process was killed.
    for (const other of others) await withLease(deps, other, async () => {});
  }
  await endProcesses(processes, timeouts);
  const isEndUnrecorded = (await store.openTurns(session)).length > 0;
  if (isEndUnrecorded) await withLease(deps, session, async () => {});
  return createReport(store, session, isEndUnrecorded ? "killed" : "stopped", holder?.pid ?? null);
}

/** Finds the process that holds the session for a turn. Waits, because a turn takes its lease a moment before the turn is recorded. */
async function findTurnHolder(store: Store, session: string, timeouts: KillTimeouts): Promise<ActiveHolder | null> {
  const hasTurn = async () => (await store.openTurns(session)).length > 0;
  const holder = await store.holder(session);
  if (holder === null || (await pollUntil(timeouts.startMs, hasTurn))) return holder;
  const current = await store.holder(session);
  if (current === null) return null;
  throw new Fault("session-busy", `process ${current.namedPid} works on this session, but runs no turn in it`, {
    hint: "it may be importing a transcript; wait until it has ended",
  });
}

/** Returns whether the turn's process stopped it after a request over its socket. */
async function stopByRequest(deps: EngineDeps, session: string, holder: ActiveHolder, timeouts: KillTimeouts): Promise<boolean> {
  if (holder.socket === null) return false;
  try {
    const api = await deps.connect(holder.socket);
    try {
      await withTimeout(api.turn.cancel({ session }), holder, session, timeouts.stopMs);
      return await pollUntil(timeouts.stopMs, async () => (await (await deps.store()).holder(session)) === null);
    } finally {
      await api.close();
    }
  } catch {
    return false; // The socket does not answer, so the caller sends a signal.
  }
}

/** Finds sessions that would end with the process, other than `session` and its sub-sessions. */
export async function findOtherSessions(store: Store, { pid }: ActiveHolder, session: string): Promise<string[]> {
  const turns = (await store.listTurns(null)).filter((turn) => turn.pid !== null && turn.pid === pid);
  const isSubSession = (id: string | null): boolean =>
    id !== null && (id === session || isSubSession(turns.find((turn) => turn.session.id === id)?.session.parentSession ?? null));
  return turns.map((turn) => turn.session.id).filter((id) => !isSubSession(id));
}

function otherSessionsFault({ namedPid }: ActiveHolder, others: string[]): Fault {
  return new Fault("session-busy", `process ${namedPid} does not answer, and also runs ${others.length} other sessions`, {
    hint: `--force ends these sessions too: ${others.map(shortId).join(", ")}`,
  });
}

async function stopLocal(deps: EngineDeps, session: string, timeouts: KillTimeouts): Promise<void> {
  const store = await deps.store();
  deps.running.stop(session);
  if (await pollUntil(timeouts.stopMs, async () => (await store.holder(session)) === null)) return;
  throw new Fault("session-busy", "the turn did not stop in time");
}

async function stopBySignal({ pid, namedPid, started }: ActiveHolder, session: string, timeouts: KillTimeouts): Promise<void> {
  if (pid === null) throw otherNamespaceFault(namedPid, `skein kill ${session}`);
  const isGone = async () => processStartTime(pid) !== started;
  if (timeouts.stopMs > 0) {
    sendSignal(pid, "SIGTERM");
    if (await pollUntil(timeouts.stopMs, isGone)) return;
  }
  const descendants = identify(descendantsOf(pid));
  sendSignal(pid, "SIGKILL");
  // The executor of a killed process ends its own commands. Commands that survive are killed here.
  if (await pollUntil(timeouts.killMs, async () => (await isGone()) && survivorsOf(descendants).length === 0)) return;
  await endProcesses(descendants, timeouts);
  if (await isGone()) return;
  throw new Fault("session-busy", `process ${pid} was killed and still exists`, { hint: "the process may be waiting for a device" });
}

export function otherNamespaceFault(pid: number, command: string): Fault {
  return new Fault("session-busy", `this session is run by process ${pid} of another container or pid namespace`, {
    hint: `${command} must be called there`,
  });
}

type IdentifiedProcess = { pid: number; started: string | null };

function identify(pids: number[]): IdentifiedProcess[] {
  return pids.map((pid) => ({ pid, started: processStartTime(pid) }));
}

function survivorsOf(processes: IdentifiedProcess[]): IdentifiedProcess[] {
  return processes.filter(({ pid, started }) => started !== null && processStartTime(pid) === started);
}

/**
 * Kills the processes that are still there, and waits for their end: background processes of earlier calls, and commands of
 * an executor that could not end them because it was stopped or traced.
 */
async function endProcesses(processes: IdentifiedProcess[], { killMs }: KillTimeouts): Promise<void> {
  for (const { pid } of survivorsOf(processes)) signalIfPresent(pid, "SIGKILL");
  await pollUntil(killMs, async () => survivorsOf(processes).length === 0);
}

function sendSignal(pid: number, signal: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return; // the process has ended
    throw new Fault("session-busy", `process ${pid}, which runs this session, belongs to another user`, { cause: error });
  }
}

async function createReport(store: Store, session: string, outcome: KillReport["outcome"], pid: number | null): Promise<KillReport> {
  return { session, outcome, pid, status: (await store.turnsOf(session)).at(-1)?.status ?? null };
}
