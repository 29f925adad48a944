// Stops the turn that runs in a session, whichever process runs it: asks that process over its socket, then by a signal,
// kills it when it does not listen, and records what it could not record itself. It touches no other process.
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
const patience = { askedMs: 15_000, killedMs: 3_000, startingMs: 1_000 };
type KillTimeouts = typeof patience;

export async function killTurn(
  deps: EngineDeps,
  session: string,
  { force }: { force: boolean },
  limits: KillTimeouts = patience,
): Promise<KillReport> {
  const store = await deps.store();
  const holder = await turnHolder(store, session, limits);
  if (holder === null && (await store.openTurns(session)).length === 0) return report(store, session, "not-running", null);
  if (holder !== null && holder.pid !== null) wake(holder.pid);
  if (holder?.pid === process.pid) await cancelled(deps, session, limits);
  else if (holder !== null && (force || !(await stoppedThere(deps, session, holder, limits)))) {
    const others = await otherSessionsOf(store, holder, session);
    if (!force && others.length > 0) throw notAlone(holder, others);
    await ended(holder, session, force ? { ...limits, askedMs: 0 } : limits);
    for (const other of others) await withLease(deps, other, async () => {});
  }
  const isUnrecorded = (await store.openTurns(session)).length > 0;
  if (isUnrecorded) await withLease(deps, session, async () => {});
  return report(store, session, isUnrecorded ? "killed" : "stopped", holder?.pid ?? null);
}

/** Who holds the session for a turn. A turn that was just asked for takes the session first, and is recorded then. */
async function turnHolder(store: Store, session: string, limits: KillTimeouts): Promise<ActiveHolder | null> {
  const hasTurn = async () => (await store.openTurns(session)).length > 0;
  const holder = await store.holder(session);
  if (holder === null || (await pollUntil(limits.startingMs, hasTurn))) return holder;
  const still = await store.holder(session);
  if (still === null) return null;
  throw new Fault("session-busy", `process ${still.namedPid} works on this session, but runs no turn in it`, {
    hint: "an import, for one; wait for it to end",
  });
}

/** Whether the process that runs it was asked over its socket, and did it. */
async function stoppedThere(deps: EngineDeps, session: string, holder: ActiveHolder, limits: KillTimeouts): Promise<boolean> {
  if (holder.socket === null) return false;
  try {
    const api = await deps.connect(holder.socket);
    try {
      await withTimeout(api.turn.cancel({ session }), holder, session, limits.askedMs);
      return await pollUntil(limits.askedMs, async () => (await (await deps.store()).holder(session)) === null);
    } finally {
      await api.close();
    }
  } catch {
    return false; // Nobody answers there: a signal is the next thing to try.
  }
}

/** Sessions that would end with it; those below the one that is meant don't count. */
export async function otherSessionsOf(store: Store, { pid }: ActiveHolder, session: string): Promise<string[]> {
  const rows = (await store.listTurns(null)).filter((row) => row.pid !== null && row.pid === pid);
  const isBelow = (id: string | null): boolean =>
    id !== null && (id === session || isBelow(rows.find((row) => row.session.id === id)?.session.parentSession ?? null));
  return rows.map((row) => row.session.id).filter((id) => !isBelow(id));
}

function notAlone({ namedPid }: ActiveHolder, others: string[]): Fault {
  return new Fault("session-busy", `process ${namedPid} does not answer, and runs ${others.length} other sessions too`, {
    hint: `--force ends them all: ${others.map(shortId).join(", ")}`,
  });
}

async function cancelled(deps: EngineDeps, session: string, limits: KillTimeouts): Promise<void> {
  const store = await deps.store();
  deps.running.stop(session);
  if (await pollUntil(limits.askedMs, async () => (await store.holder(session)) === null)) return;
  throw new Fault("session-busy", "the turn was told to stop and still runs");
}

async function ended({ pid, namedPid, started }: ActiveHolder, session: string, limits: KillTimeouts): Promise<void> {
  if (pid === null) {
    throw new Fault("session-busy", `this session is run by process ${namedPid} of another container or pid namespace`, {
      hint: `skein kill ${session} must be called there`,
    });
  }
  const isGone = async () => processStartTime(pid) !== started;
  if (limits.askedMs > 0) {
    send(pid, "SIGTERM");
    if (await pollUntil(limits.askedMs, isGone)) return;
  }
  const below = descendantsOf(pid).map((child) => ({ child, began: processStartTime(child) }));
  send(pid, "SIGKILL");
  // Its executor notices and ends all it has started; what does not notice is ended here.
  const left = () => below.filter(({ child, began }) => began !== null && processStartTime(child) === began);
  if (await pollUntil(limits.killedMs, async () => (await isGone()) && left().length === 0)) return;
  for (const { child } of left()) send(child, "SIGKILL");
  if (await isGone()) return;
  throw new Fault("session-busy", `process ${pid} was killed and is still there`, { hint: "it may be waiting for a device" });
}

function send(pid: number, name: "SIGTERM" | "SIGKILL"): void {
  try {
    process.kill(pid, name);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "EPERM") return; // it has ended
    throw new Fault("session-busy", `process ${pid}, which runs this session, belongs to another user`, { cause: error });
  }
}

async function report(store: Store, session: string, outcome: KillReport["outcome"], pid: number | null): Promise<KillReport> {
  return { session, outcome, pid, status: (await store.turnsOf(session)).at(-1)?.status ?? null };
}
