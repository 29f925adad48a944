// What skein adds to another agent's command line: each CLI by itself and through `skein run -a`, behind walls and
// through the gateway, in turns, on one scripted model server. Writes AGENTS.md; `-- --quick` makes one round.
import { rm } from "node:fs/promises";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import type { Adapter, CliLaunch } from "../src/agents/external/adapter.ts";
import { adapters } from "../src/agents/external/index.ts";
import { shellScript } from "../src/agents/contract/server/script.ts";
import { startRemoteModelServer } from "../test/support/model-server-control.ts";
import { buildSkein, type Contender } from "./contenders.ts";
import { type Figures, measure, type Scenario, type Seat, takeSeat } from "./measure.ts";
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
const rounds = isQuick ? 1 : 3;
const few = sums(2);
const many = sums(12);

/** A tree's configuration directory is as warm as a home that was used before; nothing of the earlier turns is sent. */
const warm = ["--session", "bench", "--fresh"];

type Round = { few: Figures; many: Figures; memory: Figures };

await installPeers(peerNames);
const skein = await buildSkein();
adoptOrphans();
const server = await startRemoteModelServer(shellScript([]));
const rows: string[] = [];
try {
  for (const adapter of Object.values(adapters)) rows.push(await compare(adapter));
} finally {
  await server.stop();
}
const report = text(rows);
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "AGENTS.md"), report);
process.exit(0);

async function compare(adapter: Adapter): Promise<string> {
  const seats = [await takeSeat(alone(adapter), server.url), await takeSeat(through(adapter), server.url)] as const;
  const measured = seats.map((): Round[] => []);
  for (const seat of seats) await measure(server, seat, few, "time");
  for (let round = 0; round < rounds; round += 1) {
    for (const [at, seat] of seats.entries()) measured[at]!.push(await once(seat));
    console.error(`${adapter.name}: round ${round + 1} of ${rounds}`);
  }
  for (const seat of seats) await rm(seat.cwd, { recursive: true, force: true });
  return rowOf(adapter.name, measured[0]!, measured[1]!);
}

async function once(seat: Seat): Promise<Round> {
  return {
    few: await measure(server, seat, few, "time"),
    many: await measure(server, seat, many, "time"),
    memory: await measure(server, seat, few, "memory"),
  };
}

/** As its adapter would start it, asking the server itself. */
function alone(adapter: Adapter): Contender {
  const name = `${adapter.name}-alone`;
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
    isWalled: true,
    isRoot: process.getuid?.() === 0,
    extraArgs: [],
  });
  return {
    name,
    version: "",
    files: (url) => ({ "config/.keep": "", ...inConfig(adapter.files(launch(url, ""))) }),
    env: (url) => ({ ...adapter.env(launch(url, "")), PATH: `${peersBin}:${process.env["PATH"]}` }),
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
    PATH: `${peersBin}:${process.env["PATH"]}`,
  });
  return { name: `${adapter.name}-through-skein`, version: skein.version, files: () => ({}), env, command };
}

function rowOf(name: string, bare: Round[], ours: Round[]): string {
  const columns: ((round: Round) => number)[] = [
    (round) => round.few.firstRequestMs,
    (round) => (round.many.wholeMs - round.few.wholeMs) / (many.commands.length - few.commands.length),
    (round) => round.few.wholeMs,
    (round) => megabytes(round.memory.peak?.rssBytes),
    (round) => megabytes(round.memory.peak?.pssBytes),
  ];
  const cells = columns.map((column) => {
    const [a, b] = [median(bare.map(column)), median(ours.map(column))];
    return `${a.toFixed(0)} → ${b.toFixed(0)} (${b >= a ? "+" : ""}${((b / a - 1) * 100).toFixed(0)} %)`;
  });
  return `| ${name} | ${cells.join(" | ")} |`;
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

function text(table: string[]): string {
  const load = loadavg().map((value) => value.toFixed(1));
  return `# What skein adds to other agents

${new Date().toISOString().slice(0, 10)}, \`npm run bench:agents\`; medians of ${rounds}, each CLI alone and through skein in turns, warm homes on both sides (a new tree's is cold), walls on, \
requests through the gateway, ${cpus().length} cores, load ${load.join(" ")} at the end. Alone: as the adapter starts it, asking the scripted server itself. \
Memory is of the whole tree, skein's own processes included.

| agent | start → first request, ms | per tool call, ms | run of ${few.commands.length} calls, ms | peak RSS, MB | peak PSS, MB |
|---|---|---|---|---|---|
${table.join("\n")}
`;
}
