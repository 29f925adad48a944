// Tests `skein fleet setup`, and a clear message for each way in which the database of a fleet can be wrong.
// Needs Debian's postgresql, so .ci/run runs it and npm test does not.
import { afterAll, beforeAll, expect, test } from "bun:test";
import { Fault } from "../../../src/protocol/api/error.ts";
import { beginTurn } from "../../../src/store/fixtures/begin-turn.ts";
import { textOf } from "../../../src/protocol/tree/node.ts";
import { agentNode, okTurnEnd } from "../../../src/store/fixtures/samples.ts";
import { PgDb } from "../../../src/store/postgres/connection/connection.ts";
import { openPostgresStore } from "../../../src/store/postgres/postgres-store.ts";
import { migrate } from "../../../src/store/postgres/schema/migrate.ts";
import { storeMigrations } from "../../../src/store/postgres/schema/migrations.ts";
import { startPostgres, type TemporaryPostgres } from "../../support/temporary-postgres.ts";
import { temporaryHome } from "../../support/temporary-home.ts";

let server: TemporaryPostgres;

beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
}, 60_000);
afterAll(() => server.remove());

async function faultOf(act: () => Promise<unknown>): Promise<Pick<Fault, "code" | "message" | "hint">> {
  try {
    await act();
  } catch (error) {
    if (error instanceof Fault) return { code: error.code, message: error.message, hint: error.hint };
    throw error;
  }
  throw new Error("it did not fail");
}

test("fleet setup creates the tables once, prints what to do on other machines, and never prints the URL's secret", async () => {
  const url = (await server.createDatabase()).replace("tester@", "tester:canary-secret@");
  using skein = temporaryHome({ FLEET_URL: url });
  const unset = await skein.run(["fleet", "setup"]);
  expect(unset.code).toBe(3);
  expect(unset.err).toContain("fleet.url is not set");
  await skein.run(["config", "set", "fleet.url", "$FLEET_URL"]);
  const first = await skein.run(["fleet", "setup"]);
  expect(first.code).toBe(0);
  expect(first.out).toContain("is ready: tables, leases");
  expect(first.out).toContain("skein config set fleet.url '$FLEET_URL'");
  const again = await skein.run(["fleet", "setup", "--json"]);
  expect(again.json()).toMatchObject({ steps: [] });
  const shown = await skein.run(["config", "get", "fleet.url"]);
  const everything = [unset, first, again, shown].map(({ out, err }) => out + err).join("");
  expect(everything).not.toContain("canary-secret");
  const store = await openPostgresStore({ url });
  const { lease, turn } = await beginTurn(store);
  await store.appendNode(lease, turn.id, agentNode("stored"));
  await store.close();
}, 60_000);

test("a project can't set the URL of the fleet", async () => {
  using skein = temporaryHome({});
  await Bun.write(`${skein.project}/.skein/config.jsonc`, JSON.stringify({ fleet: { url: "postgres://127.0.0.1/theirs" } }));
  const result = await skein.run(["fleet", "setup"]);
  expect(result).toMatchObject({ code: 3, err: expect.stringContaining("fleet.url is not set") });
}, 60_000);

test("a foreign host needs sslmode=verify-full, and nothing is sent to it before", async () => {
  const refused = [
    "postgres://u:canary@db.example.com/skein",
    "postgres://u:canary@db.example.com/skein?sslmode=require",
    "postgres://u:canary@10.1.2.3/skein?sslmode=verify-ca",
    "postgres://u:canary@127.0.0.1.example.com/skein",
    "postgres://u:canary@127.0.0.1/skein?host=db.example.com",
  ];
  for (const url of refused) {
    const fault = await faultOf(async () => PgDb.open(url));
    expect(fault).toMatchObject({ code: "fleet-insecure", hint: expect.stringContaining("sslmode=verify-full") });
    expect(JSON.stringify(fault)).not.toContain("canary");
  }
  for (const url of ["mysql://127.0.0.1/x", "no url", "postgres://127.0.0.1"])
    expect(await faultOf(async () => PgDb.open(url))).toMatchObject({ code: "config" });
});

test("a wrong host, database, user, layout or a read-only server is named with what to do", async () => {
  const empty = await server.createDatabase();
  const open = (url: string) => faultOf(() => openPostgresStore({ url, retryMs: 0 }));
  expect(await open("postgres://tester@127.0.0.1:1/skein")).toMatchObject({
    code: "fleet-unreachable",
    message: expect.stringContaining("127.0.0.1:1"),
  });
  expect(await open(empty.replace(/\/\w+$/, "/missing"))).toMatchObject({
    code: "fleet-unreachable",
    message: expect.stringContaining("does not exist"),
  });
  expect(await open(empty.replace("tester@", "nobody:canary@"))).toMatchObject({ message: expect.stringContaining("refused the user") });
  expect(await open(empty)).toMatchObject({ code: "fleet-missing", hint: expect.stringContaining("skein fleet setup") });
  const db = PgDb.open(empty);
  await migrate(db, "store", [{ name: "theirs", sql: "create table skein.theirs (n int)" }]);
  expect(await open(empty)).toMatchObject({ code: "fleet-missing", message: expect.stringContaining("an older layout") });
  await db.exec("update skein.layouts set version = 900");
  expect(await open(empty)).toMatchObject({ code: "fleet-newer", hint: expect.stringContaining("update skein") });
  expect(await faultOf(() => migrate(db, "store", []))).toMatchObject({ code: "fleet-newer" });
  await db.exec(`alter database ${empty.split("/").at(-1)} set default_transaction_read_only = on`);
  const readOnly = PgDb.open(empty);
  expect(await faultOf(() => readOnly.exec("create table skein.x (n int)"))).toMatchObject({ code: "fleet-readonly" });
  await Promise.all([db.close(), readOnly.close()]);
});

test("a database without space is named, loses nothing that was stored, and is used again when it has space", async () => {
  const url = await server.createDatabase();
  const setup = PgDb.open(url);
  await migrate(setup, "store", storeMigrations);
  const store = await openPostgresStore({ url });
  const { session, lease, turn } = await beginTurn(store);
  await store.appendNode(lease, turn.id, agentNode("stored before"));
  // The server raises this error when the disk is full and the file of a table can't grow.
  await setup.exec(`create function skein.full_disk() returns trigger language plpgsql as $$ begin
    raise exception using errcode = '53100', message = 'could not extend file: No space left on device'; end $$`);
  await setup.exec("create trigger full_disk before insert on skein.nodes for each statement execute function skein.full_disk()");
  const fault = await faultOf(() => store.appendNode(lease, turn.id, agentNode("no space")));
  expect(fault).toMatchObject({ code: "store-full", hint: expect.stringContaining("stored data is not lost") });
  await setup.exec("drop trigger full_disk on skein.nodes");
  await store.appendNode(lease, turn.id, agentNode("stored after"));
  await store.endTurn(lease, turn.id, okTurnEnd);
  expect((await store.sessionPath(session.id)).slice(-2).map(textOf)).toEqual(["stored before", "stored after"]);
  await store.release(lease);
  expect((await store.verify({})).problems).toEqual([]);
  await Promise.all([store.close(), setup.close()]);
}, 60_000);
