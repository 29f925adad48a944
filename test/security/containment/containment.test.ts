// No process of a command survives Ctrl-C, the tool's time limit, the run's time limit, `skein kill` or kill -9 of skein,
// whatever the command tries, and none writes any more. Gaps are listed in a table.
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readEvents, type EventReader } from "../../support/read-events.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { childrenOf, waitForNoProcesses, processesOf, type LivingProcess } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";
import { type EscapeContext, ways, type EscapeWay } from "./ways.ts";

const unwalled = "full without a sandbox";
const policies: Record<string, string[]> = {
  workspace: ["--policy", "workspace"],
  full: ["--policy", "full"],
  [unwalled]: ["--policy", "full", "--sandbox", "off"],
};

type Batch = { run: EventReader; placed: readonly Placed[]; session: string };
type Stop = {
  name: string;
  flags?: (seconds: number) => string[];
  /** Given to each call. */
  toolSeconds?: (seconds: number) => number;
  act: (house: TemporaryHome, batch: Batch) => Promise<void>;
  /** The exit code of the run; null if it continues. */
  code: number | null;
};

const stops: readonly Stop[] = [
  { name: "Ctrl-C", act: async (_house, { run }) => run.child.kill("SIGINT"), code: 130 },
  { name: "the run's time limit", flags: (seconds) => ["--timeout", `${seconds}s`], act: async () => {}, code: 124 },
  { name: "a tool's time limit", toolSeconds: (seconds) => seconds, act: timedOut, code: null },
  { name: "skein kill", act: killed, code: 130 },
  { name: "kill -9 of skein", act: async (_house, { run }) => run.child.kill("SIGKILL"), code: 137 },
];

/**
 * Attacks on the executor itself. In a pid namespace no process can signal it. Without one the gaps are listed here and in
 * docs/SANDBOX.md.
 */
const turningOn: readonly { way: EscapeWay; stop: Stop; notCovered: Record<string, string> }[] = [
  {
    way: {
      name: "a command that kills the executor leaves nothing",
      script: ({ ready, sign }) => `setsid -f sleep ${sign}; ( sleep ${sign} & ); ${ready}; kill -9 $PPID; kill -9 0`,
    },
    stop: stops[0] as Stop,
    notCovered: {},
  },
  {
    way: {
      name: "a command that kills the executor, and what it left without an environment",
      script: ({ ready, sign }) => `env -i setsid -f sleep ${sign}; ${ready}; kill -9 $PPID`,
    },
    stop: stops[0] as Stop,
    notCovered: { [unwalled]: "no remaining process knows whose orphan it is" },
  },
  {
    way: {
      name: "a command that stops the executor, and kill -9 of skein",
      script: ({ ready, sign }) => `setsid -f sleep ${sign}; ${ready}; kill -STOP $PPID`,
    },
    stop: stops[4] as Stop,
    notCovered: { [unwalled]: "a stopped executor does not notice that skein has ended" },
  },
];

const atOnce = 21;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test("every gap of the containment is in docs/SANDBOX.md", async () => {
  const text = await Bun.file(join(import.meta.dir, "..", "..", "..", "docs", "SANDBOX.md")).text();
  for (const reason of turningOn.flatMap((row) => Object.values(row.notCovered))) expect(text).toContain(reason);
});

describe.each(Object.keys(policies))("under policy %s", (policy) => {
  const flags = policies[policy] as string[];

  // `full` contains processes like `workspace`, so two ways of stopping are enough.
  const some = policy === "full" ? stops.filter(({ code }) => code === 130 || code === 137) : stops;
  test.each(some.map((stop) => [stop.name, stop] as const))("nothing outlives %s", async (_name, stop) => {
    // A time limit that passes before all commands have started proves nothing.
    for (const seconds of [6, 30, 90]) {
      const left = await leftAfter({ ways, stop, flags, seconds });
      if (left === "not begun") continue;
      expect(left).toEqual([]);
      return;
    }
    throw new Error("the machine is too slow to start all commands");
  });

  test.each(turningOn.map((row) => [row.way.name, row] as const))("%s", async (_name, { way, stop, notCovered }) => {
    const limitMs = notCovered[policy] === undefined ? 20_000 : 5_000;
    const left = await leftAfter({ ways: [way], stop, flags, seconds: 60, limitMs });
    // A listed gap must be real. When it is closed, its row must be removed.
    if (notCovered[policy] === undefined) expect(left).toEqual([]);
    else expect(left).not.toEqual([]);
  });
});

/** What is left is looked at after `limitMs`. */
type Trial = { ways: readonly EscapeWay[]; stop: Stop; flags: string[]; seconds: number; limitMs?: number };

async function leftAfter({ ways: all, stop, flags, seconds, limitMs = 20_000 }: Trial): Promise<string[] | "not begun"> {
  const base = 80_000_000 + Math.floor(Math.random() * 9_000_000);
  const server = startModelServer(({ position }) => scripts[Number(/\d+/.exec(position.prompt)?.[0])] as Script);
  cleanups.push(() => server.stop());
  const house = temporaryHome(vendorEnv(server.url));
  cleanups.push(() => house[Symbol.dispose]());
  for (const folder of ["ready", "beat", "own"]) mkdirSync(join(house.project, folder));
  const placed = all.map((way, at) => placeOf(house, way, at, base));
  const halves = Array.from({ length: Math.ceil(all.length / atOnce) }, (_, at) => placed.slice(at * atOnce, (at + 1) * atOnce));
  const scripts = halves.map((some) => scriptOf(house, some, stop.toolSeconds?.(seconds)));
  const batches = halves.map((some, at) => {
    const words = ["-m", wireModels.anthropic, "--session", `batch-${at}`, ...flags, ...(stop.flags?.(seconds) ?? [])];
    const run = readEvents(house.start(["run", `batch ${at}`, ...words, "--output-format", "events"]));
    cleanups.push(() => run.child.kill("SIGKILL"));
    return { run, placed: some, session: `batch-${at}` };
  });
  cleanups.push(() => endAll(house, `${base}.`));
  const begun = await Promise.all(batches.map(hasBegun));
  const family = batches.flatMap(({ run }) => childrenOf(run.child.pid).filter(({ command }) => command.includes(`${base}.`)));
  const hasLimit = stop.flags !== undefined || stop.toolSeconds !== undefined;
  if (begun.includes(false) || (hasLimit && batches.some(isPast))) return "not begun";

  expect(family.length).toBeGreaterThanOrEqual(all.length - 1);
  const problems = (await Promise.all(batches.map((batch) => stopped(house, stop, batch)))).flat();
  const told = (left: LivingProcess[]) => left.map(({ command }) => `${nameOf(command, placed)}: ${command.slice(0, 120)}`);
  const isSigned = ({ command }: LivingProcess) => command.includes(`${base}.`);
  const wanted = { family, sign: `${base}.` };
  problems.push(...told(await waitForNoProcesses(house.root, limitMs, stop.code === null ? { ...wanted, only: isSigned } : wanted)));
  problems.push(...(await stillWriting(house, placed)));
  writeFileSync(join(house.project, "go"), "");
  if (stop.code === null) {
    await Promise.all(batches.map(({ run }) => run.ended));
    problems.push(...told(await waitForNoProcesses(house.root, limitMs, wanted)));
  }
  return [...new Set(problems)];
}

type Placed = EscapeContext & { way: EscapeWay; begun: string };

function placeOf(house: TemporaryHome, way: EscapeWay, at: number, base: number): Placed {
  const [begun, beat, file] = ["ready", "beat", "own"].map((folder) => join(house.project, folder, String(at))) as [string, string, string];
  return { way, begun, beat, file, ready: `echo > ${begun}`, sign: `${base}.${String(at).padStart(3, "0")}` };
}

/** All ways of a batch as calls of one answer; then a call that waits for the test. */
function scriptOf(house: TemporaryHome, placed: readonly Placed[], seconds: number | undefined): Script {
  const calls = placed.map((place) => {
    const command = `${place.way.script(place)}\nsleep ${place.sign}`;
    return { input: { command, ...(seconds === undefined ? {} : { timeout: seconds }) } };
  });
  const wait = `while [ ! -e ${join(house.project, "go")} ]; do sleep 0.1; done`;
  return { steps: [{ calls }, { calls: [{ input: { command: wait } }] }], final: "done" };
}

async function hasBegun({ run, placed }: Batch): Promise<boolean> {
  const missing = () => placed.filter(({ begun }) => !existsSync(begun)).map(({ way }) => way.name);
  while (missing().length > 0) {
    await Bun.sleep(20);
    if (resultsIn(run).length === placed.length && missing().length > 0) return false;
    if (run.child.exitCode === null) continue;
    const { code, err } = await run.ended;
    if (code === 124) return false;
    throw new Error(`not begun: ${missing().join(", ")}\n${err}`);
  }
  return true;
}

/** Its limit has come. */
function isPast({ run }: Batch): boolean {
  return run.child.exitCode !== null || resultsIn(run).length > 0;
}

function resultsIn({ printed }: EventReader) {
  return printed.flatMap((event) => event.node?.parts.filter((part) => part.kind === "result") ?? []);
}

async function stopped(house: TemporaryHome, stop: Stop, batch: Batch): Promise<string[]> {
  await stop.act(house, batch);
  if (stop.code === null) return [];
  const { code, err } = await batch.run.ended;
  return code === stop.code ? [] : [`exit code ${code}: ${err}`];
}

async function killed(house: TemporaryHome, { session }: Batch): Promise<void> {
  const ran = await house.run(["kill", session]);
  expect({ code: ran.code, out: ran.out }).toEqual({ code: 0, out: `stopped ${session}\n` });
}

/** Until every call of the batch has its result. */
async function timedOut(_house: TemporaryHome, { run, placed }: Batch): Promise<void> {
  await run.until(() => resultsIn(run).length >= placed.length);
  for (const { text } of resultsIn(run)) expect(text).toContain("timed out after");
}

async function stillWriting(house: TemporaryHome, placed: readonly Placed[]): Promise<string[]> {
  const folder = join(house.project, "beat");
  const sizes = () => readdirSync(folder).map((name) => [name, statSync(join(folder, name)).size] as const);
  const before = new Map(sizes());
  await Bun.sleep(400);
  return sizes().flatMap(([name, size]) => (before.get(name) === size ? [] : [`${placed[Number(name)]?.way.name}: still writes`]));
}

function nameOf(command: string, placed: readonly Placed[]): string {
  return placed.find(({ sign }) => command.includes(sign))?.way.name ?? "unknown";
}

function endAll(house: TemporaryHome, sign: string): void {
  for (const { pid } of processesOf(house.root, { sign })) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      continue;
    }
  }
}
