// Tests that no process of a command survives Ctrl-C, a time limit of the tool or the run, `skein kill` or SIGKILL of skein,
// and that none of them writes any more. A table lists the gaps.
import { afterEach, describe, expect, test } from "bun:test";
import { existsSync, mkdirSync, readdirSync, statSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { readEvents, type EventReader } from "../../support/read-events.ts";
import { startModelServer } from "../../../src/scripted-model/model-server.ts";
import type { Script } from "../../../src/scripted-model/script.ts";
import { childrenOf, waitForNoProcesses, processesOf, type LivingProcess } from "../../support/processes.ts";
import { temporaryHome, vendorEnv, wireModels, type TemporaryHome } from "../../support/temporary-home.ts";
import { type EscapeContext, escapes, type Escape } from "./escapes.ts";

const unsandboxed = "full without a sandbox";
const policies: Record<string, string[]> = {
  workspace: ["--policy", "workspace"],
  full: ["--policy", "full"],
  [unsandboxed]: ["--policy", "full", "--sandbox", "off"],
};

/** The number of the system call. */
const ptrace = process.arch === "arm64" ? 117 : 101;

type Batch = { run: EventReader; attempts: readonly StartedEscape[]; session: string };
type Stop = {
  name: string;
  flags?: (seconds: number) => string[];
  /** The time limit of each tool call. */
  toolSeconds?: (seconds: number) => number;
  act: (home: TemporaryHome, batch: Batch) => Promise<void>;
  /** The exit code of the run; null if it continues. */
  code: number | null;
};

const stops: readonly Stop[] = [
  { name: "Ctrl-C", act: async (_home, { run }) => run.child.kill("SIGINT"), code: 130 },
  { name: "the run's time limit", flags: (seconds) => ["--timeout", `${seconds}s`], act: async () => {}, code: 124 },
  { name: "a tool's time limit", toolSeconds: (seconds) => seconds, act: waitForTimeout, code: null },
  { name: "skein kill", act: killSession, code: 130 },
  { name: "kill -9 of skein", act: async (_home, { run }) => run.child.kill("SIGKILL"), code: 137 },
];

/**
 * Attacks on the executor itself. In a pid namespace no process can signal it. Without one the gaps are listed here and in
 * docs/SANDBOX.md.
 */
const executorAttacks: readonly { escape: Escape; stop: Stop; notCovered: Record<string, string> }[] = [
  {
    escape: {
      name: "a command that kills the executor leaves nothing",
      script: ({ ready, tag }) => `setsid -f sleep ${tag}; ( sleep ${tag} & ); ${ready}; kill -9 $PPID; kill -9 0`,
    },
    stop: stops[0] as Stop,
    notCovered: {},
  },
  {
    escape: {
      name: "a process without an environment ends when its command kills the executor",
      script: ({ ready, tag }) => `env -i setsid -f sleep ${tag}; ${ready}; kill -9 $PPID`,
    },
    stop: stops[0] as Stop,
    notCovered: { [unsandboxed]: "no remaining process shows where the orphan came from" },
  },
  {
    escape: {
      name: "a command that stops the executor leaves nothing after SIGKILL of skein",
      script: ({ ready, tag }) => `setsid -f sleep ${tag}; ${ready}; kill -STOP $PPID`,
    },
    stop: stops[4] as Stop,
    notCovered: { [unsandboxed]: "a stopped executor does not notice that skein has ended" },
  },
  {
    escape: {
      name: "when skein kill reports the end, nothing is left of a command that stops and traces the executor",
      script: ({ ready, tag }) =>
        `setsid -f sleep ${tag}; perl -e '$0 = "tracer ${tag}"; syscall(${ptrace}, 16, shift() + 0, 0, 0); sleep 86400' $PPID & ${ready}; kill -STOP $PPID`,
    },
    stop: { name: "skein kill", act: killAndLookAtOnce, code: 130 },
    notCovered: {},
  },
];

const callsPerBatch = 21;
const cleanups: (() => unknown)[] = [];
afterEach(async () => {
  for (const cleanup of cleanups.splice(0).reverse()) await cleanup();
});

test("every gap of the containment is in docs/SANDBOX.md", async () => {
  const text = await Bun.file(join(import.meta.dir, "..", "..", "..", "docs", "SANDBOX.md")).text();
  for (const reason of executorAttacks.flatMap((row) => Object.values(row.notCovered))) expect(text).toContain(reason);
});

describe.each(Object.keys(policies))("under policy %s", (policy) => {
  const flags = policies[policy] as string[];

  // `full` contains processes like `workspace`, so two stops are enough.
  const policyStops = policy === "full" ? stops.filter(({ code }) => code === 130 || code === 137) : stops;
  test.each(policyStops.map((stop) => [stop.name, stop] as const))("no process of a command outlives %s", async (_name, stop) => {
    // A time limit that passes before all commands have started proves nothing.
    for (const seconds of [6, 30, 90]) {
      const survivors = await survivorsAfter({ escapes, stop, flags, seconds });
      if (survivors === "not started") continue;
      expect(survivors).toEqual([]);
      return;
    }
    throw new Error("the machine is too slow to start all commands");
  });

  test.each(executorAttacks.map((row) => [row.escape.name, row] as const))("%s", async (_name, { escape, stop, notCovered }) => {
    const limitMs = notCovered[policy] === undefined ? 20_000 : 5_000;
    const survivors = await survivorsAfter({ escapes: [escape], stop, flags, seconds: 60, limitMs });
    // A listed gap must be real. When it is closed, its row must be removed.
    if (notCovered[policy] === undefined) expect(survivors).toEqual([]);
    else expect(survivors).not.toEqual([]);
  });
});

/** The other sandboxes of policy workspace. The tests above have namespaces and the native launcher. */
const sandboxes: { name: string; tier: "namespaces" | "landlock"; env: Record<string, string> }[] = [
  { name: "namespaces, launcher in JavaScript", tier: "namespaces", env: { SKEIN_SANDBOX_LAUNCHER: "javascript" } },
  { name: "Landlock alone, native launcher", tier: "landlock", env: { SKEIN_SANDBOX_BEST: "landlock" } },
  {
    name: "Landlock alone, launcher in JavaScript",
    tier: "landlock",
    env: { SKEIN_SANDBOX_BEST: "landlock", SKEIN_SANDBOX_LAUNCHER: "javascript" },
  },
];

describe.each(sandboxes)("under policy workspace with $name", ({ tier, env }) => {
  const flags = policies["workspace"]!;

  test.each([stops[0]!, stops[4]!].map((stop) => [stop.name, stop] as const))(
    "no process of a command outlives %s",
    async (_stop, stop) => {
      expect(await survivorsAfter({ escapes, stop, flags, seconds: 60, env })).toEqual([]);
    },
  );

  test.each(executorAttacks.slice(0, 3).map((row) => [row.escape.name, row] as const))(
    "%s, unless it is listed",
    async (_attack, { escape, stop, notCovered }) => {
      // Landlock alone has no pid namespace, so the gaps are those without a sandbox.
      const isGap = tier === "landlock" && notCovered[unsandboxed] !== undefined;
      const survivors = await survivorsAfter({ escapes: [escape], stop, flags, seconds: 60, env, limitMs: isGap ? 5_000 : 20_000 });
      if (isGap) expect(survivors).not.toEqual([]);
      else expect(survivors).toEqual([]);
    },
  );
});

test("under Landlock alone, nothing is left of a command that stops the executor when skein kill reports the end", async () => {
  const { escape, stop } = executorAttacks.at(-1)!;
  const env = { SKEIN_SANDBOX_BEST: "landlock" };
  expect(await survivorsAfter({ escapes: [escape], stop, flags: ["--policy", "workspace"], seconds: 60, env })).toEqual([]);
});

/** Survivors are reported after `limitMs`. */
type Trial = {
  escapes: readonly Escape[];
  stop: Stop;
  flags: string[];
  seconds: number;
  limitMs?: number;
  env?: Record<string, string>;
};

async function survivorsAfter({
  escapes: all,
  stop,
  flags,
  seconds,
  limitMs = 20_000,
  env = {},
}: Trial): Promise<string[] | "not started"> {
  const base = 80_000_000 + Math.floor(Math.random() * 9_000_000);
  const server = startModelServer(({ position }) => scripts[Number(/\d+/.exec(position.prompt)?.[0])] as Script);
  cleanups.push(() => server.stop());
  const home = temporaryHome({ ...vendorEnv(server.url), ...env });
  cleanups.push(() => home[Symbol.dispose]());
  for (const folder of ["ready", "beat", "own"]) mkdirSync(join(home.project, folder));
  const started = all.map((escape, index) => prepareEscape(home, escape, index, base));
  const groups = Array.from({ length: Math.ceil(all.length / callsPerBatch) }, (_, index) =>
    started.slice(index * callsPerBatch, (index + 1) * callsPerBatch),
  );
  const scripts = groups.map((group) => scriptOf(home, group, stop.toolSeconds?.(seconds)));
  const batches = groups.map((group, index) => {
    const args = ["-m", wireModels.anthropic, "--session", `batch-${index}`, ...flags, ...(stop.flags?.(seconds) ?? [])];
    const run = readEvents(home.start(["run", `batch ${index}`, ...args, "--output-format", "events"]));
    cleanups.push(() => run.child.kill("SIGKILL"));
    return { run, attempts: group, session: `batch-${index}` };
  });
  cleanups.push(() => endAll(home, `${base}.`));
  const hasStarted = await Promise.all(batches.map(waitForStart));
  const family = batches.flatMap(({ run }) => childrenOf(run.child.pid).filter(({ command }) => command.includes(`${base}.`)));
  const hasLimit = stop.flags !== undefined || stop.toolSeconds !== undefined;
  if (hasStarted.includes(false) || (hasLimit && batches.some(hasHitLimit))) return "not started";

  expect(family.length).toBeGreaterThanOrEqual(all.length - 1);
  const problems = (await Promise.all(batches.map((batch) => stopBatch(home, stop, batch)))).flat();
  const describeAll = (survivors: LivingProcess[]) =>
    survivors.map(({ command }) => `${nameOf(command, started)}: ${command.slice(0, 120)}`);
  const isTagged = ({ command }: LivingProcess) => command.includes(`${base}.`);
  const options = { family, tag: `${base}.` };
  problems.push(
    ...describeAll(await waitForNoProcesses(home.root, limitMs, stop.code === null ? { ...options, only: isTagged } : options)),
  );
  problems.push(...(await findWriters(home, started)));
  writeFileSync(join(home.project, "go"), "");
  if (stop.code === null) {
    await Promise.all(batches.map(({ run }) => run.ended));
    problems.push(...describeAll(await waitForNoProcesses(home.root, limitMs, options)));
  }
  return [...new Set(problems)];
}

/** `startFile` exists as soon as the escape has started its processes. */
type StartedEscape = EscapeContext & { escape: Escape; startFile: string };

function prepareEscape(home: TemporaryHome, escape: Escape, index: number, base: number): StartedEscape {
  const [startFile, beat, file] = ["ready", "beat", "own"].map((folder) => join(home.project, folder, String(index))) as [
    string,
    string,
    string,
  ];
  return { escape, startFile, beat, file, ready: `echo > ${startFile}`, tag: `${base}.${String(index).padStart(3, "0")}` };
}

/** Makes all escapes of a batch calls of one answer, followed by a call that waits for the test. */
function scriptOf(home: TemporaryHome, attempts: readonly StartedEscape[], seconds: number | undefined): Script {
  const calls = attempts.map((attempt) => {
    const command = `${attempt.escape.script(attempt)}\nsleep ${attempt.tag}`;
    return { input: { command, ...(seconds === undefined ? {} : { timeout: seconds }) } };
  });
  const wait = `while [ ! -e ${join(home.project, "go")} ]; do sleep 0.1; done`;
  return { steps: [{ calls }, { calls: [{ input: { command: wait } }] }], final: "done" };
}

/** Returns false if a time limit passed before all commands had started. */
async function waitForStart({ run, attempts }: Batch): Promise<boolean> {
  const missing = () => attempts.filter(({ startFile }) => !existsSync(startFile)).map(({ escape }) => escape.name);
  while (missing().length > 0) {
    await Bun.sleep(20);
    if (resultsIn(run).length === attempts.length && missing().length > 0) return false;
    if (run.child.exitCode === null) continue;
    const { code, err } = await run.ended;
    if (code === 124) return false;
    throw new Error(`not started: ${missing().join(", ")}\n${err}`);
  }
  return true;
}

function hasHitLimit({ run }: Batch): boolean {
  return run.child.exitCode !== null || resultsIn(run).length > 0;
}

function resultsIn({ printed }: EventReader) {
  return printed.flatMap((event) => event.node?.parts.filter((part) => part.kind === "result") ?? []);
}

async function stopBatch(home: TemporaryHome, stop: Stop, batch: Batch): Promise<string[]> {
  await stop.act(home, batch);
  if (stop.code === null) return [];
  const { code, err } = await batch.run.ended;
  return code === stop.code ? [] : [`exit code ${code}: ${err}`];
}

async function killSession(home: TemporaryHome, { session }: Batch): Promise<void> {
  const ran = await home.run(["kill", session]);
  expect({ code: ran.code, out: ran.out }).toEqual({ code: 0, out: `stopped ${session}\n` });
}

async function killAndLookAtOnce(home: TemporaryHome, batch: Batch): Promise<void> {
  await killSession(home, batch);
  const left = batch.attempts.flatMap(({ tag }) => processesOf(home.root, { tag }).filter(({ command }) => command.includes(tag)));
  expect(left).toEqual([]);
}

/** Waits until every call of the batch has its result. */
async function waitForTimeout(_home: TemporaryHome, { run, attempts }: Batch): Promise<void> {
  await run.until(() => resultsIn(run).length >= attempts.length);
  for (const { text } of resultsIn(run)) expect(text).toContain("timed out after");
}

/** Returns the escapes that still write while a witness process writes ten times in their rhythm. */
async function findWriters(home: TemporaryHome, attempts: readonly StartedEscape[]): Promise<string[]> {
  const folder = join(home.project, "beat");
  const sizes = () => readdirSync(folder).map((name) => [name, statSync(join(folder, name)).size] as const);
  const before = new Map(sizes());
  await waitForWitness(join(home.root, "witness"));
  return sizes().flatMap(([name, size]) => (before.get(name) === size ? [] : [`${attempts[Number(name)]?.escape.name}: still writes`]));
}

async function waitForWitness(file: string): Promise<void> {
  const witness = Bun.spawn(["bash", "-c", 'while :; do echo >> "$0"; sleep 0.1; done', file], { stdio: ["ignore", "ignore", "ignore"] });
  try {
    while ((statSync(file, { throwIfNoEntry: false })?.size ?? 0) < 10) await Bun.sleep(20);
  } finally {
    witness.kill("SIGKILL");
    await witness.exited;
  }
}

function nameOf(command: string, attempts: readonly StartedEscape[]): string {
  return attempts.find(({ tag }) => command.includes(tag))?.escape.name ?? "unknown";
}

function endAll(home: TemporaryHome, tag: string): void {
  for (const { pid } of processesOf(home.root, { tag })) {
    try {
      process.kill(pid, "SIGKILL");
    } catch {
      continue;
    }
  }
}
