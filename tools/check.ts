// Runs the checks and tests of one tier: `check.ts [quick|journeys|security|soak|real|all]`. `npm test` is `quick`.
// Stops after the first step that fails, and ends with the sums of all tests.
import { Glob } from "bun";
import { cpus } from "node:os";

const root = `${import.meta.dir}/..`;
const bin = (name: string) => `${root}/node_modules/.bin/${name}`;
const bun = process.execPath;

/** Each lane starts the next command when its last one has exited. */
type Step = { name: string; commands: string[][]; lanes: number };
type CommandResult = { name: string; isOk: boolean; passed: number; failed: number };

/** Most tests wait most of the time, so one lane more than there are processors keeps them busy. */
const testLanes = cpus().length + 1;

/** These files take a minute or more. They start first, so that the step does not end with one of them running alone. */
const longFiles = /\/(agent-failures|containment|escape|failures|acp|doctor-agents|agent-sessions|install|crash|team)\.test\.ts$/;

const code = ["src", "test", "tools", "bench", "examples"];
const tiers: Record<string, Step[]> = {
  quick: [
    { name: "format", commands: [[bin("oxfmt"), "--check", ...code]], lanes: 1 },
    { name: "types", commands: [[bin("tsc"), "--noEmit", "-p", root]], lanes: 1 },
    { name: "lint", commands: [[bin("oxlint"), "--type-aware", "--deny-warnings", ...code]], lanes: 1 },
    { name: "dead code", commands: [[bin("knip"), "--no-progress"]], lanes: 1 },
    {
      name: "unit tests",
      commands: [unitTests("src/agents", "src/app", "src/cli", "src/engine", "src/executor"), otherUnitTests()],
      lanes: 2,
    },
    { name: "smoke tests", commands: filesIn("test/smoke"), lanes: testLanes },
  ],
  journeys: [{ name: "journeys", commands: filesIn("test/journeys"), lanes: testLanes }],
  security: [{ name: "security", commands: filesIn("test/security"), lanes: testLanes }],
  soak: [{ name: "soak", commands: filesIn("test/soak"), lanes: testLanes }],
  real: [
    // Installed first, because several tests would install the same agent at the same time.
    { name: "install the agents", commands: [[bun, "bench/peers.ts"]], lanes: 1 },
    { name: "real programs", commands: filesIn("test/real"), lanes: testLanes },
  ],
};

const tier = process.argv[2] ?? "quick";
const steps = tier === "all" ? Object.values(tiers).flat() : tiers[tier];
if (steps === undefined) {
  process.stderr.write(`no tier ${tier}; there are ${Object.keys(tiers).join(", ")} and all\n`);
  process.exit(2);
}

const results: CommandResult[] = [];
for (const step of steps) {
  const ended = await runStep(step);
  results.push(...ended);
  const failed = ended.filter(({ isOk }) => !isOk);
  if (failed.length === 0) continue;
  process.stderr.write(`\n${step.name} failed: ${failed.map(({ name }) => name).join(", ")}\n`);
  process.stdout.write(`${sums(results)}\n`);
  process.exit(1);
}
process.stdout.write(`\n${sums(results)}\n`);

async function runStep({ name, commands, lanes }: Step): Promise<CommandResult[]> {
  process.stdout.write(`\n── ${name}\n`);
  const waiting = [...commands];
  const ended: CommandResult[] = [];
  const lane = async (): Promise<void> => {
    for (let command = waiting.shift(); command !== undefined; command = waiting.shift())
      ended.push(await (lanes > 1 ? runTests(command) : runCheck(command)));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return ended;
}

async function runCheck(command: string[]): Promise<CommandResult> {
  const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  return { name: command.at(-1)!, isOk: (await child.exited) === 0, passed: 0, failed: 0 };
}

/** Prints one line for tests that pass, and the whole output of tests that fail, so that parallel outputs do not mix. */
async function runTests(command: string[]): Promise<CommandResult> {
  const startedAt = performance.now();
  const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const output = (await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))).join("");
  const name = command.at(-1)!;
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
  const [passed, failed, skipped] = [count("pass"), count("fail"), count("skip") + count("todo")];
  const isOk = (await child.exited) === 0 && passed > 0 && failed === 0 && skipped === 0;
  const line = `${name}: ${passed} pass, ${failed} fail, ${skipped} skipped, ${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  process.stdout.write(isOk ? `${line}\n` : `${output}\n✗ ${line}\n`);
  return { name, isOk, passed, failed };
}

function sums(all: CommandResult[]): string {
  const total = (field: "passed" | "failed") => all.reduce((sum, result) => sum + result[field], 0);
  return `${total("passed")} passed, ${total("failed")} failed`;
}

function unitTests(...folders: string[]): string[] {
  return [bun, "test", "--only-failures", "--timeout", "60000", ...folders];
}

function otherUnitTests(): string[] {
  const named = ["agents", "app", "cli", "engine", "executor"];
  const folders = [...new Glob("*/").scanSync({ cwd: `${root}/src`, onlyFiles: false })].filter((folder) => !named.includes(folder));
  return unitTests(...folders.sort().map((folder) => `src/${folder}`), "test/architecture.test.ts", "test/support", "bench", "tools");
}

function filesIn(folder: string): string[][] {
  const files = [...new Glob(`${folder}/**/*.test.ts`).scanSync({ cwd: root })].sort();
  const inOrder = [...files.filter((file) => longFiles.test(file)), ...files.filter((file) => !longFiles.test(file))];
  return inOrder.map((file) => [bun, "test", "--only-failures", "--timeout", "300000", file]);
}
