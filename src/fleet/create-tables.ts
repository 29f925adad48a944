// Creates the tables of a fleet in its database, or brings them to this version.
import type { FleetSetup } from "../protocol/schema/setup.ts";
import { PgDb } from "../store/postgres/connection/connection.ts";
import { migrate } from "../store/postgres/schema/migrate.ts";
import { storeMigrations } from "../store/postgres/schema/migrations.ts";
import { fleetMigrations } from "./migrations.ts";
import { setUpQueue } from "./queue/setup-queue.ts";

export async function createTables(url: string): Promise<FleetSetup> {
  const db = PgDb.open(url, { max: 2 });
  try {
    const steps = [...(await migrate(db, "store", storeMigrations)), ...(await migrate(db, "fleet", fleetMigrations))];
    await setUpQueue(db);
    return { database: db.address, steps };
  } finally {
    await db.close();
  }
}
