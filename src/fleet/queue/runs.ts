// Runs of the fleet: one row for each, beside its job in pg-boss. The job says who should work on a run; the lease of the
// session says who may write. A row and its job change in one transaction.
import type { PgBoss } from "pg-boss";
import { protocolVersion } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import { bossDb } from "./boss.ts";
import { queueOf, queueOptions } from "./queues.ts";

export type RunState = "waiting" | "running" | "done" | "dead";

export type Run = {
  id: string;
  session: string;
  owner: string;
  title: string;
  project: string;
  queue: string;
  job: string;
  priority: number;
  state: RunState;
  attempts: number;
  maxAttempts: number;
  worker: string | null;
  why: string | null;
  head: string | null;
  leftOut: string[];
  submittedAt: number;
  startedAt: number | null;
};

export type NewRun = Pick<Run, "session" | "owner" | "title" | "project" | "head" | "leftOut"> & {
  id?: string;
  needs: string | null;
  priority: number;
  /** Null: as soon as a worker is free. */
  startAfter: Date | null;
};

/** After this many workers have ended during a run, its state is `dead`: the run probably ends each of them. */
const maxAttempts = 3;

const columns = `id, session, owner, title, project, queue, job, priority, state, attempts, most as "maxAttempts", worker, why, head,
  left_out as "leftOut", (extract(epoch from submitted_at) * 1000)::float8 as "submittedAt", (extract(epoch from started_at) * 1000)::float8 as "startedAt"`;

type Row = Omit<Run, "leftOut"> & { leftOut: string };

const fromRow = ({ leftOut, ...row }: Row): Run => ({ ...row, leftOut: JSON.parse(leftOut) as string[] });

export async function submitRun(db: PgDb, boss: PgBoss, run: NewRun): Promise<string> {
  const id = run.id ?? Bun.randomUUIDv7();
  const queue = queueOf(run.needs);
  await ensureQueue(boss, queue);
  await db.begin(async (tx) => {
    const [known] = await tx.unsafe("select id from skein.runs where id = $1", [id]);
    if (known !== undefined) return; // sent before, and the answer was lost
    const { priority, startAfter } = run;
    const job = await sendJob(boss, tx, { id, queue, owner: run.owner, priority, startAfter });
    await tx.unsafe(
      `insert into skein.runs (id, session, owner, title, project, queue, job, priority, state, most, head, left_out, protocol)
      values ($1, $2, $3, $4, $5, $6, $7, $8, 'waiting', $9, $10, $11, $12)`,
      [
        id,
        run.session,
        run.owner,
        run.title.replaceAll("\0", ""),
        run.project,
        queue,
        job,
        priority,
        maxAttempts,
        run.head,
        JSON.stringify(run.leftOut),
        protocolVersion,
      ],
    );
  });
  return id;
}

const ensured = new WeakMap<PgBoss, Set<string>>();

/** Once per process: pg-boss then forgets what it knows of the queue, and asks for it on a second connection of the pool. */
async function ensureQueue(boss: PgBoss, queue: string): Promise<void> {
  const names = ensured.get(boss) ?? new Set();
  if (!names.has(queue)) await boss.createQueue(queue, queueOptions);
  ensured.set(boss, names.add(queue));
}

/** A number is seconds from now by the clock of the database. */
type Job = { id: string; queue: string; owner: string; priority: number; startAfter: Date | number | null };

async function sendJob(boss: PgBoss, tx: Bun.TransactionSQL, { id, queue, owner, priority, startAfter }: Job): Promise<string> {
  const when = startAfter === null ? {} : { startAfter };
  const job = await boss.send(queue, { run: id }, { priority, group: { id: owner }, db: bossDb(tx), ...when });
  if (job === null) throw new Fault("internal", `the queue ${queue} did not take the run`);
  return job;
}

/** One at a time counts the running runs of each owner, so that no cap is exceeded. */
const claimLock = "select pg_advisory_xact_lock(hashtext('skein.claim'))";

const waitingRun = `select 1 as some from skein.runs
  where state = 'waiting' and protocol <= $2 and queue in (select json_array_elements_text($1::text::json)) limit 1`;

/** A run of a newer skein waits this long before a worker is asked again. Meanwhile newer workers can take it. */
const newerRetryMs = 5_000;
/** The most jobs that one claim takes from a queue without a run for this worker. */
const mostPassedOn = 20;

export type Claim = { run: Run; isTakeOver: boolean };

/** Takes the next run of these queues for a worker. Null if none may start now. */
export async function claimRun(
  db: PgDb,
  boss: PgBoss,
  { worker, queues }: { worker: string; queues: readonly string[] },
): Promise<Claim | null> {
  // Most polls of an idle worker find nothing, and must not wait for the lock.
  const [some] = await db.raw(waitingRun, [JSON.stringify(queues), protocolVersion]);
  if (some === undefined) return null;
  return db.begin(async (tx) => {
    await tx.unsafe(claimLock);
    const full = await ownersAtCap(tx);
    for (const queue of queues) {
      for (let passedOn = 0; passedOn < mostPassedOn; passedOn += 1) {
        const [job] = await boss.fetch<{ run: string }>(queue, { batchSize: 1, ignoreGroups: full, db: bossDb(tx) });
        if (job === undefined) break;
        const [row] = (await tx.unsafe(
          `update skein.runs set state = 'running', worker = $2, attempts = attempts + 1, started_at = clock_timestamp(), why = null
          where id = $1 and job = $3 and state = 'waiting' and protocol <= $4 returning ${columns}`,
          [job.data.run, worker, job.id, protocolVersion],
        )) as Row[];
        if (row !== undefined) return { run: fromRow(row), isTakeOver: row.attempts > 1 };
        await passOn(boss, tx, { job: job.id, run: job.data.run, queue });
      }
    }
    return null;
  });
}

/** A job without a run for this worker: its run was withdrawn, or needs a newer skein and goes back into the queue. */
async function passOn(
  boss: PgBoss,
  tx: Bun.TransactionSQL,
  { job, run: id, queue }: Record<"job" | "run" | "queue", string>,
): Promise<void> {
  const [row] = (await tx.unsafe(`select ${columns} from skein.runs where id = $1 and job = $2 and state = 'waiting' for update`, [
    id,
    job,
  ])) as Row[];
  if (row === undefined) return void (await boss.complete(queue, job, null, { db: bossDb(tx) }));
  const run = fromRow(row);
  const isFirst = run.attempts > 0;
  await requeue(boss, tx, run, { why: "it needs a worker with a newer skein", afterMs: newerRetryMs, attempts: run.attempts, isFirst });
}

async function ownersAtCap(tx: Bun.TransactionSQL): Promise<string[]> {
  const rows: { owner: string }[] = await tx.unsafe(`select r.owner from skein.runs r
    left join skein.caps own on own.owner = r.owner left join skein.caps other on other.owner = '*'
    where r.state = 'running' group by r.owner, own.most, other.most
    having count(*) >= coalesce(own.most, other.most, 1000000)`);
  return rows.map(({ owner }) => owner);
}

/** `why` is the reason of a failure, as a line for people. Null if the run succeeded. */
export async function finishRun(
  db: PgDb,
  boss: PgBoss,
  run: Run,
  { state, why }: { state: "done" | "dead"; why: string | null },
): Promise<void> {
  await db.begin(async (tx) => {
    const changed = await tx.unsafe(
      `update skein.runs set state = $3, why = $4, worker = null, ended_at = clock_timestamp() where id = $1 and worker = $2 returning id`,
      [run.id, run.worker, state, why],
    );
    if (changed.length === 0) return; // another worker has taken it over
    if (state === "done") await boss.complete(run.queue, run.job, null, { db: bossDb(tx) });
    else await boss.fail(run.queue, run.job, { why }, { db: bossDb(tx) });
  });
}

/** Another process holds the session, or the worker drains: the run waits again, and this attempt does not count. */
export async function putBack(db: PgDb, boss: PgBoss, run: Run, { why, afterMs }: { why: string; afterMs: number }): Promise<void> {
  await db.begin(async (tx) => {
    const [row] = await tx.unsafe(`select id from skein.runs where id = $1 and worker = $2 for update`, [run.id, run.worker]);
    if (row === undefined) return;
    await requeue(boss, tx, run, { why, afterMs, attempts: run.attempts - 1, isFirst: afterMs === 0 });
  });
}

/** `isFirst` is for a run that was interrupted: it starts before all runs that have not begun. */
type Requeue = { why: string; afterMs: number; attempts: number; isFirst: boolean };

/** Above the highest priority that a person can give. */
const firstPriority = 2_001;

async function requeue(boss: PgBoss, tx: Bun.TransactionSQL, run: Run, { why, afterMs, attempts, isFirst }: Requeue): Promise<void> {
  await boss.complete(run.queue, run.job, null, { db: bossDb(tx) });
  const priority = isFirst ? run.priority + firstPriority : run.priority;
  // A delay, not a time: the clock of this machine may be wrong.
  const startAfter = afterMs === 0 ? null : afterMs / 1000;
  const job = await sendJob(boss, tx, { id: run.id, queue: run.queue, owner: run.owner, priority, startAfter });
  await tx.unsafe(`update skein.runs set state = 'waiting', worker = null, job = $2, why = $3, attempts = $4 where id = $1`, [
    run.id,
    job,
    why,
    attempts,
  ]);
}

export type Rescued = { run: Run; state: "waiting" | "dead" };

/** The runs that a worker really works on. */
export type OwnRuns = { worker: string; running: readonly string[] };

/**
 * Runs whose worker is gone wait again, or are dead after the last attempt. So do runs that the caller has in the database but
 * does not work on: the answer to its claim or to the end of a run was lost. Any worker calls it after each heartbeat.
 */
export async function rescueRuns(db: PgDb, boss: PgBoss, own: OwnRuns): Promise<Rescued[]> {
  const params = [own.worker, JSON.stringify(own.running)];
  const lost = await db.raw(lostRuns, params);
  if (lost.length === 0) return [];
  return db.begin(async (tx) => {
    const rows = (await tx.unsafe(`${lostRuns} for update of r skip locked`, params)) as Row[];
    const rescued: Rescued[] = [];
    for (const run of rows.map(fromRow)) {
      const isDead = run.attempts >= run.maxAttempts;
      const isForgotten = run.worker === own.worker;
      if (isDead) {
        const why = `${run.attempts} workers ended while they worked on it`;
        await tx.unsafe("update skein.runs set state = 'dead', worker = null, why = $2, ended_at = clock_timestamp() where id = $1", [
          run.id,
          why,
        ]);
        await boss.fail(run.queue, run.job, { why }, { db: bossDb(tx) });
      } else {
        const why = isForgotten ? `worker ${run.worker} had no answer from the database` : `worker ${run.worker} is gone`;
        await requeue(boss, tx, run, { why, afterMs: 0, attempts: run.attempts, isFirst: true });
      }
      rescued.push({ run, state: isDead ? "dead" : "waiting" });
    }
    return rescued;
  });
}

const lostRuns = `select ${columns} from skein.runs r where r.state = 'running' and (
  not exists (select from skein.workers w where w.id = r.worker)
  or r.worker = $1 and not exists (select from json_array_elements_text($2::text::json) own where own = r.id))`;

export async function listRuns(db: PgDb, { all }: { all: boolean }): Promise<Run[]> {
  const where = all ? "" : "where state in ('waiting', 'running') or (state = 'dead' and ended_at > clock_timestamp() - interval '1 day')";
  const rows = await db.raw<Row>(`select ${columns} from skein.runs ${where} order by submitted_at desc limit 500`);
  return rows.map(fromRow);
}

/** The latest run of a session; null if it never was in the fleet's queue. */
export async function runOf(db: PgDb, session: string): Promise<Run | null> {
  const [row] = await db.raw<Row>(`select ${columns} from skein.runs where session = $1 order by submitted_at desc limit 1`, [session]);
  return row === undefined ? null : fromRow(row);
}

/** The run is not started any more. False if it is not waiting. */
export async function withdrawRun(db: PgDb, boss: PgBoss, id: string): Promise<boolean> {
  return db.begin(async (tx) => {
    const [row] = await tx.unsafe(
      `update skein.runs set state = 'dead', why = 'withdrawn', ended_at = clock_timestamp() where id = $1 and state = 'waiting' returning queue, job`,
      [id],
    );
    if (row === undefined) return false;
    await boss.cancel(row.queue, row.job, { db: bossDb(tx) });
    return true;
  });
}

/** `owner` "*" sets the cap of everyone without one of their own. Null removes a cap. */
export async function setCap(db: PgDb, owner: string, most: number | null): Promise<void> {
  if (most === null) await db.run("delete from skein.caps where owner = $1::text", owner);
  else
    await db.run(
      "insert into skein.caps (owner, most) values ($1::text, $2::int) on conflict (owner) do update set most = excluded.most",
      owner,
      most,
    );
}
