// Runs that start at the times of a cron expression. pg-boss decides when one is due and makes one job for each time. A worker
// makes a session and a run of the job's id from the schedule's template, so that a second try makes nothing twice.
import type { PgBoss } from "pg-boss";
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import type { NewPendingTurn, Store } from "../../store/store.ts";
import { sharedPath } from "../files/fleet-paths.ts";
import { dueQueue, labelOf } from "./queues.ts";
import { submitRun } from "./runs.ts";

/** The template is a session that never runs, with the files and the request of each run. */
export type NewSchedule = {
  name: string;
  cron: string;
  tz: string;
  owner: string;
  project: string;
  session: string;
  queue: string;
  priority: number;
  request: NewPendingTurn;
};

type ScheduleRow = Omit<NewSchedule, "request"> & { request: string };
export type Schedule = Omit<NewSchedule, "request"> & { next: Date | null };

const columns = "name, cron, tz, owner, project, session, queue, priority, request";

export async function addSchedule(db: PgDb, boss: PgBoss, schedule: NewSchedule): Promise<void> {
  if (!/^[\w.-]+$/.test(schedule.name))
    throw new Fault("usage", `"${oneLine(schedule.name, 40)}" can't be the name of a schedule`, {
      hint: "a name has letters, digits, - . and _, such as nightly",
    });
  try {
    await boss.schedule(dueQueue, schedule.cron, { schedule: schedule.name }, { key: schedule.name, tz: schedule.tz });
  } catch (error) {
    throw new Fault("usage", `the schedule was refused: ${messageOf(error)}`, {
      hint: 'a schedule has five fields, such as "0 6 * * 1-5", and a time zone such as Europe/Paris',
      cause: error,
    });
  }
  const { name, cron, tz, owner, project, session, queue, priority, request } = schedule;
  await db.run(
    `insert into skein.schedules (${columns})
    values ($1::text, $2::text, $3::text, $4::text, $5::text, $6::text, $7::text, $8::int, $9::text)
    on conflict (name) do update set cron = excluded.cron, tz = excluded.tz, owner = excluded.owner, project = excluded.project,
      session = excluded.session, queue = excluded.queue, priority = excluded.priority, request = excluded.request, last_time = null`,
    name,
    cron,
    tz,
    owner,
    project,
    session,
    queue,
    priority,
    JSON.stringify(request),
  );
}

/** False if there is none of that name. */
export async function removeSchedule(db: PgDb, boss: PgBoss, name: string): Promise<boolean> {
  await boss.unschedule(dueQueue, name);
  return (await db.run("delete from skein.schedules where name = $1::text", name)) > 0;
}

export async function listSchedules(db: PgDb, boss: PgBoss): Promise<Schedule[]> {
  const rows = await db.rows<ScheduleRow>(`select ${columns} from skein.schedules order by name`);
  return rows.map(({ request: _, ...row }) => ({ ...row, next: boss.previewSchedule(row.cron, { tz: row.tz, count: 1 })[0] ?? null }));
}

type FireDeps = { db: PgDb; boss: PgBoss; store: Store; log: (line: string) => void };

/** Makes a run of each schedule that is due. A job whose worker is killed meanwhile comes back after a minute. */
export async function fireSchedules(deps: FireDeps): Promise<void> {
  const { db, boss, log } = deps;
  for (const job of await boss.fetch<{ schedule: string }>(dueQueue, { batchSize: 10, includeMetadata: true })) {
    try {
      const row = await db.row<ScheduleRow>(`select ${columns} from skein.schedules where name = $1::text`, job.data.schedule);
      if (row !== null && (await isFirstOfItsTime(deps, row, job))) {
        await makeRun(deps, job.id, row);
        log(`schedule ${row.name}: run ${job.id} waits`);
      }
      await boss.complete(dueQueue, job.id);
    } catch (error) {
      // The job is tried again. One schedule must not keep the others from starting.
      log(`schedule ${job.data.schedule}: ${messageOf(error)}`);
      await boss.fail(dueQueue, job.id, { why: messageOf(error) });
    }
  }
}

/** A job is made at most this long after its time. */
const madeWithinMs = 90_000;

/** The hour that comes twice in the night when clocks are set back starts a schedule once, unless it runs every hour. */
async function isFirstOfItsTime({ db, boss }: FireDeps, { name, cron, tz }: ScheduleRow, job: { id: string; createdOn: Date }) {
  const hour = cron.trim().split(/\s+/).at(-4) ?? "*";
  if (hour.startsWith("*")) return true;
  const madeAt = new Date(job.createdOn);
  const times = boss.previewSchedule(cron, { tz, from: new Date(madeAt.getTime() - madeWithinMs), count: 3 });
  const time = times.findLast((candidate) => candidate <= madeAt);
  if (time === undefined) return true;
  const local = time.toLocaleString("sv-SE", { timeZone: tz });
  const changed = await db.run(
    `update skein.schedules set last_time = $2::text, last_job = $3::text
    where name = $1::text and (last_time is distinct from $2::text or last_job = $3::text)`,
    name,
    local,
    job.id,
  );
  return changed > 0;
}

async function makeRun({ db, boss, store }: FireDeps, id: string, schedule: ScheduleRow): Promise<void> {
  const { task, agent, model, toolLevel } = await store.requireSession(schedule.session);
  const path = sharedPath(id);
  if ((await store.session(id)) === null)
    await store.createSession({
      id,
      name: null,
      agent,
      model,
      task,
      toolLevel,
      parentSession: null,
      transcript: null,
      directory: path,
      project: path,
    });
  await db.run(
    `insert into skein.packs (session, n, epoch, commit_id, base, tree, recorded, bytes)
    select $1::text, n, 0, commit_id, base, tree, recorded, bytes from skein.packs where session = $2::text and n = 1 on conflict do nothing`,
    id,
    schedule.session,
  );
  const hasStarted = (await store.turnsOf(id)).length > 0 || (await store.pendingTurns(id)).length > 0;
  const { request, ...pending } = JSON.parse(schedule.request) as NewPendingTurn;
  // The stored request names the template.
  if (!hasStarted) await store.queueTurn(id, { ...pending, request: { ...request, session: id } as NewPendingTurn["request"] });
  const { owner, project, priority, queue } = schedule;
  const run = { session: id, owner, project, priority, title: task ?? schedule.name, head: null, leftOut: [], startAfter: null };
  await submitRun(db, boss, { ...run, id, needs: labelOf(queue) });
}
