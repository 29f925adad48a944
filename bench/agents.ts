// What skein adds to another agent's command line: each CLI by itself, in namespaces alone, and through `skein run -a`,
// behind walls and through the gateway, in turns, on one scripted model server. Writes the table of AGENTS.md and leaves
// what is said below it; `-- --quick` makes one round, `-- codex pi` takes those alone, and then nothing is written.
import { rm } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { Adapter, CliLaunch } from "../src/agents/external/adapters/adapter.ts";
import { loadAdapters } from "../src/agents/external/adapters/index.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import { probeSandbox } from "../src/sandbox/probe.ts";
import { sandboxCommand } from "../src/sandbox/sandbox-command.ts";
import { startRemoteModelServer } from "../test/support/model-server-control.ts";
import { buildSkein, type Contender } from "./contenders.ts";
import { type Figures, measure, type Scenario, type BenchSite, openBenchSite } from "./measure.ts";
import { adoptOrphans } from "./orphans.ts";
import { installPeers, peerNames, peersBin, peersDir } from "./peers.ts";

const models: Record<string, string> = {
  claude: "claude-sonnet-4-5",
  codex: "gpt-5.2",
  gemini: "gemini-3-pro-preview",
  opencode: "claude-sonnet-4-5",
  pi: "claude-sonnet-4-5",
};

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 1 : 5;
const named = process.argv.slice(2).filter((word) => !word.startsWith("-"));
const few = sums(2);
const many = sums(12);

/** A tree's configuration directory is as warm as a home that was used before; nothing of the earlier turns is sent. */
const warm = ["--session", "bench", "--fresh"];

type Round = { few: Figures; callMs: number; memory: Figures };

const file = join(import.meta.dir, "AGENTS.md");
const accountHead = "## What it comes to";

await installPeers(peerNames);
const skein = await buildSkein();
const path = `${peersBin}:${process.env["PATH"]}`;
const machine = await probeSandbox({ selfCommand: skein.command("").slice(0, 1), path });
adoptOrphans();
const server = await startRemoteModelServer(shellScript([]));
const rows: string[] = [];
try {
  for (const adapter of await loadAdapters()) if (named.length === 0 || named.includes(adapter.name)) rows.push(await compare(adapter));
} finally {
  await server.stop();
}
const report = text(rows, await bareRuntime());
console.log(report);
if (!isQuick && named.length === 0) await Bun.write(file, report + (await account()));
process.exit(0);

async function compare(adapter: Adapter): Promise<string> {
  const seats = {
    alone: await openBenchSite(alone(adapter), server.url),
    apart: await openBenchSite(apart(adapter), server.url),
    through: await openBenchSite(through(adapter), server.url),
  };
  for (const seat of Object.values(seats)) await measure(server, seat, few, "time");
  const [bare, ours, apartMs]: [Round[], Round[], number[]] = [[], [], []];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await once(seats.alone));
    apartMs.push((await measure(server, seats.apart, few, "time")).firstRequestMs);
    ours.push(await once(seats.through));
    console.error(`${adapter.name}: round ${round + 1} of ${rounds}`);
  }
  for (const seat of Object.values(seats)) await rm(seat.cwd, { recursive: true, force: true });
  const row = rowOf(adapter.name, bare, median(apartMs), ours);
  console.error(row);
  return row;
}

async function once(seat: BenchSite): Promise<Round> {
  return {
    few: await measure(server, seat, few, "time"),
    callMs: await perCall(seat),
    memory: await measure(server, seat, few, "memory"),
  };
}

/** From request to request, as the server sees it: the median of one run of many calls. */
async function perCall(seat: BenchSite): Promise<number> {
  await measure(server, seat, many, "time");
  const times = (await server.requests()).filter(({ number }) => number > 0).map(({ at }) => at);
  return median(times.slice(1).map((at, index) => at - times[index]!));
}

/** In the namespaces that skein would put it into, and behind no walls: what the kernel and two small programs cost. */
function apart(adapter: Adapter): Contender {
  const contender = alone(adapter, "apart");
  const command = (task: string) =>
    sandboxCommand({ command: contender.command(task), cwd: "/", rules: null, support: machine, selfCommand: [] });
  return { ...contender, command };
}

/** From start to end of our program when it only says its version: the least that anything on our runtime takes. */
async function bareRuntime(): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 11; run += 1) {
    const startedAt = performance.now();
    await Bun.spawn([...skein.command("").slice(0, 1), "--version"], { stdout: "ignore", stderr: "inherit" }).exited;
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

/** Written by hand, from the table. */
async function account(): Promise<string> {
  const kept = (await Bun.file(file).text()).split(accountHead)[1];
  return kept === undefined ? "" : `\n${accountHead}${kept}`;
}

/** As its adapter would start it, asking the server itself. */
function alone(adapter: Adapter, how = "alone"): Contender {
  const name = `${adapter.name}-${how}`;
  const home = join(peersDir, "homes", name);
  const launch = (url: string, prompt: string): CliLaunch => ({
    prompt,
    model: models[adapter.name]!,
    effort: null,
    role: null,
    directory: home,
    addDirs: [],
    configDir: join(home, "config"),
    start: { how: "new", id: crypto.randomUUID() },
    endpoint: { url, token: "dummy" },
    isSandboxed: true,
    isRoot: process.getuid?.() === 0,
    extraArgs: [],
  });
  return {
    name,
    version: "",
    files: (url) => ({ "config/.keep": "", ...inConfig(adapter.files(launch(url, ""))) }),
    env: (url) => ({ ...adapter.env(launch(url, "")), PATH: path }),
    stdin: (task) => adapter.stdin?.(launch(server.url, task)) ?? null,
    command: (task) => [join(peersBin, adapter.program), ...adapter.args(launch(server.url, task))],
  };
}

function inConfig(files: Record<string, string>): Record<string, string> {
  return Object.fromEntries(Object.entries(files).map(([path, body]) => [`config/${path}`, body]));
}

function through(adapter: Adapter): Contender {
  const command = (task: string) => [
    ...skein.command(task).slice(0, 3),
    "-a",
    adapter.name,
    "-m",
    models[adapter.name]!,
    "--output-format",
    "json",
    ...warm,
  ];
  const env = (url: string, home: string) => ({
    ...skein.env(url, home),
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: "dummy",
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: "dummy",
    PATH: path,
  });
  return { name: `${adapter.name}-through-skein`, version: skein.version, files: () => ({}), env, command };
}

function rowOf(name: string, bare: Round[], apartMs: number, ours: Round[]): string {
  const columns: ((round: Round) => number)[] = [
    (round) => round.few.firstRequestMs,
    (round) => round.callMs,
    (round) => round.few.wholeMs,
    (round) => megabytes(round.memory.peak?.rssBytes),
    (round) => megabytes(round.memory.peak?.pssBytes),
  ];
  const cells = columns.map((column) => {
    const [a, b] = [median(bare.map(column)), median(ours.map(column))];
    const digits = a < 100 ? 1 : 0;
    return `${a.toFixed(digits)} → ${b.toFixed(digits)} (${b >= a ? "+" : ""}${((b / a - 1) * 100).toFixed(0)} %)`;
  });
  return `| ${name} | ${cells[0]} | ${apartMs.toFixed(0)} | ${cells.slice(1).join(" | ")} |`;
}

function megabytes(bytes = Number.NaN): number {
  return bytes / 2 ** 20;
}

/** Gemini CLI refuses substitutions, so that the commands of the other bench would not run. */
function sums(count: number): Scenario {
  const commands = Array.from({ length: count }, (_, at) => `expr 52000 + ${at}`);
  return { name: `${count} calls`, commands, proof: [`${52000 + count - 1}`] };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function text(table: string[], leastMs: number): string {
  const load = loadavg().map((value) => value.toFixed(1));
  return `# What skein adds to other agents

${new Date().toISOString().slice(0, 10)}, \`npm run bench:agents\`; medians of ${rounds}, each CLI alone and through skein in turns, warm homes on both sides (a new tree's is cold), walls on, \
requests through the gateway, ${cpus().length} cores, load ${load.join(" ")} at the end. Alone: as the adapter starts it, asking the scripted server itself. \
Memory is of the whole tree, skein's own processes included. In namespaces: alone, behind the same \`setpriv\` and \`unshare\` and nothing else of ours. \
Per tool call: from request to request in a run of ${many.commands.length}. \`skein --version\`: ${leastMs.toFixed(0)} ms.

| agent | start → first request, ms | in namespaces, ms | per tool call, ms | run of ${few.commands.length} calls, ms | peak RSS, MB | peak PSS, MB |
|---|---|---|---|---|---|---|
${table.join("\n")}
`;
}
