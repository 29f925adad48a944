// `npm run bench`: installs the peers, runs all programs on one scripted model server, prints one table and writes RESULTS.md,
// whose conclusions stay.
// `-- --only runs,growth` measures only these sections: runs, growth, long, parallel, agents. `-- --runs N` makes N rounds.
// `-- --quick` makes one round of `runs`. `-- --peers` omits skein, `-- --before <executable>` adds an earlier build of it.
// With --only, --quick or --before it writes nothing.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { startRemoteModelServer } from "../test/support/model-server-control.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import { buildFloor, buildSkein, codex, type Contender, earlierBuild, pi } from "./contenders.ts";
import { openBenchSite, type BenchSite } from "./measure.ts";
import { adoptOrphans } from "./orphans.ts";
import { dropFromPageCache } from "./page-cache.ts";
import { installPeers, peerPackages, peersDir } from "./peers.ts";
import { measureGrowth, measureLongSessions, measureParallel, measureRounds, type Bench, type TokenCounts } from "./sections.ts";
import { renderTables, type Results } from "./table.ts";

/** The times are for two cores. A section that is out of time ends after its round. */
const sections: Record<string, (bench: Bench) => Promise<void>> = {
  runs: measureRounds,
  growth: measureGrowth,
  long: measureLongSessions,
  parallel: measureParallel,
};
const agentsSection = "agents";

async function main(args: string[]): Promise<void> {
  if (process.platform !== "linux") throw new Error("the bench reads /proc and runs on Linux only");
  const isQuick = args.includes("--quick");
  const valueOf = (flag: string) => (args.includes(flag) ? (args[args.indexOf(flag) + 1] ?? "") : null);
  const rounds = isQuick ? 1 : Number(valueOf("--runs") ?? "") || 5;
  const only = valueOf("--only")?.split(",") ?? (isQuick ? ["runs"] : [...Object.keys(sections), agentsSection]);
  const unknown = only.filter((name) => name !== agentsSection && sections[name] === undefined);
  if (unknown.length > 0)
    throw new Error(`no such section: ${unknown.join(", ")}; known: ${[...Object.keys(sections), agentsSection].join(", ")}`);
  using _lock = takeLock();
  await installPeers(only.includes(agentsSection) ? ["pi", "codex", "claude"] : ["pi", "codex"]);
  const earlier = earlierBuild(args);
  const contenders = [
    pi,
    codex,
    await buildFloor(),
    ...(args.includes("--peers") ? [] : [await buildSkein()]),
    ...(earlier === null ? [] : [earlier]),
  ];
  await dropFromPageCache(contenders);
  adoptOrphans();
  const server = await startRemoteModelServer(shellScript([]), { keepsOnlyEnds: true });
  const results: Results = new Map(contenders.map(({ name }) => [name, new Map()]));
  const tokens: TokenCounts = new Map();
  const sites: BenchSite[] = [];
  const startedAt = performance.now();
  const failed: string[] = [];
  /** The figures of the other sections must not be lost. */
  const attempt = async (name: string, act: () => Promise<void>): Promise<void> => {
    try {
      await act();
    } catch (error) {
      failed.push(`${name}: ${error instanceof Error ? error.message : String(error)}`);
    }
  };
  try {
    for (const contender of contenders) sites.push(await openBenchSite(contender, server.url));
    for (const name of only) await attempt(name, async () => sections[name]?.({ server, sites, rounds, results, tokens }));
  } finally {
    await server.stop();
    for (const site of sites) await rm(site.cwd, { recursive: true, force: true });
  }
  let agentsTable = "";
  if (only.includes(agentsSection))
    await attempt(agentsSection, async () => {
      agentsTable = await compareAgents(args, Math.min(rounds, 3));
    });
  const minutes = (performance.now() - startedAt) / 60_000;
  const report = describeRun({ contenders, tokens, args, rounds, minutes }) + renderTables(results) + agentsTable;
  console.log(report);
  const isWhole = valueOf("--only") === null && !isQuick && earlier === null && !args.includes("--peers");
  if (failed.length > 0) throw new Error(`not measured as a whole:\n${failed.join("\n")}`);
  if (isWhole) await Bun.write(reportFile, report + (await savedConclusions()));
}

const reportFile = join(import.meta.dir, "RESULTS.md");
const conclusionsHead = "## Conclusions";

/** The conclusions are written by hand, from the table and from profiles. */
async function savedConclusions(): Promise<string> {
  const saved = (await Bun.file(reportFile).text()).split(conclusionsHead)[1];
  return saved === undefined ? "" : `\n${conclusionsHead}${saved}`;
}

/** Two benches at once would disturb each other's figures and homes. */
function takeLock(): Disposable {
  const file = join(peersDir, "lock");
  mkdirSync(peersDir, { recursive: true });
  const owner = existsSync(file) ? readFileSync(file, "utf8") : "";
  if (owner !== "" && existsSync(`/proc/${owner}`)) throw new Error(`another bench is running (process ${owner})`);
  writeFileSync(file, String(process.pid));
  return { [Symbol.dispose]: () => rmSync(file, { force: true }) };
}

/** The table of `bench:agents` for three CLIs. */
async function compareAgents(args: string[], rounds: number): Promise<string> {
  const before = args.includes("--before") ? ["--before", args[args.indexOf("--before") + 1]!] : [];
  const command = [process.execPath, join(import.meta.dir, "agents.ts"), "codex", "claude", "pi", "--runs", String(rounds), ...before];
  const child = Bun.spawn(command, { stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const text = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("bench/agents.ts failed");
  const table = text.split("\n").filter((line) => line.startsWith("|"));
  return `\nOther agents' command lines, alone → through skein, medians of ${rounds}:\n\n${table.join("\n")}\n`;
}

type RunInfo = { contenders: Contender[]; tokens: TokenCounts; args: string[]; rounds: number; minutes: number };

function describeRun({ contenders, tokens, args, rounds, minutes }: RunInfo): string {
  const versions = contenders.map(({ name, version }) => `${name} ${version}`.trim()).join(", ");
  const counts = [...tokens].map(([name, { system, tools, messages }]) => `${name} ${system} + ${tools} + ${messages}`);
  const load = loadavg().map((value) => value.toFixed(1));
  return `# Side by side

${new Date().toISOString().slice(0, 10)}, \`npm run bench${args.length > 0 ? ` -- ${args.join(" ")}` : ""}\`; ${versions}; Bun ${Bun.version}, ${peerPackages.node} for pi; \
${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, load ${load.join(" ")} at the end, ${minutes.toFixed(0)} minutes. Medians of ${rounds}, interleaved, warm homes unless a row says cold, all programs read from the disk once, sandbox and approvals of the peers off, \
one scripted model server over HTTP in its own process, its answers included in every time.

- floor: a bare loop on skein's runtime that sends the same requests and runs the same commands; it stores nothing and has no sandbox. It is no peer.
- First request: from before the process is started to its arrival at the server. Overhead per call: (100 calls − 20 calls) / 80, the command (\`echo\`) included. Gap: from request to request, the median of all calls; "at call N" the median of the last tenth of one run.
- Memory: sum over the process tree without children between fork and exec, RSS every 5 ms, PSS every 20 ms, in separate runs. CPU: user and system time of the tree, orphans included.
- Tokens: o200k_base over the JSON of system + tools + messages: ${counts.join("; ")}. Growth of the request: bytes of the body per call over 100 calls.
- 5 MB: one command that prints 625,000 lines of 8 bytes. 400 to 2,000 calls, and runs at once: one run each. A dash: not measured, because the peer takes minutes for it, or has no such session.

`;
}

void main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
