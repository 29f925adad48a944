// Measures one run of one contender on the scripted model server: time, memory, CPU and requests.
// Throws for a run that did not do its work, so that it is never a figure.
import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { RecordedRequest } from "../src/scripted-model/model-server.ts";
import type { RemoteModelServer } from "../test/support/model-server-control.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import type { Contender } from "./contenders.ts";
import { endOrphans } from "./orphans.ts";
import { peersDir } from "./peers.ts";
import { median } from "./table.ts";
import { promptTokens, type PromptTokens } from "./tokens.ts";
import { watchTree, type Peak } from "./tree.ts";

export type Scenario = {
  name: string;
  commands: string[];
  /** One of these texts must be in the last request, as proof that the commands ran. */
  proof: string[];
  /** Time until each answer of the model begins. Default: 0. */
  delayMs?: number;
  /** Default: 60 s. */
  limitMs?: number;
};

export type BenchSite = { contender: Contender; home: string; cwd: string };

export type Figures = {
  wholeMs: number;
  firstRequestMs: number;
  cpuMs: number;
  tokens: PromptTokens;
  growthBytes: number;
  /** Median time from request to request in the last tenth of the calls; NaN with less than two calls. */
  gapMs: number;
  /** The same over all calls but the first. */
  allGapMs: number;
  peak: Peak | null;
};

const usualLimitMs = 60_000;
const task = "Run the commands.";

/** One request and one answer. */
export const answerScenario: Scenario = { name: "no call", commands: [], proof: [] };

export function callsScenario(count: number): Scenario {
  // The output differs from the command, so that only an executed command can put it into a request.
  const commands = Array.from({ length: count }, (_, index) => `echo out-$((1000 + ${index}))`);
  return { name: `${count} calls`, commands, proof: [`out-${1000 + count - 1}`] };
}

/** 625,000 lines of 8 bytes. */
export const bigScenario: Scenario = { name: "5 MB", commands: ["seq 1000001 1625000"], proof: ["1000002", "1624999"] };

/** An empty home for all runs, outside of the temp directory, and an empty git repository as project. */
export async function openBenchSite(contender: Contender, url: string): Promise<BenchSite> {
  const home = join(peersDir, "homes", contender.name);
  const cwd = await mkdtemp(join(tmpdir(), `bench-${contender.name}-`));
  await Bun.spawn(["git", "init", "-q", cwd], { stdout: "ignore" }).exited;
  await resetHome({ contender, home, cwd }, url);
  return { contender, home, cwd };
}

/** The home as before the first run of the program. */
export async function resetHome({ contender, home }: BenchSite, url: string): Promise<void> {
  await rm(home, { recursive: true, force: true });
  for (const [name, text] of Object.entries(contender.files(url))) {
    await mkdir(dirname(join(home, name)), { recursive: true });
    await Bun.write(join(home, name), text);
  }
  await mkdir(home, { recursive: true });
}

/** Memory is sampled in separate runs, because sampling slows the run down. */
export async function measure(server: RemoteModelServer, site: BenchSite, scenario: Scenario, watch: "time" | "memory"): Promise<Figures> {
  const script = shellScript(scenario.commands);
  await server.setScript({ ...script, steps: script.steps.map((step) => ({ ...step, delayMs: scenario.delayMs ?? 0 })) });
  await server.clear();
  const marker = `BENCH_RUN=${crypto.randomUUID()}`;
  const log = join(site.home, "stdout.log");
  const env = { ...cleanEnv(site.home), ...site.contender.env(server.url, site.home), BENCH_RUN: marker.slice("BENCH_RUN=".length) };
  const startedAt = performance.timeOrigin + performance.now();
  const input = site.contender.stdin?.(task) ?? null;
  const child = Bun.spawn(site.contender.command(task), {
    cwd: site.cwd,
    env,
    stdin: input === null ? "ignore" : new Blob([input]),
    stdout: Bun.file(log),
    stderr: Bun.file(`${log}.err`),
    timeout: scenario.limitMs ?? usualLimitMs,
    killSignal: "SIGKILL",
  });
  const watcher = watch === "memory" ? watchTree(child.pid) : null;
  const exitCode = await child.exited;
  const wholeMs = performance.timeOrigin + performance.now() - startedAt;
  const peak = watcher?.stop() ?? null;
  const orphans = await endOrphans(marker, [server.pid]);
  const requests = (await server.requests()).filter((request) => request.number > 0);
  const problem = findProblem(scenario, exitCode, requests);
  if (problem !== null) throw new Error(`${site.contender.name}, ${scenario.name}: ${problem}; see ${log}`);
  const cpuMs = Number(child.resourceUsage()?.cpuTime.total ?? 0n) / 1000 + orphans.cpuMs;
  const [first, last] = [requests[0]!, requests.at(-1)!];
  const growthBytes = (Buffer.byteLength(last.text) - Buffer.byteLength(first.text)) / scenario.commands.length;
  const gaps = requests.slice(2).map(({ at }, index) => at - requests[index + 1]!.at);
  const gapMs = median(gaps.slice(-Math.ceil(gaps.length / 10)));
  const firstRequestMs = first.at - startedAt;
  return { wholeMs, firstRequestMs, cpuMs, tokens: promptTokens(first), growthBytes, gapMs, allGapMs: median(gaps), peak };
}

/** Starts a program many times at once, without calls. Returns the time until the last one has ended. */
export async function measureCrowd(
  server: RemoteModelServer,
  site: BenchSite,
  count: number,
): Promise<{ wholeMs: number; failed: number }> {
  await server.setScript(shellScript([]));
  await server.clear();
  const marker = crypto.randomUUID();
  const env = { ...cleanEnv(site.home), ...site.contender.env(server.url, site.home), BENCH_RUN: marker };
  const startedAt = performance.now();
  const input = site.contender.stdin?.(task) ?? null;
  const runs = Array.from({ length: count }, async () => {
    const stdin = input === null ? ("ignore" as const) : new Blob([input]);
    const stdio = { stdin, stdout: "ignore", stderr: "ignore" } as const;
    return Bun.spawn(site.contender.command(task), { cwd: site.cwd, env, ...stdio, timeout: usualLimitMs, killSignal: "SIGKILL" }).exited;
  });
  const codes = await Promise.all(runs);
  const wholeMs = performance.now() - startedAt;
  await endOrphans(`BENCH_RUN=${marker}`, [server.pid]);
  return { wholeMs, failed: codes.filter((code) => code !== 0).length };
}

function cleanEnv(home: string): Record<string, string> {
  return {
    PATH: process.env.PATH ?? "/usr/bin:/bin",
    HOME: home,
    TMPDIR: tmpdir(),
    LANG: "C.UTF-8",
    TERM: "dumb",
    USER: "bench",
    SHELL: "/bin/bash",
  };
}

function findProblem(scenario: Scenario, exitCode: number, requests: RecordedRequest[]): string | null {
  const expected = scenario.commands.length + 1;
  if (exitCode !== 0) return `exit code ${exitCode} after ${requests.length} requests`;
  if (requests.length !== expected) return `${requests.length} requests instead of ${expected}`;
  const last = requests.at(-1)?.text ?? "";
  return scenario.proof.length === 0 || scenario.proof.some((text) => last.includes(text))
    ? null
    : "the output of the command is not in the last request";
}
