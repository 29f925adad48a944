// Everything `npm test` runs, in order, each step named; `check.ts real` is the tier with real agents, a real terminal, a
// real Postgres and real installations, which needs the registry. Stops after the first step that fails.
import { Glob } from "bun";
import { readdirSync } from "node:fs";
import { cpus } from "node:os";

const root = `${import.meta.dir}/..`;
const bin = (name: string) => `${root}/node_modules/.bin/${name}`;
const bun = process.execPath;

/** Each lane takes the next command when it has ended one. */
type Step = { name: string; commands: string[][]; lanes?: number };
type Ended = { what: string; isOk: boolean; passed: number; failed: number };

/** Most of what such a test does is wait: one more than there are processors keeps these busy. */
const lanes = cpus().length + 1;

/** These take a minute and more: they must not begin last. */
const long = /\/(agent-failures|containment|escape|failures|acp|doctor-agents|own-sessions|install|crash|team)\.test\.ts$/;

const plain: Step[] = [
  { name: "format", commands: [[bin("oxfmt"), "--check", "src", "test", "tools", "bench", "examples"]] },
  { name: "types", commands: [[bin("tsc"), "--noEmit", "-p", root]] },
  { name: "lint", commands: [[bin("oxlint"), "--type-aware", "--deny-warnings", "src", "test", "tools", "bench", "examples"]] },
  { name: "dead code", commands: [[bin("knip"), "--no-progress"]] },
  // In two processes, each with about half of the work.
  {
    name: "unit tests",
    commands: [unitTests("a", "g"), [...unitTests("g", "{"), "test/house.test.ts", "test/support", "bench"]],
    lanes: 2,
  },
  { name: "walks", commands: filesIn("test/walks", "test/escape", "test/containment"), lanes },
];

const real: Step[] = [
  // Before tests do that at the same time.
  { name: "the agents are installed", commands: [[bun, "bench/peers.ts"]] },
  { name: "real agents, terminals, Postgres and installations", commands: filesIn("test/clis", "test/machine", "test/install"), lanes },
];

for (const { name, commands, lanes: wanted = 1 } of process.argv[2] === "real" ? real : plain) {
  process.stdout.write(`\n── ${name}\n`);
  const waiting = [...commands];
  const ended: Ended[] = [];
  const lane = async (): Promise<void> => {
    for (let command = waiting.shift(); command !== undefined; command = waiting.shift())
      ended.push(await (wanted > 1 ? runTests(command) : run(command)));
  };
  await Promise.all(Array.from({ length: wanted }, lane));
  const failed = ended.filter(({ isOk }) => !isOk);
  if (wanted > 1) process.stdout.write(`tests: ${sum(ended, "passed")} passed, ${sum(ended, "failed")} failed\n`);
  if (failed.length === 0) continue;
  process.stderr.write(`\n${name} failed: ${failed.map(({ what }) => what).join(", ")}\n`);
  process.exit(1);
}

async function run(command: string[]): Promise<Ended> {
  const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: "inherit", stderr: "inherit" });
  return { what: command.at(-1)!, isOk: (await child.exited) === 0, passed: 0, failed: 0 };
}

/** Several run at once: one that passed says so in a line, one that failed all that it had to say, in one piece. */
async function runTests(command: string[]): Promise<Ended> {
  const from = performance.now();
  const child = Bun.spawn(command, { cwd: root, stdin: "ignore", stdout: "pipe", stderr: "pipe" });
  const said = (await Promise.all([child.stdout, child.stderr].map((stream) => new Response(stream).text()))).join("");
  const what = command.at(-1)!;
  const count = (word: string) => Number(new RegExp(`^ *(\\d+) ${word}$`, "m").exec(said)?.[1] ?? 0);
  const [passed, failed, skipped] = [count("pass"), count("fail"), count("skip") + count("todo")];
  const isOk = (await child.exited) === 0 && passed > 0 && failed === 0 && skipped === 0;
  const line = `${what}: ${passed} pass, ${failed} fail, ${skipped} skipped, ${((performance.now() - from) / 1000).toFixed(1)} s`;
  process.stdout.write(isOk ? `${line}\n` : `${said}\n✗ ${line}\n`);
  return { what, isOk, passed, failed };
}

function sum(ended: Ended[], field: "passed" | "failed"): number {
  return ended.reduce((total, { [field]: count }) => total + count, 0);
}

/** Of the rooms whose names lie in this part of the alphabet. */
function unitTests(from: string, before: string): string[] {
  const rooms = readdirSync(`${root}/src`).filter((name) => name >= from && name < before);
  return [bun, "test", "--only-failures", "--timeout", "60000", ...rooms.map((room) => `src/${room}`)];
}

function filesIn(...folders: string[]): string[][] {
  const files = folders.flatMap((folder) => [...new Glob(`${folder}/*.test.ts`).scanSync({ cwd: root })].sort());
  const inOrder = [...files.filter((file) => long.test(file)), ...files.filter((file) => !long.test(file))];
  return inOrder.map((file) => [bun, "test", "--only-failures", "--timeout", "300000", file]);
}
