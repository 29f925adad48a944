// The lease of a session: one process at a time may write it. Every write checks the lease's epoch in its transaction.
// A holder is identified by boot id, pid namespace, pid and start time, so that the lease of an ended process is free.
// Works on one machine only: a lease with another boot id counts as free, even if its process runs on another machine.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { processStartTime } from "../../kit/process/processes.ts";
import { refuseArchived } from "../../protocol/api/archived.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Db } from "./db.ts";
import { errorCode } from "./faults.ts";
import { sessionRow, toSession } from "./rows/session-row.ts";
import type { Lease, ActiveHolder } from "../store.ts";

export type LeaseHolder = {
  /** Changes with every start of the machine. */
  boot: string;
  /** Empty on systems without pid namespaces. */
  namespace: string;
  pid: number;
  /** The start time of the process, as the system prints it. */
  started: string;
  /** Path of the socket on which the holder serves the Api. */
  socket: string | null;
};

/** Only a repair, which adds nothing to the session, may take the lease of an archived session. */
export function acquire(db: Db, session: string, holder: LeaseHolder, options: { mayBeArchived?: boolean } = {}): Promise<Lease> {
  return db.write(() => {
    const row = sessionRow(db, session);
    if (options.mayBeArchived !== true) refuseArchived(toSession(row));
    const current = currentLease(db, row.n);
    if (current && isHolderRunning(current, holder)) throw busyFault(row.name ?? row.id, current);
    const { boot, namespace, pid, started, socket } = holder;
    const { epoch } = db.row<{ epoch: number }>`
      insert into leases (session, epoch, boot, namespace, pid, started, socket, acquired_at)
        values (${row.n}, 1, ${boot}, ${namespace}, ${pid}, ${started}, ${socket}, ${Date.now()})
      on conflict (session) do update set epoch = epoch + 1, boot = excluded.boot, namespace = excluded.namespace,
        pid = excluded.pid, started = excluded.started, socket = excluded.socket, acquired_at = excluded.acquired_at, state = null
      returning epoch`!;
    return { session, epoch };
  });
}

/** Does nothing if the lease was already lost. */
export async function release(db: Db, lease: Lease): Promise<void> {
  const { epoch, session } = lease;
  await db.write(
    () => db.run`update leases set pid = null where epoch = ${epoch} and session = (select n from sessions where id = ${session})`,
  );
}

/** The session that a transaction writes to. `last`, `tip` and `seq` move with every write. */
export type WriteTarget = {
  n: number;
  id: string;
  tree: number;
  /** Number of the tree's last node. */
  last: number;
  /** 1 if the tree has nodes that are not indexed for search. */
  stale: number;
  tip: number | null;
  seq: number;
  epoch: number | null;
  pid: number | null;
};

/** Throws `lease-lost` unless the lease is current. Call it inside the transaction that writes. */
export function requireLease(db: Db, lease: Lease): WriteTarget {
  const target = db.row<WriteTarget>`
    select s.n, s.id, s.tree, t.last, t.stale, s.tip, s.seq, l.epoch, l.pid
    from sessions s join trees t on t.n = s.tree left join leases l on l.session = s.n where s.id = ${lease.session}`;
  if (target && target.pid !== null && target.epoch === lease.epoch) return target;
  throw new Fault(
    "lease-lost",
    `this process no longer holds the lease of session ${lease.session}: it was released or another process took it`,
    {
      hint: "open the session again to continue from the stored nodes",
    },
  );
}

export function isHeld(db: Db, session: number, self: LeaseHolder): boolean {
  const lease = currentLease(db, session);
  return lease !== null && isHolderRunning(lease, self);
}

/** The state that the holder stored for its turn. A wait is over when its time has passed; the holder stores nothing then. */
export function heldState(db: Db, session: number): { state: "running" | "paused" | "asking"; retryAt?: number } {
  const stored = db.row<{ state: string | null }>`select state from leases where session = ${session}`?.state ?? "running";
  if (stored === "paused" || stored === "asking") return { state: stored };
  const retryAt = Number(/^waiting (\d+)$/.exec(stored)?.[1] ?? 0);
  return retryAt > Date.now() ? { state: "running", retryAt } : { state: "running" };
}

/** The running process that holds the session; null if there is none. */
export function activeHolder(db: Db, session: string, self: LeaseHolder): ActiveHolder | null {
  const lease = currentLease(db, sessionRow(db, session).n);
  const pid = lease === null ? null : findProcess(lease, self);
  if (lease === null || pid === null) return null;
  return { pid: pid === invisible ? null : pid, namedPid: lease.pid, started: lease.started, socket: lease.socket };
}

/** This process, as its leases describe it to other processes. */
export function currentProcess(): LeaseHolder {
  return {
    boot: bootId(),
    namespace: pidNamespace(),
    pid: process.pid,
    started: processStartTime(process.pid) ?? "",
    socket: null,
  };
}

type HeldLease = LeaseHolder & { acquired_at: number };

function currentLease(db: Db, session: number): HeldLease | null {
  return db.row<HeldLease>`select * from leases where session = ${session} and pid is not null`;
}

function isHolderRunning(holder: LeaseHolder, self: LeaseHolder): boolean {
  return findProcess(holder, self) !== null;
}

export const invisible = -1;

/**
 * The pid of the holder as this process sees it. Null if the holder has ended.
 * `invisible` if this process can't read the holder's pid namespace; the holder then counts as running.
 */
export function findProcess(holder: LeaseHolder, self: LeaseHolder): number | null {
  // The machine was restarted after the holder took the lease.
  if (holder.boot !== self.boot) return null;
  if (holder.namespace !== self.namespace) return findInOtherNamespace(holder, self);
  const started = processStartTime(holder.pid);
  const isRunning = started === null ? isOfOtherUser(holder.pid) : started === holder.started;
  return isRunning ? holder.pid : null;
}

/** Only the outermost namespace sees the processes of all others, with their inner pids. */
function findInOtherNamespace(holder: LeaseHolder, self: LeaseHolder): number | null {
  if (self.namespace !== outermost || processStartTime(1) === null) return invisible;
  const isHolder = (name: string) =>
    /^\d+$/.test(name) && innerPid(name) === holder.pid && processStartTime(Number(name)) === holder.started;
  const pid = readdirSync("/proc").find(isHolder);
  return pid === undefined ? null : Number(pid);
}

/** The fixed inode of the first pid namespace of Linux. */
const outermost = "pid:[4026531836]";

function innerPid(pid: string): number | null {
  try {
    return Number(/^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return null;
  }
}

/** Whether the process exists but belongs to another user, so that its start time can't be read. */
function isOfOtherUser(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

function busyFault(name: string, lease: HeldLease): Fault {
  const since = new Date(lease.acquired_at).toISOString();
  return new Fault("session-busy", `session ${name} is in use by process ${lease.pid} since ${since}`, {
    hint: "run it afterwards with --queue, or continue in a copy with --fork",
  });
}

function bootId(): string {
  if (process.platform === "darwin") return bootSessionOfMac() ?? "";
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

export function pidNamespace(): string {
  return process.platform === "darwin" ? "" : readlinkSync("/proc/self/ns/pid");
}

function bootSessionOfMac(): string | null {
  const { exitCode, stdout } = Bun.spawnSync(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"], {
    stdin: "ignore",
    stderr: "ignore",
    env: { LC_ALL: "C" },
  });
  const text = stdout.toString().trim();
  return exitCode === 0 && text !== "" ? text : null;
}
