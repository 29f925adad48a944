import { Database } from "bun:sqlite";
import { afterEach, expect, test } from "bun:test";
import { existsSync, mkdirSync, mkdtempSync, readdirSync, rmSync, utimesSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { Db } from "./db.ts";
import { pidNamespace } from "./lease.ts";

const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).toReversed()) await cleanup();
});

function storePath(): string {
  const directory = mkdtempSync(join(tmpdir(), "skein-queue-"));
  cleanups.push(() => rmSync(directory, { recursive: true, force: true }));
  return join(directory, "store.db");
}

async function open(path: string, lockLimitMs?: number): Promise<Db> {
  const db = await Db.open(path, lockLimitMs);
  cleanups.push(() => db.close());
  return db;
}

/** Holds the write lock of the store, without taking a turn, until `release` is called. */
function lock(path: string) {
  const other = new Database(path);
  other.run("begin immediate");
  cleanups.push(() => other.close());
  return {
    /** Commits a row and takes the lock again, before anyone else can. */
    commit: () => other.run("insert into trees (id, created_at) values (hex(randomblob(8)), 0); commit; begin immediate"),
    release: () => other.run("rollback"),
  };
}

const add = (db: Db, id: string) => db.write(() => void db.run`insert into trees (id, created_at) values (${id}, 1)`);
const added = (db: Db) => db.values<[string]>`select id from trees where created_at = 1 order by n`.flat();
const queueOf = (path: string) => `${path}-queue`;

test("a writer gets its turn although another process writes without a pause", async () => {
  const path = storePath();
  const db = await open(path);
  const greedy = Bun.spawn([process.execPath, join(import.meta.dir, "../fixtures/greedy-writer.ts"), path], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  cleanups.push(() => (greedy.kill("SIGKILL"), greedy.exited));
  const countGreedy = () => db.row<{ count: number }>`select count(*) as count from trees where id like 'greedy %'`!.count;
  while (countGreedy() === 0) await Bun.sleep(10);
  const betweenTurns: number[] = [];
  for (let turn = 0; turn < 30; turn += 1) {
    const before = countGreedy();
    const during = await db.write(() => countGreedy());
    betweenTurns.push(during - before);
    while (countGreedy() === during) await Bun.sleep(1);
  }
  // SQLite waits for 10 ms before the ticket is added, which is time for two transactions of the other process.
  expect(betweenTurns.toSorted((a, b) => a - b)[15]!).toBeLessThanOrEqual(4);
  expect(Math.max(...betweenTurns)).toBeLessThan(20);
}, 60_000);

test("a write waits as long as other processes commit, and the event loop runs meanwhile", async () => {
  const path = storePath();
  const db = await open(path, 60);
  const other = lock(path);
  let commits = 0;
  const waiting = add(db, "late");
  const timer = setInterval(() => {
    commits += 1;
    if (commits < 12) return void other.commit();
    other.release();
    clearInterval(timer);
  }, 20);
  await waiting;
  expect(commits).toBe(12);
  expect(added(db)).toEqual(["late"]);
  expect(existsSync(queueOf(path))).toBe(false);
});

test("a write fails if the store is locked and no process makes progress", async () => {
  const path = storePath();
  const db = await open(path, 60);
  const other = lock(path);
  const failure = await add(db, "never").catch((error: unknown) => error);
  expect(failure).toMatchObject({ code: "store-busy", message: expect.stringContaining("no process wrote to it meanwhile") });
  expect(existsSync(queueOf(path))).toBe(false);
  other.release();
  await add(db, "later");
  expect(added(db)).toEqual(["later"]);
});

test("writes that wait are done in the order in which they came, also those of two connections", async () => {
  const path = storePath();
  const [first, second] = [await open(path), await open(path)];
  const other = lock(path);
  const done: string[] = [];
  const writes = [first, first, second, first].map(async (db, index) => {
    await Bun.sleep(index * 5);
    await add(db, `write ${index}`);
    done.push(`write ${index}`);
  });
  while (!existsSync(queueOf(path)) || readdirSync(queueOf(path)).length < 2) await Bun.sleep(5);
  other.release();
  await Promise.all(writes);
  const order = [0, 1, 2, 3].map((index) => `write ${index}`);
  expect(added(first)).toEqual(order);
  expect(done).toEqual(order);
});

test("a write that fails in its turn does not stop the next one", async () => {
  const path = storePath();
  const db = await open(path);
  const other = lock(path);
  const failing = db.write(() => {
    throw new Error("refused");
  });
  const next = add(db, "next");
  other.release();
  expect(await failing.catch((error: unknown) => error)).toMatchObject({ message: "refused" });
  await next;
  expect(added(db)).toEqual(["next"]);
});

test("the tickets of ended, stopped and unknown processes hold nobody up", async () => {
  const path = storePath();
  const db = await open(path);
  const ended = Bun.spawn(["true"]);
  await ended.exited;
  const here = pidNamespace().replaceAll(/\D/g, "");
  mkdirSync(queueOf(path));
  for (const [ticket, age] of [
    [`000000000000001-000000001-${ended.pid}-${here}`, 0],
    [`000000000000002-000000001-${process.pid}-${here}`, 60],
    ["000000000000003-000000001-1-1", 60],
  ] as const) {
    writeFileSync(join(queueOf(path), ticket), "");
    const touchedAt = Date.now() / 1000 - age;
    utimesSync(join(queueOf(path), ticket), touchedAt, touchedAt);
  }
  await add(db, "mine");
  expect(added(db)).toEqual(["mine"]);
  expect(existsSync(queueOf(path))).toBe(false);
});

test("a store in memory has no queue", async () => {
  const db = await open(":memory:");
  await add(db, "mine");
  expect(added(db)).toEqual(["mine"]);
});
