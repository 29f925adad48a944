// A database with the tables of the store, for tests of a fleet.
import { PgDb } from "../../src/store/postgres/connection/connection.ts";
import { migrate } from "../../src/store/postgres/schema/migrate.ts";
import { storeMigrations } from "../../src/store/postgres/schema/migrations.ts";
import type { TemporaryPostgres } from "./temporary-postgres.ts";

/** Returns the URL of a new database. */
export async function fleetDatabase(server: TemporaryPostgres): Promise<string> {
  const url = await server.createDatabase();
  const db = PgDb.open(url);
  await migrate(db, "store", storeMigrations);
  await db.close();
  return url;
}

/** Deletes all rows. Faster than a new database. */
export async function emptyFleet(db: PgDb): Promise<void> {
  const tables = await db.rows<{ name: string }>(
    "select 'skein.' || tablename as name from pg_tables where schemaname = 'skein' and tablename <> 'layouts'",
  );
  await db.exec(`truncate ${tables.map(({ name }) => name).join(", ")} restart identity`);
}
