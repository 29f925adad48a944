// `npm run bench`: installs the peers, runs all programs interleaved on one scripted model server, prints one table and
// writes RESULTS.md. `-- --quick` runs one round, `-- --runs N` runs N, `-- --peers` omits skein, `-- --before <executable>`
// adds an earlier build of skein. With --quick or --before it writes nothing.
import { existsSync, mkdirSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { rm } from "node:fs/promises";
import { cpus, loadavg, totalmem } from "node:os";
import { join } from "node:path";
import { startRemoteModelServer, type RemoteModelServer } from "../test/support/model-server-control.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import { buildSkein, codex, earlierBuild, pi } from "./contenders.ts";
import { bigScenario, callsScenario, measure, openBenchSite, resetHome, type BenchSite } from "./measure.ts";
import { adoptOrphans } from "./orphans.ts";
import { dropFromPageCache } from "./page-cache.ts";
import { installPeers, peerPackages, peersDir } from "./peers.ts";
import { renderTables, type Round } from "./table.ts";

const deadlineMs = 330_000;

async function main(args: string[]): Promise<void> {
  if (process.platform !== "linux") throw new Error("the bench reads /proc and runs on Linux only");
  const isQuick = args.includes("--quick");
  const rounds = isQuick ? 1 : Number(args[args.indexOf("--runs") + 1] ?? Number.NaN) || 5;
  using _lock = takeLock();
  await installPeers(["pi", "codex"]);
  const earlier = earlierBuild(args);
  const contenders = [pi, codex, ...(args.includes("--peers") ? [] : [await buildSkein()]), ...(earlier === null ? [] : [earlier])];
  const startedAt = Date.now();
  await dropFromPageCache(contenders);
  adoptOrphans();
  const server = await startRemoteModelServer(shellScript([]));
  const sites: BenchSite[] = [];
  try {
    for (const contender of contenders) sites.push(await openBenchSite(contender, server.url));
    const results = await measureAll(server, sites, rounds, startedAt + deadlineMs);
    const report = describeRun(sites, results, args) + renderTables(results);
    console.log(report);
    if (!isQuick && earlier === null) await Bun.write(join(import.meta.dir, "RESULTS.md"), report);
  } finally {
    await server.stop();
    for (const site of sites) await rm(site.cwd, { recursive: true, force: true });
  }
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

/** Interleaved: each contender once per round. The first pass only warms the homes. */
async function measureAll(server: RemoteModelServer, sites: BenchSite[], rounds: number, deadline: number): Promise<Map<string, Round[]>> {
  const results = new Map<string, Round[]>(sites.map((site) => [site.contender.name, []]));
  for (const site of sites) await measure(server, site, callsScenario(2), "time");
  for (let round = 1; round <= rounds; round += 1) {
    if (Date.now() > deadline) {
      console.error(`out of time after ${round - 1} rounds`);
      break;
    }
    console.error(`round ${round} of ${rounds}`);
    for (const [name, result] of await measureRound(server, sites)) results.get(name)?.push(result);
  }
  return results;
}

async function measureRound(server: RemoteModelServer, sites: BenchSite[]): Promise<Map<string, Round>> {
  const parts = new Map<string, Partial<Round>>(sites.map((site) => [site.contender.name, {}]));
  const plan = [
    ["calls20", callsScenario(20), "time"],
    ["calls100", callsScenario(100), "time"],
    ["big", bigScenario, "time"],
    ["memory20", callsScenario(20), "memory"],
    ["memoryBig", bigScenario, "memory"],
  ] as const;
  for (const [key, scenario, watch] of plan) {
    for (const site of sites) parts.get(site.contender.name)![key] = await measureTwice(() => measure(server, site, scenario, watch));
  }
  // The next round is warm again: these runs have filled the new homes.
  for (const site of sites)
    parts.get(site.contender.name)!.cold = await measureTwice(async () => {
      await resetHome(site, server.url);
      return measure(server, site, callsScenario(2), "time");
    });
  return parts as Map<string, Round>;
}

/** A failed run is reported and repeated once. A second failure ends the bench. */
async function measureTwice<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}; trying once more`);
    return run();
  }
}

function describeRun(sites: BenchSite[], results: Map<string, Round[]>, args: string[]): string {
  const versions = sites.map(({ contender }) => `${contender.name} ${contender.version}`).join(", ");
  const count = Math.min(...[...results.values()].map((rounds) => rounds.length));
  const tokens = [...results].map(([name, rounds]) => {
    const { system, tools, messages } = rounds[0]!.calls20.tokens;
    return `${name} ${system} + ${tools} + ${messages}`;
  });
  const load = loadavg().map((value) => value.toFixed(1));
  return `# Side by side

${new Date().toISOString().slice(0, 10)}, \`npm run bench${args.length > 0 ? ` -- ${args.join(" ")}` : ""}\`; ${versions}; Bun ${Bun.version}, ${peerPackages.node} for pi; \
${cpus().length} cores, ${Math.round(totalmem() / 2 ** 30)} GB, load ${load.join(" ")} at the end. Medians of ${count}, interleaved, warm homes unless a row says cold, all programs read from the disk once, sandbox and approvals of the peers off, \
one scripted model server over HTTP in its own process, its answers included in every time.

- First request: from before the process is started to its arrival at the server. Overhead per call: (100 calls − 20 calls) / 80, the command (\`echo\`) included.
- Memory: sum over the process tree without children between fork and exec, RSS every 5 ms, PSS every 20 ms, in separate runs. CPU: user and system time of the tree, orphans included.
- Tokens: o200k_base over the JSON of system + tools + messages: ${tokens.join("; ")}. Growth: bytes of the request body per call over 100 calls.
- 5 MB: one command that prints 625,000 lines of 8 bytes.

`;
}

void main(process.argv.slice(2)).then(
  () => process.exit(0),
  (error: unknown) => {
    console.error(error instanceof Error ? error.message : error);
    process.exit(1);
  },
);
