// Measures `skein blame` on a file that 500 turns of three agents wrote, as a whole process. Writes BLAME.md;
// `-- --quick` does not.
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { findPaths } from "../src/config/paths.ts";
import { plainGit } from "../src/files/fixtures/plain-git.ts";
import { createSnapshots } from "../src/files/snapshots/snapshots.ts";
import { newSession, newTurn, okTurnEnd } from "../src/store/fixtures/samples.ts";
import { openStore } from "../src/store/sqlite/sqlite-store.ts";
import type { Store } from "../src/store/store.ts";
import type { Snapshots } from "../src/protocol/api/ports.ts";
import { buildSkein } from "./contenders.ts";
import { median } from "./table.ts";

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 1 : 5;
const turns = 500;
const lineCount = 100_000;
const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-bench-blame-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: join(root, "home"), SKEIN_HOME: join(root, "skein") };
const project = join(root, "project");
mkdirSync(join(project, ".git"), { recursive: true });
mkdirSync(env.HOME);

const [program] = (await buildSkein()).command("");
const paths = findPaths(env, project);
mkdirSync(paths.data, { recursive: true });
const store = await openStore({ path: join(paths.data, "skein.db"), outputsDir: join(paths.data, "outputs") });
const snapshots = createSnapshots({ root: join(paths.data, "files"), git: plainGit, tooBig: [], leaveOut: [], warn: console.error });

const file = join(project, "big.ts");
const bytes = await writeHistory(store, snapshots);
await store.close();
const times: number[] = [];
const cpuTimes: number[] = [];
for (let round = 0; round < rounds; round++) {
  const startedAt = performance.now();
  const child = Bun.spawn([program!, "blame", "big.ts"], { cwd: project, env, stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const output = await new Response(child.stdout).text();
  if ((await child.exited) !== 0) throw new Error("skein blame failed");
  times.push(performance.now() - startedAt);
  cpuTimes.push((Number(child.resourceUsage()!.cpuTime.total) / 1_000_000) * 1_000);
  checkOutput(output);
}
const report = `# Time of a blame

${new Date().toISOString().slice(0, 10)}, \`npm run bench:blame\`; Bun ${Bun.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end. Medians of ${rounds}, whole processes, in ms. A file that grew to ${lineCount.toLocaleString("en-US")} lines in ${turns} turns of three agents; each turn added a block, changed 10 lines elsewhere and moved a block. All versions together have ${(bytes / 1e6).toFixed(0)} MB.

| | wall clock | CPU time |
|---|---:|---:|
| \`skein blame big.ts\` | ${median(times).toFixed(0)} | ${median(cpuTimes).toFixed(0)} |
`;
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "BLAME.md"), report);
process.exit(0);

/** Each line names the turn that wrote it. Returns the bytes of all versions. */
async function writeHistory(store: Store, snapshots: Snapshots): Promise<number> {
  const lines: string[] = [];
  let random = 7;
  const below = (limit: number): number => {
    random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
    return Math.floor((random / 2 ** 32) * limit);
  };
  const newLine = (turn: number) => `  const v${below(1e9)} = f(${below(1e6)}); // t${turn}`;
  let before = (await snapshots.take(project))!;
  let total = 0;
  const perTurn = lineCount / turns;
  const startedAt = Date.now() - turns * 1_000;
  for (let turn = 0; turn < turns; turn++) {
    const agent = ["native", "claude", "codex"][turn % 3]!;
    const lease = await store.acquire((await store.createSession(newSession({ directory: project, project, agent }))).id);
    const { value: begun } = await store.startTurn(lease, { ...newTurn(), agent });
    for (let count = 0; count < 10 && lines.length > 0; count++) lines[below(lines.length)] = newLine(turn);
    const moved = lines.splice(below(lines.length), 20);
    lines.splice(below(lines.length + 1), 0, ...moved);
    lines.splice(below(lines.length + 1), 0, ...Array.from({ length: perTurn }, () => newLine(turn)));
    const text = `${lines.join("\n")}\n`;
    total += text.length;
    writeFileSync(file, text);
    const after = (await snapshots.take(project))!;
    const times = { startedAt: startedAt + turn * 1_000, endedAt: startedAt + turn * 1_000 + 500 };
    await store.saveCallFiles(lease, begun.id, { first: begun.id, last: begun.id, project, before, after, paths: null, ...times });
    await store.endTurn(lease, begun.id, okTurnEnd);
    await store.release(lease);
    before = after;
  }
  return total;
}

/** Compares the turn of each line with the one that its text names. */
function checkOutput(output: string): void {
  const rows = output
    .split("\n\n")[0]!
    .split("\n")
    .filter((row) => row !== "");
  const names = new Map<string, string>();
  for (const row of rows) {
    const [, id = "", turn = ""] = /^(\S+) .*\/\/ (t\d+)$/.exec(row) ?? [];
    if ((names.get(turn) ?? id) !== id || id === "") throw new Error(`wrong line: ${row}`);
    names.set(turn, id);
  }
  if (rows.length !== lineCount || new Set(names.values()).size !== names.size)
    throw new Error(`${rows.length} lines, ${names.size} turns`);
}
