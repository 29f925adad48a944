// Schedules with three workers and a clock that the test drives: both changes of daylight saving time, a worker that is killed
// with a due schedule in its hands, and one that fails in the middle.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { CLOCK_OVERRIDE_SETTING, TestClock } from "pg-boss";
import { fleetMigrations } from "../../../src/fleet/migrations.ts";
import { startBoss } from "../../../src/fleet/queue/boss.ts";
import { dueQueue, queueOf } from "../../../src/fleet/queue/queues.ts";
import { listRuns } from "../../../src/fleet/queue/runs.ts";
import { addSchedule, fireSchedules, listSchedules, removeSchedule } from "../../../src/fleet/queue/schedules.ts";
import { setUpQueue } from "../../../src/fleet/queue/setup-queue.ts";
import { newSession } from "../../../src/store/fixtures/samples.ts";
import { PgDb } from "../../../src/store/postgres/connection/connection.ts";
import { openPostgresStore, type PostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { migrate } from "../../../src/store/postgres/schema/migrate.ts";
import { storeMigrations } from "../../../src/store/postgres/schema/migrations.ts";
import type { Store } from "../../../src/store/store.ts";
import { startPostgres, type TemporaryPostgres } from "../../support/temporary-postgres.ts";

type Worker = { boss: Awaited<ReturnType<typeof startBoss>>; store: Store };

let server: TemporaryPostgres;
let db: PgDb;
let store: PostgresStore;
let workers: Worker[];
const clock = new TestClock("2026-10-24T23:00:00Z");

beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
  const url = await server.createDatabase();
  await using sql = server.connect("postgres");
  await sql.unsafe(`alter database ${url.split("/").at(-1)} set ${CLOCK_OVERRIDE_SETTING} = 'on'`);
  db = PgDb.open(url, { max: 8 });
  await migrate(db, "store", storeMigrations);
  await migrate(db, "fleet", fleetMigrations);
  await setUpQueue(db);
  store = await openPostgresStore({ url });
  const start = async (): Promise<Worker> => ({ boss: await startBoss(db, { maintain: true, warn: console.error, clock }), store });
  workers = [await start(), await start(), await start()];
}, 60_000);

afterAll(async () => {
  for (const { boss } of workers) await boss.stop({ graceful: false });
  await store.close();
  await db.close();
  await server.remove();
}, 60_000);

async function add(name: string, cron: string): Promise<void> {
  const { id } = await store.createSession(newSession({ task: name }));
  await db.run(
    `insert into skein.packs (session, n, epoch, commit_id, tree, recorded, bytes) values ($1::text, 1, 0, 'a', 'b', 'b', '')`,
    id,
  );
  const request = { session: id, prompt: name } as never;
  const turn = { kind: "queued", request, caller: { directory: "/w", trust: null }, credential: null } as const;
  const schedule = { name, cron, tz: "Europe/Berlin", owner: "ann", project: "p", session: id, queue: queueOf(null), priority: 0 };
  await addSchedule(db, workers[0]!.boss, { ...schedule, request: { ...turn, wakeAt: null, giveUpAt: null, attempt: 0 } });
}

/** All workers look for schedules that are due, at the same time, while the clock runs. */
async function pass(from: string, to: string): Promise<void> {
  await clock.setTime(from);
  while (clock.now() < Date.parse(to)) {
    await clock.tick(5_000);
    await Promise.all(workers.map((worker) => fireSchedules({ db, log: () => {}, ...worker })));
  }
}

/** The runs of a schedule, each with the number of turns that wait in its session. */
async function runsOf(title: string): Promise<number[]> {
  const runs = (await listRuns(db, { all: true })).filter((run) => run.title === title);
  return Promise.all(runs.map(async ({ session }) => (await store.pendingTurns(session)).length));
}

test("with three workers a schedule in the hour that comes twice starts once, and one in the hour that is left out the next day", async () => {
  await add("autumn", "30 2 * * *");
  // 2:30 comes twice: at 0:30 and at 1:30 UTC.
  await pass("2026-10-25T00:29:00Z", "2026-10-25T00:32:00Z");
  await pass("2026-10-25T01:29:00Z", "2026-10-25T01:32:00Z");
  expect(await runsOf("autumn")).toEqual([1]);
  await pass("2026-10-26T01:29:00Z", "2026-10-26T01:32:00Z");
  expect(await runsOf("autumn")).toEqual([1, 1]);
  await add("every-hour", "30 * * * *");
  await pass("2027-10-31T00:29:00Z", "2027-10-31T00:32:00Z");
  await pass("2027-10-31T01:29:00Z", "2027-10-31T01:32:00Z");
  expect([await runsOf("autumn"), await runsOf("every-hour")]).toEqual([
    [1, 1, 1],
    [1, 1],
  ]);
  for (const name of ["autumn", "every-hour"]) await removeSchedule(db, workers[0]!.boss, name);
  await add("spring", "30 2 * * *");
  // There is no 2:30: the clock goes from 2:00 to 3:00, at 1:00 UTC.
  await pass("2028-03-26T00:59:00Z", "2028-03-26T01:02:00Z");
  await pass("2028-03-26T01:29:00Z", "2028-03-26T01:32:00Z");
  expect(await runsOf("spring")).toEqual([]);
  await pass("2028-03-27T00:29:00Z", "2028-03-27T00:32:00Z");
  expect(await runsOf("spring")).toEqual([1]);
  await removeSchedule(db, workers[0]!.boss, "spring");
}, 120_000);

test("a schedule whose worker is killed at its time is started by another one, once", async () => {
  await add("killed", "0 12 * * *");
  await clock.setTime("2028-04-01T09:59:30Z");
  const victim = workers.shift()!;
  let jobs: unknown[] = [];
  while (jobs.length === 0 && clock.now() < Date.parse("2028-04-01T10:01:00Z")) {
    await clock.tick(1_000);
    jobs = await victim.boss.fetch(dueQueue);
  }
  expect(jobs).toHaveLength(1);
  await victim.boss.stop({ graceful: false });
  expect(await runsOf("killed")).toEqual([]);
  await pass("2028-04-01T10:01:00Z", "2028-04-01T10:05:00Z");
  expect(await runsOf("killed")).toEqual([1]);
}, 120_000);

test("a schedule that fails in the middle is tried again, makes one run, and does not keep others from starting", async () => {
  await add("half", "0 13 * * *");
  await add("other", "0 13 * * *");
  await add("purged", "0 13 * * *");
  await db.run("update skein.schedules set session = 'nobody' where name = 'purged'");
  let failures = 2;
  const fragile: Store = {
    ...store,
    async queueTurn(session, turn) {
      if (turn.request.prompt === "half" && failures-- > 0) throw new Error("the database is away");
      return store.queueTurn(session, turn);
    },
  };
  workers = workers.map((worker) => ({ ...worker, store: fragile }));
  await pass("2028-04-02T10:59:30Z", "2028-04-02T11:05:00Z");
  expect([await runsOf("half"), await runsOf("other"), await runsOf("purged")]).toEqual([[1], [1], []]);
  const sessions = await store.listSessions({ project: null });
  expect(sessions.filter(({ task }) => task === "half")).toHaveLength(2); // the template and the run
}, 120_000);

test("the list of schedules names the next time, and a wrong expression or zone is refused with an example", async () => {
  const [first] = await listSchedules(db, workers[0]!.boss);
  expect(first).toMatchObject({ name: "half", next: new Date("2028-04-03T11:00:00Z") });
  await expect(add("wrong", "61 * * * *")).rejects.toMatchObject({ code: "usage", hint: expect.stringContaining("five fields") });
  await expect(add("every night", "0 3 * * *")).rejects.toMatchObject({ code: "usage", hint: expect.stringContaining("nightly") });
  expect(await removeSchedule(db, workers[0]!.boss, "half")).toBe(true);
  expect(await removeSchedule(db, workers[0]!.boss, "half")).toBe(false);
});
