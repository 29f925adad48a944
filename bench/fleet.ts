// `npm run bench:fleet`: measures the store of a fleet in Postgres beside SQLite, on the same rows in the same run. Starts
// Debian's Postgres in a temporary directory. Writes the first part of FLEET.md; `-- --quick` does not. `-- --nodes <n>`: size.
import { existsSync, mkdtempSync, rmSync } from "node:fs";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { agentNode, newSession, newTurn } from "../src/store/fixtures/samples.ts";
import { openPostgresStore } from "../src/store/postgres/postgres-store.ts";
import { openStore } from "../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../src/store/store.ts";
import { startDelayingProxy } from "../test/support/delaying-proxy.ts";
import { fleetDatabase } from "../test/support/fleet-database.ts";
import { startPostgres } from "../test/support/temporary-postgres.ts";
import { copyStore } from "./fleet-data.ts";
import { commonWord, createStore, longSession, rareWord, twoWords } from "./store-data.ts";
import { times } from "./timing.ts";

const report = join(import.meta.dir, "FLEET.md");
const nodesFlag = process.argv.indexOf("--nodes");
const nodes = nodesFlag < 0 ? 1_000_000 : Number(process.argv[nodesFlag + 1]);
const log = (line: string) => console.error(line);

/** `goal` is for Postgres, at the median or at the named quantile, in ms. */
type Row = { what: string; sqlite: number[] | null; postgres: number[]; goal?: number; goalAt?: 0.5 | 0.99 };

async function main(): Promise<void> {
  const directory = mkdtempSync(join(tmpdir(), "skein-bench-fleet-"));
  const server = await startPostgres({ shared_buffers: "1GB", max_wal_size: "4GB", synchronous_commit: "on" });
  try {
    const path = join(directory, "store.db");
    await createStore(path, { nodes, sessions: Math.max(10, nodes / 1000), pathNodes: 10_000 }, log);
    const url = await fleetDatabase(server);
    const worker = { beatMs: 600_000, ttlMs: 900_000 };
    const store = await openPostgresStore({ url, worker });
    await copyStore(path, store.db, log);
    const local = await openStore({ path, outputsDir: null });
    const rows = await compare(local, store);
    await Promise.all([local.close(), store.close()]);
    for (const roundTripMs of [2, 20]) rows.push(...(await measureAt(url, server.port, roundTripMs)));
    const text = describe(rows);
    console.log(text);
    if (!process.argv.includes("--quick")) await Bun.write(report, text + (await otherParts()));
  } finally {
    await server.remove();
    rmSync(directory, { recursive: true, force: true });
  }
}

async function compare(local: Store, fleet: Store): Promise<Row[]> {
  const both = async (what: string, count: number, act: (store: Store) => Promise<() => Promise<unknown>>, goal: Partial<Row> = {}) => {
    const sqlite = await times(count, await act(local));
    const row: Row = { what, sqlite, postgres: await times(count, await act(fleet)), ...goal };
    log(`measured: ${what}`);
    return row;
  };
  const find = (query: string) => async (store: Store) => () => store.search(query, { project: null, limit: 20 });
  return [
    await both("append a node", 1000, appender, { goal: 5, goalAt: 0.99 }),
    await both(
      "path of 10,000 nodes",
      20,
      async (store) => {
        const { tip } = await store.findSession(longSession, null);
        return () => store.path(tip);
      },
      { goal: 60 },
    ),
    await both("session view of 10,000 nodes", 10, async (store) => {
      const { id } = await store.findSession(longSession, null);
      return () => store.sessionView(id);
    }),
    await both("list of 50 sessions", 30, async (store) => () => store.listSessions({ project: "/project", limit: 50 })),
    await both("search: a rare word", 20, find(rareWord), { goal: 50 }),
    await both("search: a word in most nodes", 20, find(commonWord), { goal: 50 }),
    await both("search: two common words", 20, find(twoWords.join(" ")), { goal: 50 }),
  ];
}

async function appender(store: Store): Promise<() => Promise<unknown>> {
  const session = await store.createSession(newSession({ project: "/bench" }));
  const lease = await store.acquire(session.id);
  const { value: turn } = await store.startTurn(lease, newTurn());
  const node = agentNode("some words of an answer ".repeat(20));
  return () => store.appendNode(lease, turn.id, node);
}

/** The same server behind a proxy that delays every answer. */
async function measureAt(url: string, port: number, roundTripMs: number): Promise<Row[]> {
  const proxy = startDelayingProxy(port, roundTripMs);
  const there = { url: url.replace(`:${port}/`, `:${proxy.port}/`), worker: { beatMs: 600_000, ttlMs: 900_000 } };
  try {
    const connect = await times(10, async () => (await openPostgresStore(there)).close());
    const store = await openPostgresStore(there);
    const append = await times(50, await appender(store));
    await store.close();
    return [
      { what: `connect, check the layout and close, at ${roundTripMs} ms round trip`, sqlite: null, postgres: connect },
      { what: `append a node, at ${roundTripMs} ms round trip`, sqlite: null, postgres: append },
    ];
  } finally {
    proxy.stop();
  }
}

const markers = ["\n## Runs", "\n## Workers"];

/** The parts of the report that other measurements write. */
async function otherParts(): Promise<string> {
  const old = existsSync(report) ? await Bun.file(report).text() : "";
  const starts = markers.map((marker) => old.indexOf(marker)).filter((start) => start >= 0);
  return starts.length === 0 ? "" : old.slice(Math.min(...starts));
}

function describe(rows: Row[]): string {
  const cell = (durations: number[] | null, share: number) => (durations === null ? "" : quantile(durations, share).toFixed(2));
  const lines = rows.map(({ what, sqlite, postgres, goal, goalAt = 0.5 }) => {
    const isMet = goal !== undefined && quantile(postgres, goalAt) <= goal;
    const text = goal === undefined ? "" : `${goal} ${goalAt === 0.5 ? "median" : "p99"}: ${isMet ? "met" : "not met"}`;
    const cells = [cell(sqlite, 0), cell(sqlite, 0.5), cell(sqlite, 0.99), cell(postgres, 0), cell(postgres, 0.5), cell(postgres, 0.99)];
    return `| ${what} | ${cells.join(" | ")} | ${text} |`;
  });
  return `# A fleet on Postgres

## Store

${new Date().toISOString().slice(0, 10)}, \`npm run bench:fleet\`; ${nodes.toLocaleString("en-US")} nodes, the same rows in both stores; Bun ${Bun.version}, \
${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, load ${loadavg()
    .map((value) => value.toFixed(1))
    .join(" ")} at the end. Milliseconds. With a load above the number of cores, read medians and p99 as upper bounds.

| what | SQLite best | median | p99 | Postgres best | median | p99 | goal |
|---|---:|---:|---:|---:|---:|---:|---|
${lines.join("\n")}

An append in Postgres is durable when it returns; in SQLite it is at the end of the turn.
`;
}

function quantile(durations: number[], share: number): number {
  const sorted = durations.toSorted((a, b) => a - b);
  return sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!;
}

void main().then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error);
    process.exit(1);
  },
);
