// Measures snapshots after each call: whole runs with 20 calls that change files, interleaved with an executable that takes
// snapshots only at the ends of a turn (`-- --before <executable>`), and how long a call waits in a project with 50,000 files.
// Writes FILE-CALLS.md; `-- --quick` does not.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createExecutors } from "../src/app/executors/executors.ts";
import { createFileRecorder } from "../src/engine/record/file-recorder.ts";
import { createSnapshots } from "../src/files/snapshots/snapshots.ts";
import { systemClock } from "../src/kit/flow/clock.ts";
import type { CallFiles } from "../src/protocol/tree/file-changes.ts";
import type { Node } from "../src/protocol/tree/node.ts";
import { shellScript } from "../src/scripted-model/script.ts";
import { startRemoteModelServer } from "../test/support/model-server-control.ts";
import { benchContext } from "./bench-context.ts";
import { buildSkein, earlierBuild, type Contender } from "./contenders.ts";
import { measure, openBenchSite, type BenchSite, type Scenario } from "./measure.ts";
import { adoptOrphans } from "./orphans.ts";

const args = process.argv.slice(2);
const isQuick = args.includes("--quick");
const rounds = isQuick ? 3 : 15;
/** A run with slow answers takes seconds, and varies little. */
const slowRounds = isQuick ? 1 : 5;
const callCount = 20;
const root = mkdtempSync(join(tmpdir(), "skein-bench-file-calls-"));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));

const answer = (commands: string[]) => ({
  commands: commands.map((command, n) => `${command}; echo out-$((1000 + ${n}))`),
  proof: [`out-${1000 + callCount - 1}`],
});
const numbers = Array.from({ length: callCount }, (_, n) => n);
const scenarios: Scenario[] = [0, 300].flatMap((delayMs) => [
  { name: `${callCount} changed files, answers after ${delayMs} ms`, delayMs, ...answer(numbers.map((n) => `date +%N >> f${n % 5}.ts`)) },
  { name: `${callCount} new files, answers after ${delayMs} ms`, delayMs, ...answer(numbers.map((n) => `date +%N > new-$RANDOM-${n}.ts`)) },
]);

const skein = await buildSkein();
const earlier = earlierBuild(args);
const runs = await measureRuns([skein, ...(earlier === null ? [] : [earlier])]);
const waits = [await measureWaits(100, 0), await measureWaits(5_000, 0), await measureWaits(50_000, 0), await measureWaits(50_000, 1_000)];
const report = `# Cost of a snapshot after each call

${new Date().toISOString().slice(0, 10)}, \`npm run bench:file-calls -- --before <executable>\`; Bun ${Bun.version}, ${Bun.spawnSync(["git", "--version"]).stdout.toString().trim()}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end. "Before" is a build that takes snapshots only at the ends of a turn.

Whole runs in a project with 100 files, interleaved, medians of ${rounds} (slow answers: ${slowRounds}) in ms:

| run | each call | ends of the turn only | ratio |
|---|---:|---:|---:|
${runs.join("\n")}

How long calls wait for snapshots, ${callCount} bash calls that change a file each. A call waits at most 250 ms; then the files at the node before it stay unknown.

| files | answers after, ms | longest wait, ms | median wait, ms | unknown nodes |
|---:|---:|---:|---:|---:|
${waits.join("\n")}
`;
console.log(report);
if (!isQuick && earlier !== null) await Bun.write(join(import.meta.dir, "FILE-CALLS.md"), report);
process.exit(0);

async function measureRuns(contenders: Contender[]): Promise<string[]> {
  adoptOrphans();
  const server = await startRemoteModelServer(shellScript([]));
  const sites: BenchSite[] = [];
  const rows: string[] = [];
  try {
    for (const contender of contenders) {
      const site = await openBenchSite(contender, server.url);
      fillProject(site.cwd, 100);
      sites.push(site);
    }
    for (const site of sites) await measure(server, site, scenarios[0]!, "time");
    for (const scenario of scenarios) {
      const times = sites.map((): number[] => []);
      for (let round = 0; round < (scenario.delayMs === 0 ? rounds : slowRounds); round++)
        for (const [index, site] of sites.entries()) times[index]!.push((await measure(server, site, scenario, "time")).wholeMs);
      const [now = 0, before] = times.map(median);
      const cells = before === undefined ? ["", ""] : [before.toFixed(0), (now / before).toFixed(2)];
      rows.push(`| ${scenario.name} | ${now.toFixed(0)} | ${cells.join(" | ")} |`);
    }
    return rows;
  } finally {
    await server.stop();
    for (const { cwd } of sites) rmSync(cwd, { recursive: true, force: true });
  }
}

/** Records calls like a turn of the native agent, without a model: an answer comes after `answerMs`. */
async function measureWaits(files: number, answerMs: number): Promise<string> {
  const project = join(root, `project-${files}-${answerMs}`);
  fillProject(project, files);
  const executors = createExecutors(benchContext(root, skein.command("").slice(0, 1)));
  const snapshots = createSnapshots({
    root: join(root, "data", "files"),
    git: executors.git,
    tooBig: [],
    leaveOut: [],
    warn: console.error,
  });
  const saved = new Map<string, CallFiles>();
  const store = {
    saveTurnFiles: async () => {},
    saveCallFiles: async (_lease: unknown, _turn: string, ...records: CallFiles[]) => {
      for (const files of records) saved.set(files.first, files);
    },
  };
  const turn = {
    params: { command: null, tools: null, toolLevel: "minimal" },
    store,
    lease: null,
    clock: systemClock,
    deadline: { signal: new AbortController().signal },
  };
  const options = { project, directory: project, turn: "t", canDelayCalls: true };
  const recorder = createFileRecorder(snapshots, turn as unknown as Parameters<typeof createFileRecorder>[1], options);
  await recorder.recordBefore();
  const record = async (node: Node): Promise<void> => {
    for (const files of (await recorder.beforeNode(node))?.(node.id) ?? []) saved.set(files.first, files);
    await recorder.recordNode(node);
  };
  const waits: number[] = [];
  for (const n of numbers) {
    await Bun.sleep(answerMs);
    const startedAt = performance.now();
    await record(nodeOf(`call-${n}`, { kind: "call", id: String(n), name: "bash", input: {} }));
    waits.push(performance.now() - startedAt);
    writeFileSync(join(project, "d1", "s1", "f1.ts"), `changed ${n}\n`);
    await record(nodeOf(`result-${n}`, { kind: "result", call: String(n), name: "bash", text: "", isError: false }));
  }
  await recorder.recordAfter(true);
  await executors.close();
  const unknown = [...saved.values()].filter(({ after }) => after === null).length;
  return `| ${files.toLocaleString("en-US")} | ${answerMs} | ${Math.max(...waits).toFixed(1)} | ${median(waits).toFixed(1)} | ${unknown} of ${callCount} |`;
}

function nodeOf(id: string, part: Node["parts"][number]): Node {
  return { id, parent: null, tree: "t", session: "s", turn: "t", at: 0, author: "agent", parts: [part] };
}

function fillProject(project: string, files: number): void {
  for (let n = 0; n < files; n++) {
    const directory = join(project, `d${n % 25}`, `s${n % 500}`);
    if (n < 500) mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `f${n}.ts`), `export const value${n} = ${n};\n`.repeat(20));
  }
  writeFileSync(join(project, ".gitignore"), "node_modules\n");
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}
