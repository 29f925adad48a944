// Runs the checks and tests of the named tiers: `check.ts [quick] [journeys] [security] [soak] [real]`. `npm test` runs
// `quick`. Runs all of them, also after one has failed. The last line has the sums of all tests.
import { Glob } from "bun";
import { readdirSync } from "node:fs";
import { cpus } from "node:os";
import { endRunningCommands, runCommand, type Command, type CommandContext, type CommandResult } from "./check/run-command.ts";
import { runStep, type Step } from "./check/run-step.ts";

const root = `${import.meta.dir}/..`;
const bin = (name: string) => `${root}/node_modules/.bin/${name}`;
const bun = process.execPath;
const bundleDir = `${root}/node_modules/.cache/skein-test-bundle`;

/** Tests of these tiers run real programs in real time. Some fail only under the load of the others. */
const rerunsOfTier: Record<string, number> = { journeys: 3, soak: 1, real: 3 };

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
  "sandbox-kills",
  "team",
];
const longModules = ["executor", "agents", "store", "sandbox", "engine"];

const code = ["src", "test", "tools", "bench", "examples"];
/** Without the programs of a step that `isNeeded` the later steps of its tier would only fail. */
const tiers: Record<string, (Step & { isNeeded?: true })[]> = {
  quick: [
    {
      name: "checks and unit tests",
      commands: [
        check("types", [bin("tsc"), "--noEmit", "-p", root]),
        check("types of the web page", [bin("tsc"), "--noEmit", "-p", "src/web/page"]),
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
      isNeeded: true,
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

for (const signal of ["SIGINT", "SIGTERM"] as const)
  process.once(signal, () => void endRunningCommands().finally(() => process.exit(signal === "SIGINT" ? 130 : 143)));

const context: CommandContext = {
  cwd: root,
  env: { ...process.env, SKEIN_TEST_BUNDLE: `${bundleDir}/main.js` },
  limitMs: 600_000,
  print: (text) => void process.stdout.write(text),
};

// Journeys start the program some hundred times. The bundle starts in half the time of the source.
const bundle = await runCommand(check("bundle for tests", [bun, "tools/build.ts", "--bundle", "--outdir", bundleDir]), context);
const results: CommandResult[] = [bundle];
const unsteady: string[] = [];
if (bundle.isOk) for (const name of names) await runTier(name);
const failures = results.filter(({ isOk }) => !isOk).map(({ name }) => name);
if (failures.length > 0) process.stdout.write(`\nfailed: ${failures.join(", ")}\n`);
process.stdout.write(unsteady.map((file) => `\nunsteady: ${file}`).join("") + "\n");
process.stdout.write(`${sum("passed")} passed, ${sum("failed")} failed\n`);
process.exit(failures.length === 0 ? 0 : 1);

/** Runs all steps, so that one failing file does not hide others. Only a step that later ones need ends the tier. */
async function runTier(name: string): Promise<void> {
  let reruns = rerunsOfTier[name] ?? 0;
  for (const step of tiers[name]!) {
    const ended = await runStep(step, { ...context, lanes, reruns });
    reruns -= ended.unsteady.length;
    results.push(...ended.results);
    unsteady.push(...ended.unsteady);
    if (step.isNeeded === true && ended.results.some(({ isOk }) => !isOk)) return;
  }
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
