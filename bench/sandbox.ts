// What the walls cost: the first tool call and each further one, behind walls and without any, taken in turns in one
// run; at the executor, and as a model's server sees the whole program. Writes SANDBOX.md; `-- --quick` does not.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { loadConfig } from "../src/config/load.ts";
import { findPaths } from "../src/config/paths.ts";
import { createExecutors, loadSandboxSupport } from "../src/app/executors/executors.ts";
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

// Not in /tmp: there the walls would have another shape than in a home.
const data = join(import.meta.dir, "data");
mkdirSync(data, { recursive: true });
const root = realpathSync(mkdtempSync(join(data, "sandbox-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));

const walled: Policy = { name: "workspace", sandbox: "required", net: "off", allowWrite: [], addDirs: [] };
const bare: Policy = { name: "full", sandbox: "off", net: "on", allowWrite: [], addDirs: [] };
const policies = { walls: walled, none: bare };
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
const ground = groundOf();
const machine = await loadSandboxSupport(ground, { anew: true });
if (machine.tier === "none") throw new Error(`there is nothing to measure: ${machine.why}`);

const first = await firstCalls();
const further = await furtherCalls();
const whole = await wholeRuns();
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "SANDBOX.md"), report);

/** A home and a project with what people have there: places to hide, to copy and to guard. */
function prepare(): void {
  const folders = [".ssh", ".aws", ".docker", ".cache", ".npm", ".cargo/registry", ".config/gh", ".claude/skills"];
  for (const folder of folders) mkdirSync(join(home, folder), { recursive: true });
  for (const file of [".npmrc", ".netrc", ".git-credentials", ".bash_history"]) writeFileSync(join(home, file), "x\n");
  mkdirSync(join(project, ".skein"), { recursive: true });
  Bun.spawnSync(["git", "init", "-q"], { cwd: project });
  writeFileSync(join(project, "file.ts"), "export const value = 1;\n".repeat(60));
  mkdirSync(join(root, "program"));
  const built = Bun.spawnSync([process.execPath, "run", join(import.meta.dir, "..", "tools", "build.ts"), "--outfile", program]);
  if (built.exitCode !== 0) throw new Error(built.stderr.toString());
}

function groundOf(): AppContext {
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
  return { ...input, paths, project, config, isTrusted: () => false, providers: {} };
}

/** From nothing to the first result, with an executor of its own each time. */
async function firstCalls(): Promise<Record<Side, number[]>> {
  const times: Record<Side, number[]> = { walls: [], none: [] };
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

/** In turns with two executors that are warm. */
async function furtherCalls(): Promise<Map<string, Record<Side, number[]>>> {
  const found = new Map<string, Record<Side, number[]>>();
  await withExecutor("walls", "further", (walls) =>
    withExecutor("none", "further", async (none) => {
      for (const [name, task] of Object.entries(tasks)) {
        const times: Record<Side, number[]> = { walls: [], none: [] };
        for (let round = -20; round < calls; round++) {
          for (const side of sides) {
            const from = performance.now();
            await call(side === "walls" ? walls : none, task);
            if (round >= 0) times[side].push(performance.now() - from);
          }
        }
        found.set(name, times);
      }
    }),
  );
  return found;
}

async function withExecutor(side: Side, session: string, act: (executor: Executor) => Promise<void>): Promise<void> {
  const executors = createExecutors(ground);
  try {
    const { tier } = await executors.enforced(policies[side]);
    if ((tier === "none") !== (side === "none")) throw new Error(`${side} is held by ${tier}`);
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

type Whole = { start: number[]; first: number[]; further: number[]; all: number[] };

/** The whole program: how long after its start each request comes. */
async function wholeRuns(): Promise<Record<Side, Whole>> {
  const found: Record<Side, Whole> = { walls: emptyWhole(), none: emptyWhole() };
  const server = startModelServer(shellScript(Array.from({ length: callsInRun }, (_, n) => `echo ${n}`)));
  try {
    for (let round = -1; round < runs; round++) {
      for (const side of sides) {
        server.clear();
        const from = performance.timeOrigin + performance.now();
        await runOnce(server.url, side);
        const at = server.main().map((request) => request.at - from);
        if (at.length !== callsInRun + 1) throw new Error(`${at.length} requests came`);
        if (round < 0) continue;
        found[side].start.push(at[0]!);
        found[side].first.push(at[1]! - at[0]!);
        found[side].further.push((at.at(-1)! - at[1]!) / (callsInRun - 1));
        found[side].all.push(performance.timeOrigin + performance.now() - from);
      }
    }
  } finally {
    await server.stop();
  }
  return found;
}

function emptyWhole(): Whole {
  return { start: [], first: [], further: [], all: [] };
}

async function runOnce(url: string, side: Side): Promise<void> {
  const flags = side === "walls" ? ["--sandbox", "required"] : ["--policy", "full", "--sandbox", "off"];
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, ANTHROPIC_BASE_URL: url, ANTHROPIC_API_KEY: "dummy" };
  const command = [program, "run", "go", "-m", "anthropic/claude-sonnet-4-5", "--json", ...flags];
  const child = Bun.spawn(command, { cwd: project, env, stdin: "ignore", stdout: "ignore", stderr: "pipe", timeout: 60_000 });
  if ((await child.exited) !== 0) throw new Error(await new Response(child.stderr).text());
}

function text(): string {
  const rows = [...further].map(([name, times]) => row(name, times, "< 1"));
  const seen = (name: keyof Whole) => ({ walls: whole.walls[name], none: whole.none[name] });
  return `# What the walls cost

${new Date().toISOString().slice(0, 10)}, \`npm run bench:sandbox\`; Bun ${Bun.version}, Linux ${release().split(".", 2).join(".")}, tier ${machine.tier}${machine.processes === "with-user" ? " with a user namespace" : ""}, ${cpus().length} cores, load ${loadavg()
    .map((load) => load.toFixed(1))
    .join(
      " ",
    )} at the end. Milliseconds; medians, and in brackets the fastest. With walls: policy \`workspace\`, network off. Without: policy \`full\`, \`--sandbox off\`. Both sides take turns, so that other work on the machine falls on both; the load says whether there was any.

## At the executor

| what | walls | none | difference of medians | goal |
|---|---:|---:|---:|---:|
${row(`from nothing to the first result (${starts} starts)`, first, "")}
${rows.join("\n")}

Each further call was made ${calls} times.

## The whole program, as the model's server sees it

${runs} runs of ${callsInRun} calls of \`echo\` each. The executor starts while the first answer is on its way; here the answer comes at once, so that the first call waits for all of the start.

| what | walls | none | difference of medians | goal |
|---|---:|---:|---:|---:|
${row("start to first request", seen("start"), "")}
${row("first call: request to request", seen("first"), "")}
${row("each further call: request to request", seen("further"), "< 1")}
${row("whole run", seen("all"), "")}
`;
}

function row(name: string, times: Record<Side, number[]>, goal: string): string {
  const cell = (side: Side) => `${median(times[side]).toFixed(2)} (${Math.min(...times[side]).toFixed(2)})`;
  return `| ${name} | ${cell("walls")} | ${cell("none")} | ${(median(times.walls) - median(times.none)).toFixed(2)} | ${goal} |`;
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}
