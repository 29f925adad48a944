// Opens pg-boss, the queue of runs, on the connections of the store. Its tables are in the schema `pgboss`.
import { fromBunSql, PgBoss, type Clock, type Db } from "pg-boss";
import type { PgDb } from "../../store/postgres/connection/connection.ts";

export type BossOptions = {
  /** Creates and updates the tables. Only `skein fleet setup` does. */
  migrate?: boolean;
  /** Sends scheduled runs and maintains the tables. Only workers do. */
  maintain?: boolean;
  warn: (message: string) => void;
  /** A clock that a test drives. Its database must have the setting `CLOCK_OVERRIDE_SETTING` of pg-boss. */
  clock?: Clock;
};

/** Must be stopped before its connections are closed. */
export async function startBoss(db: PgDb, { migrate = false, maintain = false, warn, clock }: BossOptions): Promise<PgBoss> {
  // The connections are replaced after a failure of the network. Bun encodes a text for a parameter of type json once more.
  const executor: Db = { executeSql: (text, values) => bossDb(db.sql).executeSql(text.replace("($1::json)", "($1::text::json)"), values) };
  const boss = new PgBoss({
    ...(clock === undefined ? { db: executor } : { clock, db: { ...executor, setSessionStatements: async () => {} } }),
    migrate,
    createSchema: migrate,
    supervise: maintain,
    schedule: maintain,
    cronMonitorIntervalSeconds: 5,
    cronWorkerIntervalSeconds: 2,
    // Postgres maintains indexes of this size well enough.
    reindex: false,
  });
  boss.on("error", (error) => warn(`the fleet's queue: ${error.message}`));
  await boss.start();
  return boss;
}

/** Runs the statements of pg-boss on these connections, or in this transaction. */
export function bossDb(sql: Bun.SQL | Bun.TransactionSQL): Db {
  return fromBunSql(sql);
}
