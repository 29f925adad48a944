// Creates the tables of pg-boss and the queues that every fleet has.
import type { PgDb } from "../../store/postgres/connection/connection.ts";
import { startBoss } from "./boss.ts";
import { dueOptions, dueQueue, queueOf, queueOptions } from "./queues.ts";

/** May be called again: what exists stays as it is. */
export async function setUpQueue(db: PgDb): Promise<void> {
  const boss = await startBoss(db, { migrate: true, warn: () => {} });
  try {
    await boss.createQueue(queueOf(null), queueOptions);
    await boss.createQueue(dueQueue, dueOptions);
  } finally {
    await boss.stop({ graceful: false });
  }
}
