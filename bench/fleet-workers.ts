// `npm run bench:fleet-workers`: simulates 300 workers with 2,000 sessions. The workers are loops in six processes with the real
// queue, heartbeats and leases; only the turns are made up. One process is killed. Writes the second part of FLEET.md;
// `-- --quick` does not. `-- --workers <n>` and `-- --sessions <n>` make it smaller.
import { existsSync, readdirSync, readFileSync } from "node:fs";
import { cpus } from "node:os";
import { join } from "node:path";
import { createTables } from "../src/fleet/create-tables.ts";
import { startBoss } from "../src/fleet/queue/boss.ts";
import { finishRun, submitRun, type Claim } from "../src/fleet/queue/runs.ts";
import { startWorker } from "../src/fleet/worker/worker.ts";
import { agentNode, newSession, newTurn, okTurnEnd } from "../src/store/fixtures/samples.ts";
import { openPostgresStore, type PostgresStore } from "../src/store/postgres/postgres-store.ts";
import { acquire, release } from "../src/store/postgres/leases/lease.ts";
import { Worker } from "../src/store/postgres/leases/worker.ts";
import { startPostgres } from "../test/support/temporary-postgres.ts";

const processes = 6;
const workersInEach = Math.ceil(flag("--workers", 300) / processes);
const sessions = flag("--sessions", 2_000);
const owners = 100;
const nodesOfATurn = 10;
/** Between two nodes of a turn: a model answers. */
const stepMs = 1_000;
const killAfterMs = 20_000;
const report = join(import.meta.dir, "FLEET.md");
const marker = "\n## Workers";

function flag(name: string, usual: number): number {
  const at = process.argv.indexOf(name);
  return at < 0 ? usual : Number(process.argv[at + 1]);
}

type Counts = { firstClaims: number[]; claims: number[]; appends: number[]; beats: number[]; takeOvers: number[]; problems: string[] };

async function main(): Promise<void> {
  const server = await startPostgres({ shared_buffers: "1GB", max_connections: "450" });
  try {
    const url = await server.createDatabase();
    await createTables(url);
    const store = await openPostgresStore({ url, max: 8 });
    await submitAll(store);
    const startedAt = performance.now();
    const cpuAtStart = cpuSecondsOf(server.directory);
    const children = Array.from({ length: processes }, () =>
      Bun.spawn([process.execPath, import.meta.path, ...process.argv.slice(2), "--child", url], { stdio: ["pipe", "pipe", "inherit"] }),
    );
    const outputs = children.map(({ stdout }) => new Response(stdout).text());
    let isKilled = false;
    let connections = 0;
    for (let left = sessions; left > 0; await Bun.sleep(500)) {
      if (!isKilled && performance.now() - startedAt > killAfterMs) {
        isKilled = true;
        await store.db.raw("create table killed_at as select clock_timestamp() as at");
        children[0]!.kill("SIGKILL");
      }
      const [row] = await store.db.raw<{ left: number; open: number }>(`select
        (select count(*)::int from skein.runs where state in ('waiting', 'running')) as left,
        (select count(*)::int from pg_stat_activity where application_name = 'skein') as open`);
      left = row!.left;
      connections = Math.max(connections, row!.open);
    }
    const seconds = (performance.now() - startedAt) / 1000;
    const cores = (cpuSecondsOf(server.directory) - cpuAtStart) / seconds;
    for (const child of children.slice(1)) await child.stdin.end();
    const counts = (await Promise.all(outputs)).filter((text) => text !== "").map((text) => JSON.parse(text) as Counts);
    const text = describe(counts, { seconds, cores, connections, ...(await checkAll(store)) });
    await store.close();
    console.log(text);
    if (!process.argv.includes("--quick")) await writePart(text);
  } finally {
    await server.remove();
  }
}

async function submitAll(store: PostgresStore): Promise<void> {
  const boss = await startBoss(store.db, { warn: console.error });
  const submit = async (number: number): Promise<void> => {
    const { id } = await store.createSession(newSession({ project: "/bench" }));
    const owner = `owner ${number % owners}`;
    const run = { session: id, owner, title: "a task", project: "p", head: null, leftOut: [], needs: null, priority: 0, startAfter: null };
    await submitRun(store.db, boss, run);
  };
  for (let first = 0; first < sessions; first += 8)
    await Promise.all(Array.from({ length: Math.min(8, sessions - first) }, (_, index) => submit(first + index)));
  await boss.stop({ graceful: false });
}

/** Fifty workers, each with a row, a heartbeat and a machine of its own, on the connections of one process. */
async function work(url: string): Promise<void> {
  // A claim needs a second connection while others wait for the lock of the queue, as each process has in a real fleet.
  const store = await openPostgresStore({ url, max: workersInEach + 5, retryMs: 60_000 });
  const { db } = store;
  const counts: Counts = { firstClaims: [], claims: [], appends: [], beats: [], takeOvers: [], problems: [] };
  const boss = await startBoss(db, { warn: (line) => counts.problems.push(line) });
  const begin = db.begin.bind(db);
  db.begin = async (run) => {
    const start = performance.now();
    const result = await begin(run);
    if (typeof result === "object" && result !== null && "isTakeOver" in result)
      (counts.firstClaims.length < workersInEach ? counts.firstClaims : counts.claims).push(performance.now() - start);
    return result;
  };
  const call = db.call.bind(db);
  db.call = async <T>(name: string, ...params: Parameters<typeof db.call> extends [string, ...infer Rest] ? Rest : never): Promise<T> => {
    const start = performance.now();
    const result = await call<T>(name, ...params);
    if (name === "beat") counts.beats.push(performance.now() - start);
    if (name === "append_node") counts.appends.push(performance.now() - start);
    return result;
  };
  const workers = Array.from({ length: workersInEach }, async () => {
    let rescue = (): void => {};
    const hooks = { onReaped: () => rescue() };
    const own = new Worker(db, { slots: 1, machine: "simulated", holder: { boot: crypto.randomUUID() } }, hooks);
    await own.register();
    const takeRun = async ({ run, isTakeOver }: Claim): Promise<void> => {
      try {
        if (isTakeOver) await addTakeOver(store, counts);
        await takeTurn(store, own, run.session);
        await finishRun(db, boss, run, { state: "done", why: null });
      } catch (error) {
        counts.problems.push(String(error));
      }
    };
    const log = (line: string): void => void (line.startsWith("run ") || counts.problems.push(line));
    const worker = await startWorker({ db, boss, id: own.id, slots: 1, labels: [], takeRun, fireSchedules: async () => {}, log });
    rescue = worker.rescue;
    return worker;
  });
  const running = await Promise.all(workers);
  for await (const _ of Bun.stdin.stream()) continue;
  await Promise.all(running.map((worker) => worker.drain()));
  await Bun.write(Bun.stdout, JSON.stringify(counts));
}

/** The time since the kill, by the clock of the database. */
async function addTakeOver({ db }: PostgresStore, counts: Counts): Promise<void> {
  const [row] = await db.raw<{ ms: number }>("select (extract(epoch from clock_timestamp() - at) * 1000)::float8 as ms from killed_at");
  counts.takeOvers.push(row!.ms);
}

async function takeTurn(store: PostgresStore, own: Worker, session: string): Promise<void> {
  const lease = await acquire(store.db, own, session);
  for (const { id } of await store.openTurns(session)) await store.endTurn(lease, id, okTurnEnd);
  const { value: turn } = await store.startTurn(lease, newTurn());
  for (let count = 0; count < nodesOfATurn; count += 1) {
    await Bun.sleep(stepMs * (0.5 + Math.random()));
    await store.appendNode(lease, turn.id, agentNode("some words of an answer ".repeat(20)));
  }
  await store.endTurn(lease, turn.id, okTurnEnd);
  await release(store.db, own, lease);
}

type Checked = { done: number; most: number; incomplete: number; damage: number };

async function checkAll(store: PostgresStore): Promise<Checked> {
  const [row] = await store.db.raw<{ done: number; most: number; incomplete: number }>(`select
    (select count(*)::int from skein.runs where state = 'done') as done, (select max(attempts) from skein.runs) as most,
    (select count(*)::int from skein.sessions s where ${nodesOfATurn} > (select count(*) from skein.nodes n where n.session = s.n)) as incomplete`);
  return { ...row!, damage: (await store.verify({})).problems.length };
}

/** The time of the server and of all processes that it started. */
function cpuSecondsOf(directory: string): number {
  const rows = readdirSync("/proc").flatMap((pid) => (/^\d+$/.test(pid) ? statOf(pid) : []));
  const server = rows.find(({ pid }) => readText(`/proc/${pid}/cmdline`).includes(`${directory}/data`));
  const family = rows.filter(({ pid, parent }) => pid === server?.pid || parent === server?.pid);
  return family.reduce((sum, { ticks, pid, childTicks }) => sum + ticks + (pid === server?.pid ? childTicks : 0), 0) / 100;
}

function statOf(pid: string): { pid: string; parent: string; ticks: number; childTicks: number }[] {
  const fields = readText(`/proc/${pid}/stat`).split(") ").at(-1)!.split(" ");
  if (fields.length < 20) return [];
  return [{ pid, parent: fields[1]!, ticks: Number(fields[11]) + Number(fields[12]), childTicks: Number(fields[13]) + Number(fields[14]) }];
}

function readText(path: string): string {
  try {
    return readFileSync(path, "utf8");
  } catch {
    return ""; // the process has ended
  }
}

type Totals = Checked & { seconds: number; cores: number; connections: number };

function describe(counts: Counts[], totals: Totals): string {
  const all = (name: Exclude<keyof Counts, "problems">) => counts.flatMap((count) => count[name]).toSorted((a, b) => a - b);
  const at = (values: number[], share: number) => values[Math.min(values.length - 1, Math.floor(values.length * share))] ?? NaN;
  const row = (what: string, values: number[], goal: string, isMet: boolean) =>
    `| ${what} | ${values.length.toLocaleString("en-US")} | ${at(values, 0.5).toFixed(1)} | ${at(values, 0.99).toFixed(1)} | ${(values.at(-1) ?? NaN).toFixed(1)} | ${goal}: ${isMet ? "met" : "not met"} |`;
  const [first, claims, appends, beats, takeOvers] = [all("firstClaims"), all("claims"), all("appends"), all("beats"), all("takeOvers")];
  const problems = [...new Set(counts.flatMap((count) => count.problems))];
  const { seconds, cores, connections, done, most, incomplete, damage } = totals;
  return `## Workers

${new Date().toISOString().slice(0, 10)}, \`npm run bench:fleet-workers\`; ${processes * workersInEach} workers of one slot as loops in ${processes} processes, ${sessions.toLocaleString("en-US")} sessions of ${owners} owners, \
turns of ${nodesOfATurn} nodes in about ${(nodesOfATurn * stepMs) / 1000} s; Postgres beside them on ${cpus().length} cores. After ${killAfterMs / 1000} s one process with ${workersInEach} workers is killed. Milliseconds.

| what | count | median | p99 | highest | goal |
|---|---:|---:|---:|---:|---|
| first claim of each worker, all at once | ${first.length} | ${at(first, 0.5).toFixed(1)} | ${at(first, 0.99).toFixed(1)} | ${(first.at(-1) ?? NaN).toFixed(1)} | |
${row("further claim of a run", claims, "20 p99", at(claims, 0.99) <= 20)}
${row("append of a node", appends, "5 p99", at(appends, 0.99) <= 5)}
${row("heartbeat", beats, "none was late: 1,000", (beats.at(-1) ?? 0) < 1000)}
${row("from the kill to the next start", takeOvers, "10,000 p99", at(takeOvers, 0.99) <= 10_000)}

All in ${seconds.toFixed(0)} s: ${done} runs are done, with at most ${most} starts; ${incomplete} sessions without all nodes; \`verify\` finds ${damage} problems. \
Postgres used ${cores.toFixed(2)} cores (goal below 1: ${cores < 1 ? "met" : "not met"}) and ${connections} connections (goal below 400: ${connections < 400 ? "met" : "not met"}). \
${problems.length === 0 ? "No error." : `Errors: ${problems.slice(0, 5).join("; ")}.`}
`;
}

async function writePart(text: string): Promise<void> {
  const old = existsSync(report) ? await Bun.file(report).text() : "";
  const first = old.includes(marker) ? old.slice(0, old.indexOf(marker)) : old.trimEnd() + "\n";
  await Bun.write(report, `${first}\n${text}`);
}

const child = process.argv.indexOf("--child");
void (child < 0 ? main() : work(process.argv[child + 1]!)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
