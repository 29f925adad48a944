// `npm run bench:fleet-runs`: measures the way of a run through a fleet: its start, its files, its watchers and an idle worker.
// Starts Debian's Postgres in a temporary directory. Writes the part "Runs" of FLEET.md; `-- --quick` does not.
import { mkdirSync, readFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { plainGit } from "../src/files/fixtures/plain-git.ts";
import { testProject } from "../src/files/fixtures/project.ts";
import { createTables } from "../src/fleet/create-tables.ts";
import { Checkpoints } from "../src/fleet/files/checkpoints.ts";
import { noPaths, workspacePaths } from "../src/fleet/files/fleet-paths.ts";
import { startBoss } from "../src/fleet/queue/boss.ts";
import { finishRun, submitRun } from "../src/fleet/queue/runs.ts";
import { openFrameLine } from "../src/fleet/transport/frame-line.ts";
import { runsChannel, startWorker } from "../src/fleet/worker/worker.ts";
import { beginTurn } from "../src/store/fixtures/begin-turn.ts";
import { agentNode, newSession } from "../src/store/fixtures/samples.ts";
import { PgDb } from "../src/store/postgres/connection/connection.ts";
import { openPostgresStore, type PostgresStore } from "../src/store/postgres/postgres-store.ts";
import type { FrameHandler, Connection } from "../src/protocol/connection/connection.ts";
import { temporaryHome } from "../test/support/temporary-home.ts";
import { startPostgres } from "../test/support/temporary-postgres.ts";

const report = join(import.meta.dir, "FLEET.md");
const [marker, nextMarker] = ["\n## Runs", "\n## Workers"];
const watchers = 20;

/** `unit` is that of all values. A goal without a quantile is for the median. */
type Row = { what: string; values: number[]; unit: "ms" | "bytes" | "MB"; goal?: number; p99Goal?: number };

async function main(): Promise<void> {
  const server = await startPostgres({ synchronous_commit: "on", max_connections: "200" });
  try {
    const url = await server.createDatabase();
    await createTables(url);
    const store = await openPostgresStore({ url, max: 8, worker: { slots: 1 } });
    const rows = [...(await measureStarts(store)), ...(await measureFiles(store)), ...(await measureWatchers(store, url))];
    await store.close();
    rows.push({ what: "memory of an idle worker", values: [await idleWorker(url)], unit: "MB", goal: 60 });
    const text = describe(rows);
    console.log(text);
    if (!process.argv.includes("--quick")) await writePart(text);
  } finally {
    await server.remove();
  }
}

async function measureStarts(store: PostgresStore): Promise<Row[]> {
  const { db } = store;
  const boss = await startBoss(db, { warn: console.error });
  const started = new Map<string, () => void>();
  const takeRun = async ({ run }: { run: Parameters<typeof finishRun>[2] }): Promise<void> => {
    started.get(run.id)?.();
    await finishRun(db, boss, run, { state: "done", why: null });
  };
  const quiet = { labels: [], fireSchedules: async () => {}, log: console.error };
  const worker = await startWorker({ db, boss, id: store.worker, slots: 4, takeRun, ...quiet });
  const send = async (isNotified: boolean): Promise<number> => {
    const id = Bun.randomUUIDv7();
    const { promise, resolve } = Promise.withResolvers<void>();
    started.set(id, resolve);
    const at = performance.now();
    const run = { session: id, owner: "ann", title: "a task", project: "p", head: null, leftOut: [], needs: null, priority: 0 };
    await submitRun(db, boss, { ...run, id, startAfter: null });
    if (isNotified) await db.raw(`notify ${runsChannel}`);
    await promise;
    return performance.now() - at;
  };
  await send(true);
  const notified = await repeat(200, async () => {
    const ms = await send(true);
    await Bun.sleep(15);
    return ms;
  });
  const polled = await repeat(10, () => send(false));
  await worker.drain();
  await boss.stop({ graceful: false });
  return [
    { what: "from sending a run to its start", values: notified, unit: "ms", goal: 10, p99Goal: 100 },
    { what: "the same without a notification", values: polled, unit: "ms", p99Goal: 1_200 },
  ];
}

/** A project of 1,436 files with 9.4 MB, as in the spike. */
async function measureFiles(store: PostgresStore): Promise<Row[]> {
  using from = testProject();
  const line = "some words of a source file that git can compress a little\n";
  for (let n = 0; n < 1_436; n += 1) from.write(`src/${n % 40}/file${n}.ts`, `${n}\n${line.repeat(110)}${crypto.randomUUID()}\n`);
  const files = (project: typeof from) => ({ git: plainGit, snapshots: project.snapshots, filesRoot: join(project.data, "files") });
  const { db } = store;
  const warn = console.error;
  const [sends, readies, checkpoints, sizes]: number[][] = [[], [], [], []];
  for (let round = 0; round < 5; round += 1) {
    const { session, lease } = await beginTurn(store);
    const sender = new Checkpoints({ db, files: files(from), paths: noPaths, warn });
    sends!.push(await timed(async () => void (await sender.send(session.id, from.project, await from.take()))));
    using to = testProject();
    const workspaces = join(to.root, "workspaces");
    const directory = join(workspaces, session.id);
    mkdirSync(directory, { recursive: true });
    const worker = new Checkpoints({ db, files: files(to), paths: workspacePaths(workspaces), warn });
    readies!.push(await timed(async () => void (await worker.restore(session.id, directory))));
    for (let turn = 0; turn < 5; turn += 1) {
      for (const name of ["1/file1.ts", "2/file2.ts", "3/file3.ts"])
        await Bun.write(join(directory, "src", name), `${line.repeat(110)}changed ${turn}\n`);
      checkpoints!.push(
        await timed(async () => worker.hooks().onEnd(lease, directory, (await to.snapshots.take(directory)) ?? "no state")),
      );
      const [row] = await db.raw<{ size: number }>(
        "select length(bytes) as size from skein.packs where session = $1 order by n desc limit 1",
        [session.id],
      );
      sizes!.push(row!.size);
    }
    await store.release(lease);
  }
  return [
    { what: "1,436 files of 9.4 MB sent", values: sends!, unit: "ms" },
    { what: "a fresh worker has them", values: readies!, unit: "ms", goal: 1_000 },
    { what: "checkpoint of 3 changed files", values: checkpoints!, unit: "ms", goal: 150 },
    { what: "its size", values: sizes!, unit: "bytes" },
  ];
}

async function measureWatchers(store: PostgresStore, url: string): Promise<Row[]> {
  const served: Connection[] = [];
  const nothing: FrameHandler = { receive: () => {}, closed: () => {} };
  const serve = (connection: Connection): FrameHandler => {
    served.push(connection);
    return nothing;
  };
  await store.beatNow();
  const line = await openFrameLine({ db: store.db, address: store.worker, accept: serve, warn: console.error });
  const alone = await appends(store, () => {});
  const delays: number[] = [];
  const receive = (frame: string): void => void delays.push(performance.now() - Number(frame.split(" ")[0]));
  const clients = await Promise.all(
    Array.from({ length: watchers }, async (_, n) => {
      const db = PgDb.open(url, { max: 2 });
      const client = await openFrameLine({ db, address: `watcher ${n}`, accept: null, warn: console.error });
      (await client.connect(store.worker, () => ({ ...nothing, receive }))).send("hello");
      return { db, client };
    }),
  );
  while (served.length < watchers) await Bun.sleep(20);
  const watched = await appends(store, () => served.forEach((connection) => connection.send(`${performance.now()} a stored event`)));
  const lasting = delays.splice(0);
  for (let count = 0; count < 2_000; count += 1) {
    served[0]!.send(`${performance.now()} a word of a streaming answer`);
    if (count % 10 === 9) await Bun.sleep(10);
  }
  await Bun.sleep(1_500);
  const text = delays.splice(0);
  for (const { client, db } of clients) {
    await client.close();
    await db.close();
  }
  await line.close();
  return [
    { what: "append of a node, nobody watches", values: alone, unit: "ms" },
    { what: `append of a node, ${watchers} watchers elsewhere`, values: watched, unit: "ms", goal: median(alone) * 1.05 },
    { what: "until a watcher elsewhere has a stored event", values: lasting, unit: "ms", goal: 50 },
    { what: "until it has a word of an answer, 1,000 words/s", values: text, unit: "ms", goal: 300 },
  ];
}

/** Twenty nodes a second, as a turn with short calls. */
async function appends(store: PostgresStore, onStored: () => void): Promise<number[]> {
  const { lease, turn } = await beginTurn(store, newSession());
  const values = await repeat(200, async () => {
    const ms = await timed(async () => void (await store.appendNode(lease, turn.id, agentNode("some words of an answer ".repeat(20)))));
    onStored();
    await Bun.sleep(50);
    return ms;
  });
  await store.release(lease);
  return values;
}

/** The resident memory of a worker's process, in MB. */
async function idleWorker(url: string): Promise<number> {
  using home = temporaryHome({ FLEET_URL: url });
  await home.run(["config", "set", "fleet.url", "$FLEET_URL"]);
  const child = home.start(["worker", "start", "--json"]);
  const reader = child.stdout.getReader();
  let text = "";
  while (!text.includes("\n}\n")) text += new TextDecoder().decode((await reader.read()).value);
  const { pid } = JSON.parse(text) as { pid: number };
  await Bun.sleep(10_000);
  const kilobytes = Number(/^VmRSS:\s+(\d+)/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"))?.[1]);
  child.kill("SIGTERM");
  await child.exited;
  return kilobytes / 1024;
}

async function timed(act: () => Promise<void>): Promise<number> {
  const start = performance.now();
  await act();
  return performance.now() - start;
}

async function repeat(count: number, act: () => Promise<number>): Promise<number[]> {
  const values: number[] = [];
  for (let done = 0; done < count; done += 1) values.push(await act());
  return values;
}

function at(values: number[], share: number): number {
  const sorted = values.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))] ?? NaN;
}

const median = (values: number[]): number => at(values, 0.5);

function describe(rows: Row[]): string {
  const lines = rows.map(({ what, values, unit, goal, p99Goal }) => {
    const goals = [
      goal === undefined ? "" : `${goal.toFixed(goal < 10 ? 1 : 0)} median: ${median(values) <= goal ? "met" : "not met"}`,
      p99Goal === undefined ? "" : `${p99Goal} p99: ${at(values, 0.99) <= p99Goal ? "met" : "not met"}`,
    ].filter((text) => text !== "");
    const figures = [median(values), at(values, 0.99)].map((value) => value.toFixed(unit === "bytes" ? 0 : 1));
    return `| ${what} | ${values.length} | ${unit} | ${figures.join(" | ")} | ${goals.join(", ")} |`;
  });
  const load = loadavg().map((value) => value.toFixed(1));
  return `## Runs

${new Date().toISOString().slice(0, 10)}, \`npm run bench:fleet-runs\`; Postgres beside it on ${cpus().length} cores, load ${load.join(" ")} at the end.

| what | count | unit | median | p99 | goal |
|---|---:|---|---:|---:|---|
${lines.join("\n")}
`;
}

async function writePart(text: string): Promise<void> {
  const old = await Bun.file(report).text();
  const next = old.includes(nextMarker) ? old.slice(old.indexOf(nextMarker)) : "";
  const before = old.slice(0, old.includes(marker) ? old.indexOf(marker) : old.length - next.length);
  await Bun.write(report, `${before.trimEnd()}\n\n${text}${next}`);
}

void main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
