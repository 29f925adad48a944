import { afterAll, beforeAll, expect, test } from "bun:test";
import { fleetMigrations } from "../../../src/fleet/migrations.ts";
import { openFrameLine } from "../../../src/fleet/transport/frame-line.ts";
import type { Connection, FrameHandler } from "../../../src/protocol/connection/connection.ts";
import { PgDb } from "../../../src/store/postgres/connection/connection.ts";
import { migrate } from "../../../src/store/postgres/schema/migrate.ts";
import { storeMigrations } from "../../../src/store/postgres/schema/migrations.ts";
import { startPostgres, type TemporaryPostgres } from "../../support/temporary-postgres.ts";
import { pollUntil } from "../../../src/kit/flow/sleep.ts";

let server: TemporaryPostgres;
let db: PgDb;

beforeAll(async () => {
  server = await startPostgres({ fsync: "off" });
  db = PgDb.open(await server.createDatabase(), { max: 4 });
  await migrate(db, "store", storeMigrations);
  await migrate(db, "fleet", fleetMigrations);
  await db.run(`insert into skein.workers (id, machine, boot, namespace, pid, started, ttl_ms) values ('w1', 'm', 'b', 'n', 1, '1', 8000)`);
}, 60_000);

afterAll(async () => {
  await db.close();
  await server.remove();
}, 60_000);

type Collector = { frames: string[]; ended: string[]; connection: Connection | null };

function collector(answer?: (frame: string, connection: Connection) => void) {
  const seen: Collector = { frames: [], ended: [], connection: null };
  const accept = (connection: Connection): FrameHandler => {
    seen.connection = connection;
    return {
      receive: (frame) => {
        seen.frames.push(frame);
        answer?.(frame, connection);
      },
      closed: (why) => void seen.ended.push(why),
    };
  };
  return { seen, accept };
}

/** Resolves when the condition holds. */
async function waitFor(condition: () => boolean): Promise<void> {
  if (!(await pollUntil(55_000, async () => condition()))) throw new Error("the condition did not come true");
}

const warn = (line: string): void => void process.stderr.write(`${line}\n`);

test("frames arrive complete and in order in both directions, also thousands of them", async () => {
  const worker = collector((frame, connection) => connection.send(`answer to ${frame}`));
  const serving = await openFrameLine({ db, address: "w1", accept: worker.accept, warn });
  const calling = await openFrameLine({ db, address: "client", accept: null, warn });
  const client = collector();
  const connection = await calling.connect("w1", client.accept);
  const sent = Array.from({ length: 2_000 }, (_, n) => `frame ${n} "quoted" \\ ü\u0000\ud800`);
  for (const frame of sent) connection.send(frame);
  await waitFor(() => client.seen.frames.length === sent.length);
  expect(worker.seen.frames).toEqual(sent);
  expect(client.seen.frames).toEqual(sent.map((frame) => `answer to ${frame}`));
  connection.close("done");
  await waitFor(() => worker.seen.ended.length === 1);
  expect(await db.rows("select n from skein.frames")).toEqual([]);
  await calling.close();
  await serving.close();
}, 60_000);

test("a missing row closes the connection, and nothing after it is handed over", async () => {
  const worker = collector();
  const serving = await openFrameLine({ db, address: "w1", accept: worker.accept, warn });
  const put = (position: number, body: string | null) =>
    db.run(
      "insert into skein.frames (recipient, sender, connection, position, body) values ('w1', 'x', 'c1', $1::int, $2::text)",
      position,
      body,
    );
  await put(0, '["a"]');
  await put(2, '["c"]');
  await waitFor(() => worker.seen.ended.length === 1);
  expect(worker.seen).toMatchObject({ frames: ["a"], ended: ["messages were lost"] });
  await serving.close();
}, 60_000);

test("a worker that is not registered can't be connected to", async () => {
  const calling = await openFrameLine({ db, address: "client", accept: null, warn });
  await expect(calling.connect("unknown", collector().accept)).rejects.toThrow("worker unknown is gone");
  await calling.close();
}, 60_000);

test("a connection to a worker that is gone ends before its silence alone would end it", async () => {
  await db.run(`insert into skein.workers (id, machine, boot, namespace, pid, started, ttl_ms) values ('w2', 'm', 'b', 'n', 1, '1', 8000)`);
  const calling = await openFrameLine({ db, address: "client", accept: null, warn });
  const client = collector();
  await calling.connect("w2", client.accept);
  await db.run("delete from skein.workers where id = 'w2'");
  await waitFor(() => client.seen.ended.length === 1);
  expect(client.seen.ended).toEqual(["worker w2 is gone"]);
  await calling.close();
}, 60_000);

test("a server that is restarted ends no line: the next connection works", async () => {
  const worker = collector();
  const serving = await openFrameLine({ db, address: "w1", accept: worker.accept, warn: () => {} });
  await server.stop("immediate");
  await server.start();
  const calling = await openFrameLine({ db, address: "client", accept: null, warn: () => {} });
  const connection = await calling.connect("w1", collector().accept);
  connection.send("after the restart");
  await waitFor(() => worker.seen.frames.includes("after the restart"));
  await calling.close();
  await serving.close();
}, 60_000);
