// The sections of the bench. Each measures some rows of the table for all contenders.
import { join } from "node:path";
import { rm } from "node:fs/promises";
import type { RemoteModelServer } from "../test/support/model-server-control.ts";
import {
  answerScenario,
  bigScenario,
  type BenchSite,
  callsScenario,
  type Figures,
  measure,
  measureCrowd,
  openBenchSite,
  resetHome,
  type Scenario,
} from "./measure.ts";
import { addLongSession } from "./store-data.ts";
import { addValue, before, floor, median, ours, type Results, type RowName } from "./table.ts";
import type { PromptTokens } from "./tokens.ts";

export type TokenCounts = Map<string, PromptTokens>;

export type Bench = { server: RemoteModelServer; sites: BenchSite[]; rounds: number; results: Results; tokens: TokenCounts };

const roundsLimitMs = 330_000;
const megabyte = 1_000_000;

/** Runs of 20 and 100 calls and of a long output. Interleaved: each contender once per round. The first pass only warms the homes. */
export async function measureRounds({ server, sites, rounds, results, tokens }: Bench): Promise<void> {
  const deadline = performance.now() + roundsLimitMs;
  for (const site of sites) await measure(server, site, callsScenario(2), "time");
  for (let round = 1; round <= rounds; round += 1) {
    if (performance.now() > deadline) {
      console.error(`out of time after ${round - 1} rounds`);
      break;
    }
    console.error(`round ${round} of ${rounds}`);
    const each = async (scenario: Scenario, watch: "time" | "memory", prepare: (site: BenchSite) => Promise<void> = async () => {}) => {
      const figures = new Map<string, Figures>();
      for (const site of sites) {
        const run = async () => {
          await prepare(site);
          return measure(server, site, scenario, watch);
        };
        figures.set(site.contender.name, await twice(run));
      }
      return figures;
    };
    const calls20 = await each(callsScenario(20), "time");
    const calls100 = await each(callsScenario(100), "time");
    const big = await each(bigScenario, "time");
    const memory20 = await each(callsScenario(20), "memory");
    const memoryBig = await each(bigScenario, "memory");
    // The next round is warm again: these runs have filled the new homes.
    const cold = await each(callsScenario(20), "time", (site) => resetHome(site, server.url));
    for (const { contender } of sites) {
      const { name } = contender;
      const add = (row: RowName, value: number) => addValue(results, name, row, value);
      const [few, many] = [calls20.get(name)!, calls100.get(name)!];
      add("firstRequest", few.firstRequestMs);
      add("coldFirstRequest", cold.get(name)!.firstRequestMs);
      add("calls20", few.wholeMs);
      add("coldCalls20", cold.get(name)!.wholeMs);
      add("calls100", many.wholeMs);
      add("overhead", (many.wholeMs - few.wholeMs) / 80);
      add("gap", many.allGapMs);
      addMemory(results, name, ["rss20", "pss20"], memory20.get(name)!);
      add("cpu20", few.cpuMs);
      add("cpu100", many.cpuMs);
      add("tokens", few.tokens.total);
      add("growthBytes", many.growthBytes);
      add("big", big.get(name)!.wholeMs);
      addMemory(results, name, ["rssBig", "pssBig"], memoryBig.get(name)!);
      tokens.set(name, few.tokens);
    }
  }
}

/** More calls than that take minutes. */
const mostCalls: Record<string, number> = { pi: 1000, codex: 400 };

/** Runs of 400 to 2,000 calls, once each. A peer that fails has no figures for the rest. */
export async function measureGrowth(bench: Bench): Promise<void> {
  for (const site of bench.sites) {
    const { name } = site.contender;
    await growthOf(site, bench).catch((error: unknown) => {
      if (isSkein(name)) throw error;
      console.error(error instanceof Error ? error.message : String(error));
    });
  }
}

async function growthOf(site: BenchSite, { server, results }: Bench): Promise<void> {
  const { name } = site.contender;
  const add = (row: RowName, value: number) => addValue(results, name, row, value);
  const command = (task: string) => [...site.contender.command(task), ...(site.contender.longRunFlags ?? [])];
  const longSite = { ...site, contender: { ...site.contender, command } };
  const run = (calls: number, watch: "time" | "memory" = "time") => {
    console.error(`${name}: ${calls} calls, ${watch}`);
    return measure(server, longSite, { ...callsScenario(calls), limitMs: 180_000 }, watch);
  };
  const short = [await run(20), await run(20), await run(20)];
  for (const calls of [400, 1000, 2000] as const) {
    if (calls > (mostCalls[name] ?? Number.POSITIVE_INFINITY)) continue;
    const { wholeMs, gapMs } = await run(calls);
    add(`calls${calls}`, wholeMs / 1000);
    add(`gap${calls}`, gapMs);
    if (calls === 2000) add("gapGrowth", gapMs / median(short.map(({ allGapMs }) => allGapMs)));
    if (calls === 1000) addMemory(results, name, ["rss1000", "pss1000"], await run(calls, "memory"));
  }
}

const longSessions = [
  { row: "long4000", nodes: 4000, isCompacted: false },
  { row: "long10000", nodes: 10_000, isCompacted: false },
  { row: "longCompacted", nodes: 10_000, isCompacted: true },
] as const;

/** So that no run compacts: the model server counts the tokens of the whole request. */
const longWindow = { "skein/config/config.jsonc": JSON.stringify({ providers: { anthropic: { context_window: 100_000_000 } } }) };

/** Continues sessions that are written into the store. The first continuation of each writes its transcript and is not counted. */
export async function measureLongSessions({ server, sites, rounds, results }: Bench): Promise<void> {
  for (const { contender } of sites.filter((each) => isSkein(each.contender.name))) {
    const site = await openBenchSite({ ...contender, name: `${contender.name}-long`, files: () => longWindow }, server.url);
    try {
      await measure(server, site, callsScenario(1), "time");
      for (const { row, ...session } of longSessions) {
        console.error(`${contender.name}: ${row}`);
        await addLongSession(join(site.home, "skein/data/skein.db"), { name: row, directory: site.cwd, ...session });
        const command = (task: string) => [...contender.command(task), "--resume", row];
        const continued = { ...site, contender: { ...site.contender, command } };
        await measure(server, continued, answerScenario, "time");
        for (let round = 0; round < rounds; round += 1)
          addValue(results, contender.name, row, (await measure(server, continued, answerScenario, "time")).firstRequestMs);
      }
    } finally {
      await rm(site.cwd, { recursive: true, force: true });
    }
  }
}

/** Many runs at once in one home. The peers have no more than twenty, because of their memory. */
export async function measureParallel({ server, sites, results }: Bench): Promise<void> {
  for (const site of sites) {
    const { name } = site.contender;
    await measure(server, site, answerScenario, "time");
    for (const count of [20, 100, 200] as const) {
      if (count > 20 && !isSkein(name) && name !== floor) continue;
      console.error(`${name}: ${count} runs at once`);
      const { wholeMs, failed } = await measureCrowd(server, site, count);
      if (count < 200 && failed > 0) console.error(`${name}: ${failed} of ${count} runs failed`);
      if (count === 200) addValue(results, name, "failed200", failed);
      if (failed === 0) addValue(results, name, `parallel${count}`, wholeMs / 1000);
    }
  }
}

function isSkein(name: string): boolean {
  return name === ours || name === before;
}

function addMemory(results: Results, name: string, [rss, pss]: [RowName, RowName], { peak }: Figures): void {
  addValue(results, name, rss, (peak?.rssBytes ?? 0) / megabyte);
  addValue(results, name, pss, (peak?.pssBytes ?? 0) / megabyte);
}

/** A failed run is reported and repeated once. A second failure ends the bench. */
async function twice<T>(run: () => Promise<T>): Promise<T> {
  try {
    return await run();
  } catch (error) {
    console.error(`${error instanceof Error ? error.message : String(error)}; trying once more`);
    return run();
  }
}
