// Random operations of killed processes on a store in Postgres, compared with a model. Needs Debian's postgresql.
import { afterAll, beforeAll, test } from "bun:test";
import { pollUntil } from "../../../src/kit/flow/sleep.ts";
import { openPostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { fleetDatabase } from "../../support/fleet-database.ts";
import { stressStore } from "../../support/store-stress.ts";
import { startPostgres, type TemporaryPostgres } from "../../support/temporary-postgres.ts";

let server: TemporaryPostgres;
beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
}, 60_000);
afterAll(() => server.remove());

test("a store in Postgres equals the model after random operations of killed processes", { timeout: 300_000 }, async () => {
  const url = await fleetDatabase(server);
  await using sql = server.connect("postgres");
  // The server may still carry out a statement of a killed process. Its connections are found by the user of the lane.
  for (const lane of [0, 1, 2]) await sql.unsafe(`create role lane${lane} superuser login`);
  const hasConnection = async (lane: number) =>
    (await sql.unsafe(`select 1 from pg_stat_activity where usename = 'lane${lane}'`)).length > 0;
  await stressStore({
    targetOf: (lane) => url.replace("tester@", `lane${lane}@`),
    async afterKill(lane) {
      if (!(await pollUntil(60_000, async () => !(await hasConnection(lane))))) throw new Error(`lane ${lane} is still connected`);
    },
    outputsDir: "",
    open: () => openPostgresStore({ url }),
    minSteps: 1500,
  });
});
