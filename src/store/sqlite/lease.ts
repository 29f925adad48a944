// Who writes a session: one process at a time, known by machine start, pid namespace, pid and start time, so that
// a dead holder can't keep it. Every write checks the epoch here, inside its own transaction.
import { readdirSync, readFileSync, readlinkSync } from "node:fs";
import { processStartTime } from "../../kit/process/processes.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Db } from "./db.ts";
import { errorCode } from "./faults.ts";
import { sessionRow } from "./rows.ts";
import type { Lease, ActiveHolder } from "../store.ts";

export type LeaseHolder = {
  boot: string;
  /** Empty where there are no pid namespaces. */
  namespace: string;
  pid: number;
  /** When the process began, in the system's own words. */
  started: string;
  /** Where the holder can be talked to. */
  socket: string | null;
};

export function acquire(db: Db, session: string, holder: LeaseHolder): Lease {
  return db.write(() => {
    const row = sessionRow(db, session);
    const held = heldLease(db, row.n);
    if (held && isAlive(held, holder)) throw busy(row.name ?? row.id, held);
    const { epoch } = db
      .query<{ epoch: number }>(
        `insert into leases (session, epoch, boot, namespace, pid, started, socket, acquired_at) values (?, 1, ?, ?, ?, ?, ?, ?)
         on conflict (session) do update set epoch = epoch + 1, boot = excluded.boot, namespace = excluded.namespace,
           pid = excluded.pid, started = excluded.started, socket = excluded.socket, acquired_at = excluded.acquired_at, state = null
         returning epoch`,
      )
      .get(row.n, holder.boot, holder.namespace, holder.pid, holder.started, holder.socket, Date.now())!;
    return { session, epoch };
  });
}

/** Gives the session up; a lease that was already lost is not an error. */
export function release(db: Db, lease: Lease): void {
  db.write(() =>
    db
      .query("update leases set pid = null where epoch = ? and session = (select n from sessions where id = ?)")
      .run(lease.epoch, lease.session),
  );
}

/** Where a session stands: its row, its tree with the place of that tree's last node, its tip and its last event. */
export type WriteTarget = {
  n: number;
  tree: number;
  last: number;
  stale: number;
  tip: number | null;
  seq: number;
  epoch: number | null;
  pid: number | null;
};

/** The session to write to, or `lease-lost`. Call it inside the transaction that writes. */
export function requireLease(db: Db, lease: Lease): WriteTarget {
  const ground = db
    .query<WriteTarget>(
      `select s.n, s.tree, t.last, t.stale, s.tip, s.seq, l.epoch, l.pid
       from sessions s join trees t on t.n = s.tree left join leases l on l.session = s.n where s.id = ?`,
    )
    .get(lease.session);
  if (ground && ground.pid !== null && ground.epoch === lease.epoch) return ground;
  throw new Fault("lease-lost", `This process no longer writes session ${lease.session}: it was given up or taken over.`, {
    hint: "Open the session again to go on with what is recorded.",
  });
}

export function isHeld(db: Db, session: number, self: LeaseHolder): boolean {
  const held = heldLease(db, session);
  return held !== null && isAlive(held, self);
}

/** What the holder says of its turn. */
export function heldState(db: Db, session: number): "running" | "paused" | "asking" {
  return db.query<{ state: "paused" | "asking" | null }>("select state from leases where session = ?").get(session)?.state ?? "running";
}

/** The living process that holds the session, as it is seen from here. */
export function activeHolder(db: Db, session: string, self: LeaseHolder): ActiveHolder | null {
  const held = heldLease(db, sessionRow(db, session).n);
  const pid = held === null ? null : livingPid(held, self);
  if (held === null || pid === null) return null;
  return { pid: pid === outOfSight ? null : pid, namedPid: held.pid, started: held.started, socket: held.socket };
}

/** This process, as other processes will judge it. */
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

function heldLease(db: Db, session: number): HeldLease | null {
  return db.query<HeldLease>("select * from leases where session = ? and pid is not null").get(session);
}

function isAlive(held: LeaseHolder, self: LeaseHolder): boolean {
  return livingPid(held, self) !== null;
}

const outOfSight = -1;

/** Null for a dead holder; `outOfSight` for one that may well be alive where this process can't look. */
function livingPid(held: LeaseHolder, self: LeaseHolder): number | null {
  if (held.boot !== self.boot) return null;
  if (held.namespace !== self.namespace) return livingElsewhere(held, self);
  const started = processStartTime(held.pid);
  const isThere = started === null ? isHidden(held.pid) : started === held.started;
  return isThere ? held.pid : null;
}

/** The outermost namespace shows every process, with its pid in its own; from any other one the holder may well be alive. */
function livingElsewhere(held: LeaseHolder, self: LeaseHolder): number | null {
  if (self.namespace !== outermost || processStartTime(1) === null) return outOfSight;
  const isHolder = (name: string) => /^\d+$/.test(name) && innerPid(name) === held.pid && processStartTime(Number(name)) === held.started;
  const found = readdirSync("/proc").find(isHolder);
  return found === undefined ? null : Number(found);
}

const outermost = "pid:[4026531836]";

function innerPid(pid: string): number | null {
  try {
    return Number(/^NSpid:.*\s(\d+)$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  } catch {
    return null;
  }
}

/** Whether a process exists that belongs to someone else and shows nothing of itself. */
function isHidden(pid: number): boolean {
  try {
    process.kill(pid, 0);
    return false;
  } catch (error) {
    return errorCode(error) === "EPERM";
  }
}

function busy(name: string, held: HeldLease): Fault {
  const since = new Date(held.acquired_at).toISOString();
  return new Fault("session-busy", `Session ${name} is in use by process ${held.pid} since ${since}.`, {
    hint: "Wait for it to end, or go on beside it with --fork.",
  });
}

function bootId(): string {
  if (process.platform === "darwin") return printed(["/usr/sbin/sysctl", "-n", "kern.bootsessionuuid"]) ?? "";
  return readFileSync("/proc/sys/kernel/random/boot_id", "utf8").trim();
}

function pidNamespace(): string {
  return process.platform === "darwin" ? "" : readlinkSync("/proc/self/ns/pid");
}

function printed(command: string[]): string | null {
  const { exitCode, stdout } = Bun.spawnSync(command, { stdin: "ignore", stderr: "ignore", env: { LC_ALL: "C", TZ: "UTC" } });
  const text = stdout.toString().trim();
  return exitCode === 0 && text !== "" ? text : null;
}
