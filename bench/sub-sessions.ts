// Runs 100 native sub-sessions at once in one process, 20 calls each. Checks that all finish, and measures the time and
// the memory of the process tree. Writes SUB-SESSIONS.md; `-- --quick` runs once and does not.
import { mkdirSync, mkdtempSync, realpathSync, rmSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { type ScriptSource, startModelServer } from "../src/scripted-model/model-server.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import type { ResultRecord } from "../src/protocol/json/records.ts";
import { type Peak, watchTree } from "./tree.ts";

const isQuick = process.argv.includes("--quick");
const runs = isQuick ? 1 : 5;
const goalMb = 400;
const calls = 20;

// Not in /tmp: the sandbox rules differ there from those of a home directory.
const data = join(import.meta.dir, "data");
mkdirSync(data, { recursive: true });
const root = realpathSync(mkdtempSync(join(data, "sub-sessions-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const [home, project, program] = [join(root, "home"), join(root, "project"), join(root, "skein")];
for (const directory of [home, project]) mkdirSync(directory);
Bun.spawnSync(["git", "init", "-q"], { cwd: project });
const built = Bun.spawnSync([process.execPath, "run", join(import.meta.dir, "..", "tools", "build.ts"), "--outfile", program]);
if (built.exitCode !== 0) throw new Error(built.stderr.toString());

type Run = { children: number; wholeMs: number; peak: Peak; atOnce: number };

const all: Run[] = [];
for (const children of isQuick ? [100] : [1, 10, 100]) for (let run = 0; run < runs; run++) all.push(await runOnce(children));
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "SUB-SESSIONS.md"), report);

/** Throws for a run that did not do all of its work, so that it is never a figure. */
async function runOnce(children: number): Promise<Run> {
  const server = startModelServer(scriptOf(children));
  const startedAt = performance.now();
  const child = Bun.spawn([program, "run", "all of it", "-m", "anthropic/claude-sonnet-4-5", "--output-format", "events"], {
    cwd: project,
    env: { PATH: process.env["PATH"] ?? "", HOME: home, ANTHROPIC_BASE_URL: server.url, ANTHROPIC_API_KEY: "key" },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "inherit",
    timeout: 300_000,
  });
  const watcher = watchTree(child.pid);
  const printed = await new Response(child.stdout).text();
  const code = await child.exited;
  const wholeMs = performance.now() - startedAt;
  const peak = watcher.stop();
  const requestCount = server.main().length;
  await server.stop();
  const events = printed
    .trim()
    .split("\n")
    .map((line) => JSON.parse(line) as Event);
  const result = events.at(-1) as unknown as ResultRecord;
  const done = events.flatMap(({ node }) => node?.parts ?? []).filter((part) => part.text?.includes(`out-${1000 + calls - 1}`) === true);
  const expectedRequests = 2 + children * (calls + 1);
  if (code !== 0 || result.status !== "ok" || requestCount !== expectedRequests || done.length !== children)
    throw new Error(
      `exit code ${code}, ${result.status}, ${requestCount} requests of ${expectedRequests}, ${done.length} results of ${children}`,
    );
  return { children, wholeMs, peak, atOnce: maxAtOnce(events) };
}

type Event = { type: string; node?: { parts: { kind: string; text?: string }[] } };

/** The maximum of sub-sessions that ran at the same time. */
function maxAtOnce(events: Event[]): number {
  let now = 0;
  let max = 0;
  for (const { type, node } of events) {
    if (type === "session.spawned") now += 1;
    now -= (node?.parts ?? []).filter((part) => part.kind === "result").length;
    max = Math.max(max, now);
  }
  return max;
}

/** Each sub-session answers with its last output, which only an executed command can print. */
function scriptOf(children: number): ScriptSource {
  const commands = Array.from({ length: calls }, (_, index) => `echo out-$((1000 + ${index}))`);
  const spawned = Array.from({ length: children }, (_, index) => ({ name: "spawn_session", input: { task: `part ${index}` } }));
  return ({ position: { prompt }, body }) => {
    if (!prompt.startsWith("part ")) return { steps: [{ calls: spawned }], final: "all are back" };
    const last = /out-\d+(?!.*out-\d)/.exec(JSON.stringify(body))?.[0] ?? "nothing";
    return shellScript(commands, `the last was ${last}`);
  };
}

function text(): string {
  const load = loadavg()
    .map((value) => value.toFixed(1))
    .join(" ");
  const rows = [...Map.groupBy(all, ({ children }) => children)].map(([children, group]) => {
    const peaks = group.map(({ peak }) => peak.rssBytes / 1e6);
    const shares = group.map(({ peak }) => peak.pssBytes / 1e6);
    const goal = children === 100 ? `< ${goalMb}${Math.max(...peaks) < goalMb ? "" : ", missed"}` : "";
    const times = group.map(({ wholeMs }) => wholeMs / 1000);
    const atOnce = Math.min(...group.map((run) => run.atOnce));
    return `| ${children} | ${atOnce} | ${median(peaks).toFixed(0)} (${Math.max(...peaks).toFixed(0)}) | ${goal} | ${median(shares).toFixed(0)} | ${median(times).toFixed(2)} (${Math.max(...times).toFixed(2)}) | ${((median(times) * 1000) / (children * calls)).toFixed(2)} |`;
  });
  return `# Many sub-sessions in one process

${new Date().toISOString().slice(0, 10)}, \`npm run bench:sub-sessions\`; Bun ${Bun.version}, ${process.platform === "linux" ? `Linux ${release().split("-")[0]}` : process.platform}, ${cpus().length} cores, load ${load} at the end. A scripted orchestrator spawns that many native sub-sessions in one message; each makes ${calls} calls of \`echo\`, one after the other, in one shared executor, in the sandbox of policy \`workspace\`. The model's server answers at once and runs on the same machine. A run counts only if its parent got all answers of all sub-sessions.

| sub-sessions | at once | peak RSS, MB, median (max) | goal | peak PSS, MB | whole run, s, median (max) | ms per call |
|---:|---:|---:|---:|---:|---:|---:|
${rows.join("\n")}

Memory is the sum over skein and all its child processes, including executor and commands (RSS counts shared pages twice). "At once" is the minimum of all runs. ${runs} runs each.
`;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}
