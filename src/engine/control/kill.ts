// Stops the running turn of a session in any process: by a request over its socket, then by SIGTERM, then by SIGKILL.
// Records the end that a killed process could not record. It touches no other process.
import type { KillReport } from "../../protocol/api/api.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { pollUntil } from "../../kit/flow/sleep.ts";
import { wake } from "../../kit/process/freeze.ts";
import { descendantsOf, processStartTime } from "../../kit/process/processes.ts";
import type { ActiveHolder, Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { withTimeout } from "./owner.ts";
import { withLease } from "../tree/tree-ops.ts";

// A cancelled tool has 10 s to stop and its executor 3 s to close.
const defaultTimeouts = { stopMs: 15_000, killMs: 3_000, startMs: 1_000 };
type KillTimeouts = typeof defaultTimeouts;

export async function killTurn(
  deps: EngineDeps,
  session: string,
  { force }: { force: boolean },
  timeouts: KillTimeouts = defaultTimeouts,
): Promise<KillReport> {
  const store = await deps.store();
  const holder = await turnHolder(store, session, timeouts);
  if (holder === null && (await store.openTurns(session)).length === 0) return reportOf(store, session, "not-running", null);
  if (holder !== null && holder.pid !== null) wake(holder.pid);
  if (holder?.pid === process.pid) await stopLocal(deps, session, timeouts);
  else if (holder !== null && (force || !(await stopByRequest(deps, session, holder, timeouts)))) {
    const others = await otherSessionsOf(store, holder, session);
    if (!force && others.length > 0) throw otherSessionsRun(holder, others);
    await stopBySignal(holder, session, force ? { ...timeouts, stopMs: 0 } : timeouts);
    for (const other of others) await withLease(deps, other, async () => {});
  }
  const isUnrecorded = (await store.openTurns(session)).length > 0;
  if (isUnrecorded) await withLease(deps, session, async () => {});
  return reportOf(store, session, isUnrecorded ? "killed" : "stopped", holder?.pid ?? null);
}

/** The process that holds the session for a turn. A turn takes the lease a moment before it is recorded. */
async function turnHolder(store: Store, session: string, timeouts: KillTimeouts): Promise<ActiveHolder | null> {
  const hasTurn = async () => (await store.openTurns(session)).length > 0;
  const holder = await store.holder(session);
  if (holder === null || (await pollUntil(timeouts.startMs, hasTurn))) return holder;
  const current = await store.holder(session);
  if (current === null) return null;
  throw new Fault("session-busy", `process ${current.namedPid} works on this session, but runs no turn in it`, {
    hint: "it may be an import; wait for its end",
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

/** Sessions that would end with the process, without the sub-sessions of `session`. */
export async function otherSessionsOf(store: Store, { pid }: ActiveHolder, session: string): Promise<string[]> {
  const turns = (await store.listTurns(null)).filter((turn) => turn.pid !== null && turn.pid === pid);
  const isSubSession = (id: string | null): boolean =>
    id !== null && (id === session || isSubSession(turns.find((turn) => turn.session.id === id)?.session.parentSession ?? null));
  return turns.map((turn) => turn.session.id).filter((id) => !isSubSession(id));
}

function otherSessionsRun({ namedPid }: ActiveHolder, others: string[]): Fault {
  return new Fault("session-busy", `process ${namedPid} does not answer, and runs ${others.length} other sessions too`, {
    hint: `--force ends them all: ${others.map(shortId).join(", ")}`,
  });
}

async function stopLocal(deps: EngineDeps, session: string, timeouts: KillTimeouts): Promise<void> {
  const store = await deps.store();
  deps.running.stop(session);
  if (await pollUntil(timeouts.stopMs, async () => (await store.holder(session)) === null)) return;
  throw new Fault("session-busy", "the turn did not stop in time");
}

async function stopBySignal({ pid, namedPid, started }: ActiveHolder, session: string, timeouts: KillTimeouts): Promise<void> {
  if (pid === null) {
    throw new Fault("session-busy", `this session is run by process ${namedPid} of another container or pid namespace`, {
      hint: `skein kill ${session} must be called there`,
    });
  }
  const isGone = async () => processStartTime(pid) !== started;
  if (timeouts.stopMs > 0) {
    send(pid, "SIGTERM");
    if (await pollUntil(timeouts.stopMs, isGone)) return;
  }
  const descendants = descendantsOf(pid).map((child) => ({ child, started: processStartTime(child) }));
  send(pid, "SIGKILL");
  // Its executor notices and ends its processes. Survivors are killed here.
  const survivors = () => descendants.filter(({ child, started: since }) => since !== null && processStartTime(child) === since);
  if (await pollUntil(timeouts.killMs, async () => (await isGone()) && survivors().length === 0)) return;
  for (const { child } of survivors()) send(child, "SIGKILL");
  if (await isGone()) return;
  throw new Fault("session-busy", `process ${pid} was killed and still exists`, { hint: "it may be waiting for a device" });
}

function send(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return; // it has ended
    throw new Fault("session-busy", `process ${pid}, which runs this session, belongs to another user`, { cause: error });
  }
}

async function reportOf(store: Store, session: string, outcome: KillReport["outcome"], pid: number | null): Promise<KillReport> {
  return { session, outcome, pid, status: (await store.turnsOf(session)).at(-1)?.status ?? null };
}
