// Measures the overhead of skein on another agent's CLI: the CLI alone, in namespaces, and through `skein run -a` with
// sandbox and gateway, interleaved, on one scripted model server. Writes the table of AGENTS.md and keeps the text below
// it. `-- --quick` runs one round, `-- --runs N` runs N, `-- codex pi` only those agents, `-- --before <executable>` also an earlier build of skein;
// with any of them it writes nothing.
import { rm } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { Adapter, CliLaunch } from "../src/agents/external/adapters/adapter.ts";
import { loadAdapters } from "../src/agents/external/adapters/index.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import { probeSandbox } from "../src/sandbox/probe.ts";
import { sandboxCommand } from "../src/sandbox/sandbox-command.ts";
import { startRemoteModelServer } from "../test/support/model-server-control.ts";
import { buildSkein, earlierBuild, type Contender } from "./contenders.ts";
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
const rounds = isQuick ? 1 : Number(process.argv[process.argv.indexOf("--runs") + 1]) || 5;
const earlier = earlierBuild(process.argv);
const requested = peerNames.filter((name) => process.argv.slice(2).includes(name));
const few = sums(2);
const many = sums(12);

/** Reuses a tree, so that its configuration directory is warm. --fresh sends nothing of the earlier turns. */
const warm = ["--session", "bench", "--fresh"];

type Round = { few: Figures; callMs: number; memory: Figures };

const file = join(import.meta.dir, "AGENTS.md");
const conclusionsHead = "## Conclusions";

await installPeers(requested.length === 0 ? peerNames : requested);
const skein = await buildSkein();
const path = `${peersBin}:${process.env["PATH"]}`;
const support = await probeSandbox({ selfCommand: skein.command("").slice(0, 1), programs: { path, untrusted: [] } });
adoptOrphans();
const server = await startRemoteModelServer(shellScript([]));
const rows: string[] = [];
try {
  for (const adapter of await loadAdapters())
    if (requested.length === 0 || requested.some((name) => name === adapter.name)) rows.push(await compare(adapter));
} finally {
  await server.stop();
}
const report = text(rows, await versionMs());
console.log(report);
if (!isQuick && requested.length === 0 && earlier === null) await Bun.write(file, report + (await savedConclusions()));
process.exit(0);

async function compare(adapter: Adapter): Promise<string> {
  const sites = {
    alone: await openBenchSite(alone(adapter), server.url),
    namespaced: await openBenchSite(namespaced(adapter), server.url),
    throughSkein: await openBenchSite(throughSkein(adapter, skein), server.url),
    ...(earlier === null ? {} : { throughEarlier: await openBenchSite(throughSkein(adapter, earlier), server.url) }),
  };
  for (const site of Object.values(sites)) await measure(server, site, few, "time");
  const [bare, ours, before, namespacedMs]: [Round[], Round[], Round[], number[]] = [[], [], [], []];
  for (let round = 0; round < rounds; round += 1) {
    bare.push(await measureRound(sites.alone));
    namespacedMs.push((await measure(server, sites.namespaced, few, "time")).firstRequestMs);
    ours.push(await measureRound(sites.throughSkein));
    if (sites.throughEarlier !== undefined) before.push(await measureRound(sites.throughEarlier));
    console.error(`${adapter.name}: round ${round + 1} of ${rounds}`);
  }
  for (const site of Object.values(sites)) await rm(site.cwd, { recursive: true, force: true });
  const beforeRow = before.length === 0 ? [] : [rowOf(`${adapter.name}, before`, bare, median(namespacedMs), before)];
  const row = [rowOf(adapter.name, bare, median(namespacedMs), ours), ...beforeRow].join("\n");
  console.error(row);
  return row;
}

async function measureRound(site: BenchSite): Promise<Round> {
  return {
    few: await measure(server, site, few, "time"),
    callMs: await medianCallMs(site),
    memory: await measure(server, site, few, "memory"),
  };
}

/** Median time from request to request at the server, in one run of many calls. */
async function medianCallMs(site: BenchSite): Promise<number> {
  await measure(server, site, many, "time");
  const times = (await server.requests()).filter(({ number }) => number > 0).map(({ at }) => at);
  return median(times.slice(1).map((time, index) => time - times[index]!));
}

/** In the namespaces that skein uses, without the other sandbox rules: the cost of the kernel and two small programs. */
function namespaced(adapter: Adapter): Contender {
  const contender = alone(adapter, "apart");
  const command = (task: string) =>
    sandboxCommand({ command: contender.command(task), cwd: "/", rules: null, support, selfCommand: [] }).command;
  return { ...contender, command };
}

/** Time of `skein --version`: the minimum for any program on this runtime. */
async function versionMs(): Promise<number> {
  const times: number[] = [];
  for (let run = 0; run < 11; run += 1) {
    const startedAt = performance.now();
    await Bun.spawn([...skein.command("").slice(0, 1), "--version"], { stdout: "ignore", stderr: "inherit" }).exited;
    times.push(performance.now() - startedAt);
  }
  return median(times);
}

/** The conclusions are written by hand, from the table. */
async function savedConclusions(): Promise<string> {
  const saved = (await Bun.file(file).text()).split(conclusionsHead)[1];
  return saved === undefined ? "" : `\n${conclusionsHead}${saved}`;
}

/** Started as by its adapter, with requests to the server itself. */
function alone(adapter: Adapter, variant = "alone"): Contender {
  const name = `${adapter.name}-${variant}`;
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
    isOffline: true,
    servers: { list: [], values: {} },
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

function throughSkein(adapter: Adapter, build: Contender): Contender {
  const command = (task: string) => [
    ...build.command(task).slice(0, 3),
    "-a",
    adapter.name,
    "-m",
    models[adapter.name]!,
    "--output-format",
    "json",
    ...warm,
  ];
  const env = (url: string, home: string) => ({
    ...build.env(url, home),
    OPENAI_BASE_URL: `${url}/v1`,
    OPENAI_API_KEY: "dummy",
    GOOGLE_GEMINI_BASE_URL: url,
    GEMINI_API_KEY: "dummy",
    PATH: path,
  });
  return { name: `${adapter.name}-through-${build.name}`, version: build.version, files: () => ({}), env, command };
}

function rowOf(name: string, bare: Round[], namespacedMs: number, ours: Round[]): string {
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
  return `| ${name} | ${cells[0]} | ${namespacedMs.toFixed(0)} | ${cells.slice(1).join(" | ")} |`;
}

function megabytes(bytes = Number.NaN): number {
  return bytes / 2 ** 20;
}

/** Gemini CLI refuses command substitutions, so the commands of the other bench would not run. */
function sums(count: number): Scenario {
  const commands = Array.from({ length: count }, (_, index) => `expr 52000 + ${index}`);
  return { name: `${count} calls`, commands, proof: [`${52000 + count - 1}`] };
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function text(table: string[], versionTime: number): string {
  const load = loadavg().map((value) => value.toFixed(1));
  return `# Overhead of skein on other agents

${new Date().toISOString().slice(0, 10)}, \`npm run bench:agents\`; medians of ${rounds}, each CLI alone and through skein in turns, warm homes on both sides (the home of a new tree is cold), sandbox on, \
requests through the gateway, ${cpus().length} cores, load ${load.join(" ")} at the end. Alone: started as by the adapter, with requests to the scripted server itself. \
Memory is that of the whole process tree, including skein's processes. In namespaces: alone, behind the same \`setpriv\` and \`unshare\` and nothing else of skein. \
Per tool call: from request to request in a run of ${many.commands.length}. \`skein --version\`: ${versionTime.toFixed(0)} ms.

| agent | start → first request, ms | in namespaces, ms | per tool call, ms | run of ${few.commands.length} calls, ms | peak RSS, MB | peak PSS, MB |
|---|---|---|---|---|---|---|
${table.join("\n")}
`;
}
