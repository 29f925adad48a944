import { afterAll, beforeAll, expect, test } from "bun:test";
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { processStartTime } from "../../src/kit/process/processes.ts";
import type { Command } from "./run-command.ts";
import { runStep, type StepEnd } from "./run-step.ts";

let dir: string;
beforeAll(() => void (dir = mkdtempSync(join(tmpdir(), "skein-planted-"))));
afterAll(() => rmSync(dir, { recursive: true, force: true }));

let planted = 0;

/** Writes a test file with one test and this body. `runs()` in it counts the starts of the file, this one included. */
function plant(body: string): Command {
  planted += 1;
  const name = `planted-${planted}.test.ts`;
  const counter = JSON.stringify(join(dir, `${name}.runs`));
  writeFileSync(
    join(dir, name),
    `import { expect, test } from "bun:test";
import { appendFileSync, readFileSync } from "node:fs";
appendFileSync(${counter}, "x");
const runs = () => readFileSync(${counter}, "utf8").length;
test("planted", async () => { ${body} }, 60_000);
`,
  );
  return { name, argv: [process.execPath, "test", `./${name}`], isTest: true };
}

const steady = "expect(1).toBe(1);";
const broken = "expect(`broken in run ${runs()}`).toBe(0);";
const unsteady = "expect(`broken in run ${runs()}`).toBe('broken in run 2');";

const startsOf = ({ name }: Command) => readFileSync(join(dir, `${name}.runs`), "utf8").length;

async function run(commands: Command[], { reruns = 3, lanes = 2, limitMs = 60_000 } = {}): Promise<StepEnd & { log: string }> {
  let log = "";
  const print = (text: string) => void (log += text);
  const env = { PATH: process.env["PATH"], HOME: dir };
  const end = await runStep({ name: "planted files", commands }, { cwd: dir, env, limitMs, print, lanes, reruns });
  return { ...end, log };
}

const outcome = ({ results }: StepEnd) => new Map(results.map((result) => [result.name, result.isOk]));

test("a file that fails beside others and passes alone is unsteady, counts once, and its first output stays in the log", async () => {
  const [a, b] = [plant(steady), plant(unsteady)];
  const end = await run([a, b]);
  expect([end.unsteady, startsOf(a), startsOf(b)]).toEqual([[b.name], 1, 2]);
  expect(end.results.map(({ isOk, passed, failed }) => [isOk, passed, failed])).toEqual([
    [true, 1, 0],
    [true, 1, 0],
  ]);
  expect(end.log).toContain("broken in run 1");
  expect(end.log).toContain(`alone: ${b.name}`);
});

test("a file that fails twice has failed, and counts once", async () => {
  const [a, b] = [plant(steady), plant(broken)];
  const end = await run([a, b]);
  expect([end.unsteady, startsOf(b), outcome(end).get(b.name)]).toEqual([[], 2, false]);
  expect(end.results.reduce((sum, { failed }) => sum + failed, 0)).toBe(1);
});

test("no file runs again in a tier without reruns, and none if more have failed than may run again", async () => {
  const [a, b, c] = [plant(unsteady), plant(unsteady), plant(steady)];
  const strict = await run([a, c], { reruns: 0 });
  expect([strict.unsteady, startsOf(a), outcome(strict).get(a.name)]).toEqual([[], 1, false]);
  const many = [plant(unsteady), b];
  const end = await run(many, { reruns: 1 });
  expect([end.unsteady, many.map(startsOf), [...outcome(end).values()]]).toEqual([[], [1, 1], [false, false]]);
});

test("a file that failed while no other ran, and a check that is no test, do not run again", async () => {
  const [a, b] = [plant(steady), plant(unsteady)];
  expect((await run([a, b], { lanes: 1 })).unsteady).toEqual([]);
  const check: Command = { name: "types", argv: [process.execPath, "-e", "process.exit(1)"], isTest: false };
  const c = plant(unsteady);
  const end = await run([check, c]);
  expect([startsOf(b), startsOf(c), end.unsteady]).toEqual([1, 1, []]);
});

test("a failing file hides no other: every command of the step runs", async () => {
  const files = [plant(broken), plant(broken), plant(steady), plant(broken), plant(steady)];
  const end = await run(files, { reruns: 1 });
  expect(files.map(startsOf)).toEqual([1, 1, 1, 1, 1]);
  expect(files.map(({ name }) => outcome(end).get(name))).toEqual([false, false, true, false, true]);
});

test("a file that hangs is ended with its process group after the limit, and has failed", async () => {
  const late = join(dir, "child");
  const command = `echo $$ > ${late}; exec sleep 600`;
  // The loop stops Bun's own test timer, and the child holds the output of the file open.
  const hung = plant(
    `Bun.spawn(["sh", "-c", ${JSON.stringify(command)}], { stdio: ["ignore", "inherit", "inherit"] });
     while (!(await Bun.file(${JSON.stringify(late)}).exists())) await Bun.sleep(5);
     for (;;);`,
  );
  const end = await run([hung], { limitMs: 5_000 });
  expect([startsOf(hung), end.results]).toEqual([1, [{ name: hung.name, isOk: false, passed: 0, failed: 1 }]]);
  expect(end.log).toContain("ended after its limit of 5 s");
  expect(processStartTime(Number(readFileSync(late, "utf8")))).toBeNull();
}, 60_000);

test("a file without a passing test has failed, also if its process succeeds", async () => {
  const command = plant(steady);
  const empty: Command = { ...command, argv: [process.execPath, "-e", "0"] };
  expect((await run([empty], { reruns: 0 })).results).toEqual([{ name: empty.name, isOk: false, passed: 0, failed: 1 }]);
});

test("no further command starts after the running ones were ended", async () => {
  const mark = join(dir, "second-has-started");
  const command = (name: string, script: string): Command => ({ name, argv: ["sh", "-c", script], isTest: false });
  const commands = [command("first", `touch ${mark}.first; exec sleep 60`), command("second", `touch ${mark}`)];
  const script = `
    import { existsSync } from "node:fs";
    import { endRunningCommands } from ${JSON.stringify(join(import.meta.dir, "run-command.ts"))};
    import { runStep } from ${JSON.stringify(join(import.meta.dir, "run-step.ts"))};
    const context = { cwd: ${JSON.stringify(dir)}, env: process.env, limitMs: 60_000, print() {}, lanes: 1, reruns: 0 };
    void runStep({ name: "ended", commands: ${JSON.stringify(commands)} }, context);
    while (!existsSync(${JSON.stringify(`${mark}.first`)})) await Bun.sleep(10);
    await endRunningCommands();
    // The end of the first command is handled before this timer.
    setTimeout(() => process.exit(existsSync(${JSON.stringify(mark)}) ? 1 : 0), 100);`;
  const child = Bun.spawn([process.execPath, "-e", script], { stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  expect(await child.exited).toBe(0);
});
