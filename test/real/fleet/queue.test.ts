import { afterAll, beforeAll, expect, setSystemTime, test } from "bun:test";
import { fleetMigrations } from "../../../src/fleet/migrations.ts";
import { startBoss } from "../../../src/fleet/queue/boss.ts";
import { claimRun, finishRun, listRuns, putBack, rescueRuns, setCap, submitRun, type Run } from "../../../src/fleet/queue/runs.ts";
import { queuesOf } from "../../../src/fleet/queue/queues.ts";
import { setUpQueue } from "../../../src/fleet/queue/setup-queue.ts";
import { PgDb } from "../../../src/store/postgres/connection/connection.ts";
import { migrate } from "../../../src/store/postgres/schema/migrate.ts";
import { storeMigrations } from "../../../src/store/postgres/schema/migrations.ts";
import { startPostgres, type TemporaryPostgres } from "../../support/temporary-postgres.ts";

let server: TemporaryPostgres;
let db: PgDb;
let boss: Awaited<ReturnType<typeof startBoss>>;

beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
  db = PgDb.open(await server.createDatabase(), { max: 12 });
  await migrate(db, "store", storeMigrations);
  await migrate(db, "fleet", fleetMigrations);
  await setUpQueue(db);
  boss = await startBoss(db, { warn: (line) => process.stderr.write(`${line}\n`) });
}, 60_000);

afterAll(async () => {
  await boss.stop({ graceful: false });
  await db.close();
  await server.remove();
}, 60_000);

let count = 0;
const submit = (options: { owner?: string; priority?: number; needs?: string; startAfter?: Date; id?: string } = {}) =>
  submitRun(db, boss, {
    session: `s${(count += 1)}`,
    owner: "u1",
    title: "a task",
    project: "p",
    head: null,
    leftOut: [],
    needs: null,
    priority: 0,
    startAfter: null,
    ...options,
  });
const addWorker = (id: string) =>
  db.sql.unsafe(
    `insert into skein.workers (id, machine, boot, namespace, pid, started, ttl_ms) values ($1, 'm', 'b', 'n', 1, '1', 8000)
    on conflict do nothing`,
    [id],
  );
const claim = async (worker: string, labels: string[] = []) => {
  await addWorker(worker);
  return (await claimRun(db, boss, { worker, queues: queuesOf(labels) }))?.run ?? null;
};
const done = (run: Run) => finishRun(db, boss, run, { state: "done", why: null });

test("runs start by priority and then by age, and a run for a label waits for a worker that has it", async () => {
  const low = await submit();
  const high = await submit({ priority: 5 });
  const labelled = await submit({ needs: "gpu", priority: 9 });
  const taken = [await claim("w1"), await claim("w1"), await claim("w1")];
  expect(taken.map((run) => run?.id ?? null)).toEqual([high, low, null]);
  const gpu = await claim("w2", ["gpu"]);
  expect(gpu?.id).toBe(labelled);
  for (const run of [taken[0]!, taken[1]!, gpu!]) await done(run);
  expect(await listRuns(db, { all: false })).toEqual([]);
}, 60_000);

test("a run that was sent twice is queued once", async () => {
  const id = Bun.randomUUIDv7();
  expect([await submit({ id }), await submit({ id })]).toEqual([id, id]);
  await done((await claim("w1"))!);
  expect(await claim("w1")).toBeNull();
}, 60_000);

test("twenty workers at once never exceed the cap of a user, and take no run twice", async () => {
  await setCap(db, "busy", 3);
  for (let n = 0; n < 10; n += 1) await submit({ owner: "busy" });
  const calm = await submit({ owner: "calm" });
  const claims = (await Promise.all(Array.from({ length: 20 }, (_, n) => claim(`c${n}`)))).filter((run) => run !== null);
  expect(claims.filter(({ owner }) => owner === "busy")).toHaveLength(3);
  expect(claims.filter(({ owner }) => owner !== "busy").map(({ id }) => id)).toEqual([calm]);
  expect(new Set(claims.map(({ id }) => id)).size).toBe(4);
  await done(claims.find(({ owner }) => owner === "busy")!);
  const next = await claim("c0");
  expect(next?.owner).toBe("busy");
  await setCap(db, "busy", null);
  for (const run of [...claims, next!]) await done(run);
  for (let run = await claim("c0"); run !== null; run = await claim("c0")) await done(run);
}, 60_000);

test("the run of a worker that is gone waits again, and is dead after three of them", async () => {
  const id = await submit();
  for (const attempt of [1, 2, 3]) {
    const run = await claim(`gone${attempt}`);
    expect(run).toMatchObject({ id, attempts: attempt });
    expect(await rescueRuns(db, boss, { worker: "rescuer", running: [] })).toEqual([]);
    await db.sql.unsafe("delete from skein.workers where id = $1", [`gone${attempt}`]);
    const rescued = await Promise.all([
      rescueRuns(db, boss, { worker: "rescuer", running: [] }),
      rescueRuns(db, boss, { worker: "rescuer", running: [] }),
    ]);
    expect(rescued.flat().map(({ state }) => state)).toEqual([attempt === 3 ? "dead" : "waiting"]);
    await done(run!); // the old worker comes back and changes nothing
  }
  expect((await listRuns(db, { all: true })).find((run) => run.id === id)).toMatchObject({
    state: "dead",
    why: "3 workers ended while they worked on it",
  });
  expect(await claim("w1")).toBeNull();
}, 60_000);

test("a run that is put back starts later, and the attempt does not count", async () => {
  const id = await submit();
  const run = (await claim("w1"))!;
  await putBack(db, boss, run, { why: "another process holds the session", afterMs: 0 });
  const again = await claim("w1");
  expect(again).toMatchObject({ id, attempts: 1 });
  await putBack(db, boss, again!, { why: "the worker drains", afterMs: 3_600_000 });
  expect(await claim("w1")).toBeNull();
}, 60_000);

test("a run that its living worker does not work on any more waits again", async () => {
  const id = await submit();
  const kept = await submit();
  const [forgotten, working] = [await claim("forgetful"), await claim("forgetful")];
  expect([forgotten?.id, working?.id]).toEqual([id, kept]);
  const own = { worker: "forgetful", running: [kept] };
  expect((await rescueRuns(db, boss, own)).map(({ run, state }) => [run.id, state])).toEqual([[id, "waiting"]]);
  expect(await rescueRuns(db, boss, own)).toEqual([]);
  const again = await claim("w1");
  expect(again).toMatchObject({ id, attempts: 2 });
  await done(again!);
  await done(working!);
}, 60_000);

test("a run that lost its worker starts before runs that have not begun, whatever their priority", async () => {
  const lost = await submit({ priority: -1000 });
  expect((await claim("lost"))?.id).toBe(lost);
  const waiting = await submit({ priority: 1000 });
  await db.sql.unsafe("delete from skein.workers where id = 'lost'");
  await rescueRuns(db, boss, { worker: "rescuer", running: [] });
  const [first, second] = [await claim("w1"), await claim("w1")];
  expect([first?.id, second?.id]).toEqual([lost, waiting]);
  await done(first!);
  await done(second!);
}, 60_000);

test("a run of a newer skein stays in the queue until a worker that understands it is there", async () => {
  const newer = await submit({ priority: 9 });
  const older = await submit();
  const labelled = await submit({ needs: "gpu" });
  await db.sql.unsafe("update skein.runs set protocol = 900 where id in ($1, $2)", [newer, labelled]);
  const claimed = await claim("w1", ["gpu"]);
  expect(claimed?.id).toBe(older);
  await done(claimed!);
  expect(await claim("w1", ["gpu"])).toBeNull();
  const run = (await listRuns(db, { all: false })).find(({ id }) => id === newer);
  expect(run).toMatchObject({ state: "waiting", attempts: 0, why: "it needs a worker with a newer skein" });
  await db.sql.unsafe("update skein.runs set protocol = 1 where protocol = 900");
  await db.sql.unsafe("update pgboss.job set start_after = now() where start_after < now() + interval '1 minute'");
  const claims = [(await claim("updated", ["gpu"]))!, (await claim("updated", ["gpu"]))!];
  expect(claims.map(({ id }) => id).toSorted()).toEqual([newer, labelled].toSorted());
  for (const claimed of claims) await done(claimed);
}, 60_000);

test("a run that is put back by a worker whose clock is an hour ahead starts by the clock of the database", async () => {
  const id = await submit();
  for (const afterMs of [0, 20]) {
    const run = (await claim("ahead"))!;
    expect(run.id).toBe(id);
    try {
      setSystemTime(new Date(Date.now() + 3_600_000));
      await putBack(db, boss, run, { why: "its worker stops", afterMs });
    } finally {
      setSystemTime();
    }
    await Bun.sleep(50);
  }
  const again = await claim("w1");
  expect(again?.id).toBe(id);
  await done(again!);
}, 60_000);

test("with a cap, the one run of a person starts with the next free slot, although another person sent 5,000 before", async () => {
  await setCap(db, "*", 3);
  for (let n = 0; n < 5_000; n += 100) await Promise.all(Array.from({ length: 100 }, () => submit({ owner: "u0" })));
  const busy = [(await claim("w1"))!, (await claim("w2"))!, (await claim("w3"))!];
  expect(busy.map(({ owner }) => owner)).toEqual(["u0", "u0", "u0"]);
  expect(await claim("w4")).toBeNull();
  const alone = await submit({ owner: "u2" });
  const next = await claim("w4");
  expect(next?.id).toBe(alone);
  for (const run of [...busy, next!]) await done(run);
  await db.sql.unsafe("delete from pgboss.job where name = 'runs'");
  await db.sql.unsafe("delete from skein.runs where owner = 'u0'");
  await setCap(db, "*", null);
}, 120_000);
