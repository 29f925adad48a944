// Opens pg-boss, the queue of runs, on the connections of the store. Its tables are in the schema `pgboss`.
import { fromBunSql, PgBoss, type Db } from "pg-boss";
import type { PgDb } from "../../store/postgres/connection/connection.ts";

export type BossOptions = {
  /** Creates and updates the tables. Only `skein fleet setup` does. */
  migrate?: boolean;
  /** Sends scheduled runs and maintains the tables. Only workers do. */
  maintain?: boolean;
  warn: (message: string) => void;
};

/** Must be stopped before its connections are closed. */
export async function startBoss(db: PgDb, { migrate = false, maintain = false, warn }: BossOptions): Promise<PgBoss> {
  const boss = new PgBoss({
    // The connections are replaced after a failure of the network.
    db: { executeSql: (text, values) => bossDb(db.sql).executeSql(text, values) },
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

/** For the statements of one transaction. */
export function bossDb(sql: Bun.SQL | Bun.TransactionSQL): Db {
  return fromBunSql(sql);
}
