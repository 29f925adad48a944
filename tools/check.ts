// Runs the checks and tests of the named tiers: `check.ts [quick] [journeys] [security] [soak] [real]`. `npm test` runs
// `quick`. Stops after the first step that fails. The last line has the sums of all tests.
import { Glob } from "bun";
import { readdirSync } from "node:fs";
import { cpus } from "node:os";

const root = `${import.meta.dir}/..`;
const bin = (name: string) => `${root}/node_modules/.bin/${name}`;
const bun = process.execPath;
const bundleDir = `${root}/node_modules/.cache/skein-test-bundle`;

type Command = { name: string; argv: string[]; isTest: boolean };
type CommandResult = { name: string; isOk: boolean; passed: number; failed: number };
type Step = { name: string; commands: Command[] };

/** Most tests wait most of the time, so one lane more than there are processors keeps them busy. */
const lanes = cpus().length + 1;

/** These take a minute or more. They start first, so that no step ends with one of them running alone. */
const longFirst = [
  "agent-failures",
  "containment",
  "escape",
  "failures",
  "acp",
  "doctor-agents",
  "agent-sessions",
  "install",
  "crash",
  "team",
];
const longModules = ["executor", "agents", "store", "sandbox", "engine"];

const code = ["src", "test", "tools", "bench", "examples"];
const tiers: Record<string, Step[]> = {
  quick: [
    {
      name: "checks and unit tests",
      commands: [
        check("types", [bin("tsc"), "--noEmit", "-p", root]),
        check("lint", [bin("oxlint"), "--type-aware", "--deny-warnings", ...code]),
        check("dead code", [bin("knip"), "--no-progress"]),
        check("format", [bin("oxfmt"), "--check", ...code]),
        ...unitTests(),
      ],
    },
    { name: "smoke tests", commands: testFiles("test/smoke") },
  ],
  journeys: [{ name: "journeys", commands: testFiles("test/journeys") }],
  security: [{ name: "security", commands: testFiles("test/security") }],
  soak: [{ name: "soak", commands: testFiles("test/soak") }],
  real: [
    // Several tests would otherwise install the same agent at the same time.
    {
      name: "install the agents and the SDKs",
      commands: [check("bench/peers.ts", [bun, "bench/peers.ts"]), check("tools/sdks.ts", [bun, "tools/sdks.ts"])],
    },
    {
      name: "real programs",
      commands: [
        check("types of test/real/sdks", [bin("tsc"), "--noEmit", "-p", "test/real/sdks"]),
        check("lint of test/real/sdks", [
          bin("oxlint"),
          "--type-aware",
          "--deny-warnings",
          "-c",
          "test/real/sdks/oxlint.json",
          "test/real/sdks",
        ]),
        ...testFiles("test/real"),
      ],
    },
  ],
};

const names = process.argv.length > 2 ? process.argv.slice(2) : ["quick"];
const unknown = names.filter((name) => tiers[name] === undefined);
if (unknown.length > 0) {
  process.stderr.write(`no tier ${unknown.join(", ")}; the tiers are ${Object.keys(tiers).join(", ")}\n`);
  process.exit(2);
}

// Journeys start the program some hundred times. The bundle starts in half the time of the source.
const bundle = await runCommand(check("bundle for tests", [bun, "tools/build.ts", "--bundle", "--outdir", bundleDir]));
const results: CommandResult[] = [bundle];
if (bundle.isOk)
  for (const step of names.flatMap((name) => tiers[name]!)) {
    const ended = await runStep(step);
    results.push(...ended);
    if (ended.some(({ isOk }) => !isOk)) break;
  }
const failures = results.filter(({ isOk }) => !isOk).map(({ name }) => name);
if (failures.length > 0) process.stdout.write(`\nfailed: ${failures.join(", ")}\n`);
process.stdout.write(`\n${sum("passed")} passed, ${sum("failed")} failed\n`);
process.exit(failures.length === 0 ? 0 : 1);

/** Each lane starts the next command when its last one has exited. */
async function runStep({ name, commands }: Step): Promise<CommandResult[]> {
  process.stdout.write(`\n── ${name}\n`);
  const waiting = [...commands];
  const ended: CommandResult[] = [];
  const lane = async (): Promise<void> => {
    for (let command = waiting.shift(); command !== undefined; command = waiting.shift()) ended.push(await runCommand(command));
  };
  await Promise.all(Array.from({ length: lanes }, lane));
  return ended;
}

/** Prints one line for a command that succeeds, and its whole output if it fails, so that parallel outputs do not mix. */
async function runCommand({ name, argv, isTest }: Command): Promise<CommandResult> {
  const startedAt = performance.now();
  const env = { ...process.env, SKEIN_TEST_BUNDLE: `${bundleDir}/main.js` };
  const child = Bun.spawn(argv, { cwd: root, env, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const output = (await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))).join("");
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}$`, "m").exec(output)?.[1] ?? 0);
  const [passed, failed, skipped] = isTest ? [count("pass"), count("fail"), count("skip") + count("todo")] : [0, 0, 0];
  const isOk = (await child.exited) === 0 && (!isTest || (passed > 0 && failed === 0 && skipped === 0));
  const seconds = `${((performance.now() - startedAt) / 1000).toFixed(1)} s`;
  const line = isTest
    ? `${name}: ${passed} pass, ${failed} fail, ${skipped} skipped, ${seconds}`
    : `${name}: ${isOk ? "ok" : "failed"}, ${seconds}`;
  process.stdout.write(isOk ? `${line}\n` : `${output}\n✗ ${line}\n`);
  return { name, isOk, passed, failed };
}

function sum(field: "passed" | "failed"): number {
  return results.reduce((total, result) => total + result[field], 0);
}

function check(name: string, argv: string[]): Command {
  return { name, argv, isTest: false };
}

/** One command per module of `src`, and one for the rest. */
function unitTests(): Command[] {
  const modules = readdirSync(`${root}/src`, { withFileTypes: true })
    .filter((entry) => entry.isDirectory() && hasTests(`src/${entry.name}`))
    .map((entry) => entry.name);
  const inOrder = [...longModules, ...modules.filter((name) => !longModules.includes(name))];
  const rest = ["test/architecture.test.ts", "test/support", "bench", "tools"];
  return [...inOrder.map((name) => testCommand(`src/${name}`, [`src/${name}/`], 60_000)), testCommand("other unit tests", rest, 60_000)];
}

function testFiles(folder: string): Command[] {
  const found = [...new Glob(`${folder}/**/*.test.ts`).scanSync({ cwd: root })].sort();
  // Packages in test/real/sdks/node_modules have tests of their own.
  const files = found.filter((file) => !file.includes("/node_modules/"));
  const isLong = (file: string) => longFirst.some((name) => file.endsWith(`/${name}.test.ts`));
  return [...files.filter(isLong), ...files.filter((file) => !isLong(file))].map((file) => testCommand(file, [file], 300_000));
}

function testCommand(name: string, paths: string[], timeoutMs: number): Command {
  return { name, argv: [bun, "test", "--only-failures", "--timeout", String(timeoutMs), ...paths], isTest: true };
}

function hasTests(folder: string): boolean {
  return !new Glob(`${folder}/**/*.test.ts`).scanSync({ cwd: root }).next().done;
}
