// Takes and releases leases, and finds the process that holds a session. A process of this boot is looked up here, so that
// the lease of a killed process is free at once; a process of another machine lives as long as its heartbeat does.
import { refuseArchived } from "../../../protocol/api/archived.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { findProcess, invisible, type LeaseHolder } from "../../sqlite/lease.ts";
import type { ActiveHolder, Lease } from "../../store.ts";
import type { PgDb } from "../connection/connection.ts";
import { sql } from "../../sqlite/sql.ts";
import type { Worker } from "./worker.ts";

/** The row of a process that holds a session. */
export type WorkerRow = Omit<LeaseHolder, "socket"> & { id: string; machine: string; address: string | null };

type Acquired = { epoch?: number; archived?: true; unregistered?: true; name?: string; since?: number; holder?: WorkerRow };

/** One round trip, unless the holder is a process of this boot that has ended. */
export async function acquire(db: PgDb, worker: Worker, session: string, options: { mayBeArchived?: boolean } = {}): Promise<Lease> {
  await worker.register();
  return worker.acquiring(async () => {
    let dead: string | null = null;
    for (;;) {
      const answer: Acquired = await db.call<Acquired>("acquire", session, worker.id, dead, options.mayBeArchived === true);
      if (answer.epoch !== undefined) {
        const lease = { session, epoch: answer.epoch };
        worker.hold(lease);
        return lease;
      }
      if (answer.archived) refuseArchived({ id: session, name: answer.name ?? session, archivedAt: 0 });
      if (answer.unregistered) await worker.beat();
      else if (dead === null && answer.holder !== undefined && hasEnded(answer.holder, worker.self)) dead = answer.holder.id;
      else throw busyFault(answer, worker.self);
    }
  });
}

export async function release(db: PgDb, worker: Worker, lease: Lease): Promise<void> {
  worker.drop(lease);
  await db.call("release", lease.session, lease.epoch);
}

/** The columns of `HeldRow`, of a session `s`, for a query that joins nothing else. */
export const holderColumns = sql`s.state as held_state,
  (select row_to_json(w) from skein.workers w where w.id = s.holder and skein.is_living(w.id)) as worker`;

export type HeldRow = { held_state: string | null; worker: WorkerRow | null };

/** The running process that holds the session of the row. Null if there is none. */
export function activeHolder({ worker }: HeldRow, self: LeaseHolder): ActiveHolder | null {
  if (worker === null) return null;
  const { id, machine, address, started } = worker;
  const holder = { namedPid: worker.pid, started, machine, worker: id };
  if (worker.boot !== self.boot) return { ...holder, pid: null, socket: `fleet:${id}` };
  const pid = findProcess({ ...worker, socket: address }, self);
  if (pid === null) return null;
  return pid === invisible ? { ...holder, pid: null, socket: `fleet:${id}` } : { ...holder, pid, socket: address };
}

export async function holder(db: PgDb, self: LeaseHolder, session: string): Promise<ActiveHolder | null> {
  const row = await db.row<HeldRow>(
    sql`select ${holderColumns} from skein.sessions s where s.n = skein.number_of_session(${session}::text)`,
  );
  return row && activeHolder(row, self);
}

function hasEnded(row: WorkerRow, self: LeaseHolder): boolean {
  return row.boot === self.boot && findProcess({ ...row, socket: null }, self) === null;
}

function busyFault({ name, since, holder }: Acquired, self: LeaseHolder): Fault {
  const where = holder === undefined || holder.boot === self.boot ? "" : ` on ${holder.machine}`;
  const time = new Date(since ?? 0).toISOString();
  return new Fault("session-busy", `session ${name} is in use by process ${holder?.pid}${where} since ${time}`, {
    hint: "run it afterwards with --queue, or continue in a copy with --fork",
  });
}
