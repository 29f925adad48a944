// Brings a part of the database's layout to this version, in one transaction. Two processes may try at once: one does it.
// A layout of a newer skein is refused and not changed.
import { Fault } from "../../../protocol/api/error.ts";
import type { PgDb } from "../connection/connection.ts";

/** `name` says what the step adds. */
export type Migration = { name: string; sql: string };

/** Returns the names of the steps that were done. */
export async function migrate(db: PgDb, part: string, migrations: readonly Migration[]): Promise<string[]> {
  return db.transaction(async (tx) => {
    await tx.row("select pg_advisory_xact_lock(hashtext('skein.layout'))::text as locked");
    await tx.exec("create schema if not exists skein");
    await tx.exec(
      "create table if not exists skein.layouts (part text primary key, version integer not null, changed_at timestamptz not null)",
    );
    const version = await layoutVersion(tx, part);
    refuseNewer(tx, part, { version, known: migrations.length });
    const steps = migrations.slice(version);
    for (const { sql } of steps) await tx.exec(sql);
    await tx.run(
      `insert into skein.layouts (part, version, changed_at) values ($1::text, $2::int, clock_timestamp())
      on conflict (part) do update set version = excluded.version, changed_at = excluded.changed_at`,
      part,
      migrations.length,
    );
    return steps.map(({ name }) => name);
  });
}

/** Throws unless the layout is exactly the one of this version. One round trip; changes nothing. */
export async function checkLayout(db: PgDb, part: string, migrations: readonly Migration[]): Promise<void> {
  const version = await layoutVersion(db, part);
  refuseNewer(db, part, { version, known: migrations.length });
  if (version === migrations.length) return;
  const problem = version === 0 ? "has no tables of skein yet" : `has an older layout (${version} of ${migrations.length})`;
  throw new Fault("fleet-missing", `the fleet's database ${db.address} ${problem}`, { hint: "run: skein fleet setup" });
}

async function layoutVersion(db: PgDb, part: string): Promise<number> {
  return (await db.row<{ version: number }>("select version from skein.layouts where part = $1::text", part))?.version ?? 0;
}

function refuseNewer(db: PgDb, part: string, { version, known }: { version: number; known: number }): void {
  if (version <= known) return;
  throw new Fault(
    "fleet-newer",
    `the fleet's database ${db.address} was set up by a newer skein (layout ${version} of the ${part}, this one supports ${known})`,
    { hint: "update skein on this machine" },
  );
}
