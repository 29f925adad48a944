// Measures the cost of the sandbox: the first and each further tool call, with and without it, interleaved in one run,
// at the executor and for the whole program. Writes SANDBOX.md; `-- --quick` does not.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../src/config/load.ts";
import { findPaths } from "../src/config/paths.ts";
import { createExecutors } from "../src/app/executors/executors.ts";
import { loadSandboxSupport } from "../src/app/executors/sandbox-support.ts";
import type { AppContext } from "../src/app/app-context.ts";
import { createProcessContext } from "../src/app/process-context.ts";
import type { Policy } from "../src/protocol/api/policy.ts";
import type { Executor } from "../src/protocol/api/ports.ts";
import { startModelServer } from "../src/scripted-model/model-server.ts";
import { shellScript } from "../src/scripted-model/script.ts";

const isQuick = process.argv.includes("--quick");
const starts = isQuick ? 3 : 25;
const calls = isQuick ? 20 : 300;
const runs = isQuick ? 1 : 15;
const callsInRun = 20;

// Not in /tmp: the sandbox rules differ there from those of a home directory.
const data = join(import.meta.dir, "data");
mkdirSync(data, { recursive: true });
const root = realpathSync(mkdtempSync(join(data, "sandbox-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));

const sandboxed: Policy = { name: "workspace", sandbox: "required", net: "off", allowWrite: [], addDirs: [] };
const bare: Policy = { name: "full", sandbox: "off", net: "on", allowWrite: [], addDirs: [] };
const policies = { sandbox: sandboxed, none: bare };
type Side = keyof typeof policies;
const sides = Object.keys(policies) as Side[];

const tasks: Record<string, [string, Record<string, unknown>]> = {
  "bash: true": ["bash", { command: "true" }],
  "bash: a script that starts ten programs": ["bash", { command: "for n in 1 2 3 4 5 6 7 8 9 10; do /bin/true; done" }],
  "read a file of 60 lines": ["read", { path: "file.ts" }],
  "write a file": ["write", { path: "out.ts", content: "export const one = 1;\n" }],
};

const program = join(root, "program", "skein");
const [home, project] = [join(root, "home"), join(root, "project")];
prepare();
const ctx = createContext();
const support = await loadSandboxSupport(ctx, { anew: true });
if (support.tier === "none") throw new Error(`there is nothing to measure: ${support.why}`);

const first = await firstCalls();
const further = await furtherCalls();
const whole = await wholeRuns();
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "SANDBOX.md"), report);

/** A home and a project with typical files: paths to hide, to copy and to protect. */
function prepare(): void {
  const directories = [".ssh", ".aws", ".docker", ".cache", ".npm", ".cargo/registry", ".config/gh", ".claude/skills"];
  for (const directory of directories) mkdirSync(join(home, directory), { recursive: true });
  for (const file of [".npmrc", ".netrc", ".git-credentials", ".bash_history"]) writeFileSync(join(home, file), "x\n");
  mkdirSync(join(project, ".skein"), { recursive: true });
  Bun.spawnSync(["git", "init", "-q"], { cwd: project });
  writeFileSync(join(project, "file.ts"), "export const value = 1;\n".repeat(60));
  mkdirSync(join(root, "program"));
  const built = Bun.spawnSync([process.execPath, "run", join(import.meta.dir, "..", "tools", "build.ts"), "--outfile", program]);
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
}

function createContext(): AppContext {
  const env = { PATH: process.env["PATH"], HOME: home };
  const paths = findPaths(env, project);
  const config = loadConfig({ project, env, paths, trusted: () => false });
  const input = {
    env,
    cwd: project,
    startedIn: project,
    ephemeral: false,
    trust: null,
    lenient: false,
    selfCommand: [program],
    version: "0",
    processContext: createProcessContext({
      startedAt: 0,
      enclosingSession: () => null,
      address: () => null,
      connect: () => Promise.reject(new Error("there is no other process here")),
    }),
    warn: console.error,
  };
  return { ...input, paths, project, config, isTrusted: () => false, providers: {}, models: {} };
}

/** From the start of a new executor to its first result. */
async function firstCalls(): Promise<Record<Side, number[]>> {
  const times: Record<Side, number[]> = { sandbox: [], none: [] };
  for (let round = 0; round < starts; round++) {
    for (const side of sides) {
      const from = performance.now();
      await withExecutor(side, `first-${round}`, async (executor) => {
        times[side].push((await call(executor, ["bash", { command: "true" }])) - from);
      });
    }
  }
  return times;
}

/** Alternates between two warm executors. */
async function furtherCalls(): Promise<Map<string, Record<Side, number[]>>> {
  const timesByTask = new Map<string, Record<Side, number[]>>();
  await withExecutor("sandbox", "further", (inSandbox) =>
    withExecutor("none", "further", async (none) => {
      for (const [name, task] of Object.entries(tasks)) {
        const times: Record<Side, number[]> = { sandbox: [], none: [] };
        for (let round = -20; round < calls; round++) {
          for (const side of sides) {
            const from = performance.now();
            await call(side === "sandbox" ? inSandbox : none, task);
            if (round >= 0) times[side].push(performance.now() - from);
          }
        }
        timesByTask.set(name, times);
      }
    }),
  );
  return timesByTask;
}

async function withExecutor(side: Side, session: string, act: (executor: Executor) => Promise<void>): Promise<void> {
  const executors = createExecutors(ctx);
  try {
    const { tier } = await executors.enforced(policies[side]);
    if ((tier === "none") !== (side === "none")) throw new Error(`${side} is enforced by ${tier}`);
    await act(executors.get({ root: session, directory: project, project, policy: policies[side], nesting: false }));
  } finally {
    await executors.close();
  }
}

async function call(executor: Executor, [name, input]: [string, Record<string, unknown>]): Promise<number> {
  const signal = AbortSignal.timeout(30_000);
  const outcome = await executor.callTool(name, input, { session: "s", cwd: project, env: {}, signal, onOutput: () => {} });
  if (outcome.isError) throw new Error(outcome.text);
  return performance.now();
}

type RunTimes = { start: number[]; first: number[]; further: number[]; all: number[] };

/** Times of the whole program, from the arrival of its requests. */
async function wholeRuns(): Promise<Record<Side, RunTimes>> {
  const times: Record<Side, RunTimes> = { sandbox: emptyTimes(), none: emptyTimes() };
  const server = startModelServer(shellScript(Array.from({ length: callsInRun }, (_, n) => `echo ${n}`)));
  try {
    for (let round = -1; round < runs; round++) {
      for (const side of sides) {
        server.clear();
        const from = performance.timeOrigin + performance.now();
        await runOnce(server.url, side);
        const arrivals = server.main().map((request) => request.at - from);
        if (arrivals.length !== callsInRun + 1) throw new Error(`${arrivals.length} requests arrived`);
        if (round < 0) continue;
        times[side].start.push(arrivals[0]!);
        times[side].first.push(arrivals[1]! - arrivals[0]!);
        times[side].further.push((arrivals.at(-1)! - arrivals[1]!) / (callsInRun - 1));
        times[side].all.push(performance.timeOrigin + performance.now() - from);
      }
    }
  } finally {
    await server.stop();
  }
  return times;
}

function emptyTimes(): RunTimes {
  return { start: [], first: [], further: [], all: [] };
}

async function runOnce(url: string, side: Side): Promise<void> {
  const flags = side === "sandbox" ? ["--sandbox", "required"] : ["--policy", "full", "--sandbox", "off"];
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy" };
  const command = [program, "run", "go", "-m", "anthropic/claude-sonnet-4-5", "--json", ...flags];
  const child = Bun.spawn(command, { cwd: project, env, stdin: "ignore", stdout: "ignore", stderr: "pipe", timeout: 60_000 });
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
}

function text(): string {
  const rows = [...further].map(([name, times]) => row(name, times, "< 1"));
  const timesOf = (name: keyof RunTimes) => ({ sandbox: whole.sandbox[name], none: whole.none[name] });
  return `# Cost of the sandbox

${new Date().toISOString().slice(0, 10)}, \`npm run bench:sandbox\`; Bun ${Bun.version}, Linux ${release().split(".", 2).join(".")}, tier ${support.tier}${support.processes === "with-user" ? " with a user namespace" : ""}, ${cpus().length} cores, load ${loadavg()
    .map((load) => load.toFixed(1))
    .join(
      " ",
    )} at the end. Milliseconds; medians, with the fastest in brackets. With sandbox: policy \`workspace\`, network off. Without: policy \`full\`, \`--sandbox off\`. Both sides alternate, so that other work on the machine affects both; the load shows whether there was any.

## At the executor

| what | sandbox | none | difference of medians | goal |
|---|---:|---:|---:|---:|
${row(`start to first result (${starts} starts)`, first, "")}
${rows.join("\n")}

Each further call was made ${calls} times.

## The whole program, as the model's server sees it

${runs} runs of ${callsInRun} calls of \`echo\` each. The executor starts while the model answers. Here the answer comes at once, so the first call waits for the whole start.

| what | sandbox | none | difference of medians | goal |
|---|---:|---:|---:|---:|
${row("start to first request", timesOf("start"), "")}
${row("first call: request to request", timesOf("first"), "")}
${row("each further call: request to request", timesOf("further"), "< 1")}
${row("whole run", timesOf("all"), "")}
`;
}

function row(name: string, times: Record<Side, number[]>, goal: string): string {
  const cell = (side: Side) => `${median(times[side]).toFixed(2)} (${Math.min(...times[side]).toFixed(2)})`;
  return `| ${name} | ${cell("sandbox")} | ${cell("none")} | ${(median(times.sandbox) - median(times.none)).toFixed(2)} | ${goal} |`;
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}
