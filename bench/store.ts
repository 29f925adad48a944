// `npm run bench:tree`: measures common operations on a store of a million nodes in a thousand sessions, created once in
// bench/data: in this process, and with the built program. Writes TREE.md; `-- --quick` does not.
import { existsSync } from "node:fs";
import { cpus, loadavg, tmpdir, totalmem } from "node:os";
import { join } from "node:path";
import { newSession, newTurn } from "../src/store/fixtures/samples.ts";
import { openStore } from "../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../src/store/store.ts";
import { buildSkein } from "./contenders.ts";
import { commonWord, longSession, createStore, rareWord, twoWords } from "./store-data.ts";
import { times } from "./timing.ts";

const home = join(import.meta.dir, "data", "tree");
const path = join(home, "data", "skein.db");
const size = { nodes: 1_000_000, sessions: 1000, pathNodes: 10_000 };

type Row = { what: string; times: number[]; goal?: number };

async function main(args: string[]): Promise<void> {
  if (!existsSync(path)) await createStore(path, size, (line) => console.error(line));
  const inside = await measureInside();
  const outside = await measureProgram();
  const report = describe(inside, outside);
  console.log(report);
  if (!args.includes("--quick")) await Bun.write(join(import.meta.dir, "TREE.md"), report);
}

async function measureInside(): Promise<Row[]> {
  await (await openStore({ path, outputsDir: null })).close();
  const open = await times(20, async () => (await openStore({ path, outputsDir: null })).close());
  const store = await openStore({ path, outputsDir: null });
  const session = await store.findSession(longSession, null);
  const [other] = await store.listSessions({ project: null, limit: 1 });
  const find = (query: string) => () => store.search(query, { project: null, limit: 20 });
  const rows: Row[] = [
    { what: "open and close the store", times: open },
    { what: "path of 10,000 nodes", times: await times(200, () => store.path(session.tip)), goal: 20 },
    { what: "tree of 10,000 nodes", times: await times(50, () => store.treeNodes(session.tree)) },
    { what: `tree of an average session`, times: await times(50, () => store.treeNodes(other!.tree)) },
    { what: "list of 50 sessions", times: await times(50, () => store.listSessions({ project: "/project", limit: 50 })) },
    { what: "search: a rare word", times: await times(30, find(rareWord)), goal: 100 },
    { what: "search: a word in most nodes", times: await times(30, find(commonWord)), goal: 100 },
    { what: "search: two common words", times: await times(30, find(twoWords.join(" "))), goal: 100 },
    { what: "append a node", times: await appends(store, 3000), goal: 1 },
  ];
  await store.close();
  return rows;
}

/** In a new session, which is purged afterwards. */
async function appends(store: Store, count: number): Promise<number[]> {
  const session = await store.createSession(newSession({ project: "/bench" }));
  const lease = await store.acquire(session.id);
  const { value: turn } = await store.startTurn(lease, newTurn());
  const node = { author: "agent" as const, parts: [{ kind: "text" as const, text: "some words of an answer ".repeat(20) }] };
  const durations = await times(count, () => store.appendNode(lease, turn.id, node));
  await store.endTurn(lease, turn.id, { status: "ok", error: null, nativeId: null, enforced: null });
  await store.release(lease);
  await store.updateSession(session.id, { archivedAt: 1 });
  await store.purge({ session: session.id, archivedBefore: 1, dryRun: false });
  return durations;
}

async function measureProgram(): Promise<Row[]> {
  await buildSkein();
  const skein = join(import.meta.dir, "..", "dist", "skein");
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, SKEIN_HOME: home, ANTHROPIC_API_KEY: "none", SKEIN_OFFLINE: "1" };
  const rows: Row[] = [];
  for (const command of [
    ["list", "--all", "--json"],
    ["show", longSession],
    ["show", longSession, "--json"],
    ["context", longSession, "--json"],
    ["search", rareWord, "--all-projects", "--json"],
    ["search", commonWord, "--all-projects", "--json"],
    ["search", ...twoWords, "--all-projects", "--json"],
  ]) {
    const run = () => Bun.spawn([skein, ...command], { cwd: tmpdir(), env, stdio: ["ignore", "ignore", "ignore"] }).exited;
    const what = `skein ${command.join(" ")}`;
    if ((await run()) === 0) rows.push({ what, times: await times(10, run) });
    else console.error(`skipped: ${what}`);
  }
  return rows;
}

function describe(inside: Row[], outside: Row[]): string {
  const load = loadavg().map((value) => value.toFixed(1));
  return `# A tree of a million nodes

${new Date().toISOString().slice(0, 10)}, \`npm run bench:tree\`; ${size.nodes.toLocaleString("en-US")} nodes in ${size.sessions.toLocaleString("en-US")} sessions, \
${Math.round(Bun.file(path).size / 1e6)} MB, made by \`bench/store-data.ts\` from a fixed seed; Bun ${Bun.version}, ${cpus().length} cores, \
${Math.round(totalmem() / 2 ** 30)} GB, load ${load.join(" ")} at the end. Milliseconds. The first call of a process has its own column: cache and code are cold. \
The load shows whether other work ran on the machine; it then affects medians and p99.

## In one process

${table(inside)}
## By the program, process start included

${table(outside)}`;
}

function table(rows: Row[]): string {
  const lines = rows.map(({ what, times: durations, goal }) => {
    const sorted = durations.toSorted((a, b) => a - b);
    const quantile = (share: number) => sorted[Math.min(sorted.length - 1, Math.floor(sorted.length * share))]!.toFixed(2);
    return `| ${what} | ${durations[0]!.toFixed(2)} | ${sorted[0]!.toFixed(2)} | ${quantile(0.5)} | ${quantile(0.99)} | ${goal === undefined ? "" : `< ${goal}`} |`;
  });
  return `| what | first | best | median | p99 | goal |\n|---|---:|---:|---:|---:|---:|\n${lines.join("\n")}\n`;
}

void main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
