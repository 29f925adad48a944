// Measures file snapshots: the first, one of an unchanged project (for which a turn without changes waits at its end),
// and one after a change, with git in its sandbox and without. Writes FILES.md; `-- --quick` does not.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { createExecutors } from "../src/app/executors/executors.ts";
import { plainGit } from "../src/files/fixtures/plain-git.ts";
import type { GitRunner } from "../src/files/git.ts";
import { createSnapshots } from "../src/files/snapshots/snapshots.ts";
import { benchContext } from "./bench-context.ts";
import { buildSkein } from "./contenders.ts";
import { watchEventLoop } from "./timing.ts";

const rounds = 9;
const root = mkdtempSync(join(tmpdir(), "skein-bench-files-"));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));

const executors = createExecutors(benchContext(root, (await buildSkein()).command("").slice(0, 1)));
const rows: string[] = [];
for (const files of [100, 5_000, 50_000])
  for (const [name, git] of Object.entries({ sandbox: executors.git, plain: plainGit })) rows.push(await measure(files, name, git));
await executors.close();
const report = `# Cost of file snapshots

${new Date().toISOString().slice(0, 10)}, \`npm run bench:files\`; Bun ${Bun.version}, ${Bun.spawnSync(["git", "--version"]).stdout.toString().trim()}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end. Files of about 600 bytes in 500 directories; medians of ${rounds}, the first snapshot once. Snapshots before a turn are taken while the model answers for the first time. A turn that ran tools waits for the snapshot after it.

| files | git | first, ms | event loop blocked at most, ms | unchanged, ms | one file changed, ms |
|---:|---|---:|---:|---:|---:|
${rows.join("\n")}
`;
console.log(report);
if (!process.argv.includes("--quick")) await Bun.write(join(import.meta.dir, "FILES.md"), report);

async function measure(files: number, name: string, git: GitRunner): Promise<string> {
  const project = createProject(`${name}-${files}`, files);
  await Bun.sleep(1100); // git reads a file again if it is as new as the index
  const snapshots = createSnapshots({
    root: join(root, "skein", "data", "files"),
    git,
    tooBig: [],
    leaveOut: [],
    warn: console.error,
  });
  const stall = watchEventLoop();
  const first = await timed(() => snapshots.take(project));
  const blockedMs = stall.stop();
  const unchanged: number[] = [];
  const changed: number[] = [];
  for (let n = 0; n < rounds; n++) {
    unchanged.push(await timed(() => snapshots.take(project)));
    writeFileSync(join(project, "d1", "s1", "f1.ts"), `changed ${n}\n`);
    changed.push(await timed(() => snapshots.take(project)));
  }
  const cells = [first, blockedMs, median(unchanged), median(changed)].map((ms) => ms.toFixed(ms < 10 ? 1 : 0));
  return `| ${files.toLocaleString("en-US")} | ${name} | ${cells.join(" | ")} |`;
}

function createProject(name: string, files: number): string {
  const project = join(root, name);
  for (let n = 0; n < files; n++) {
    const directory = join(project, `d${n % 25}`, `s${n % 500}`);
    if (n < 500) mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `f${n}.ts`), `export const value${n} = ${n};\n`.repeat(20));
  }
  return project;
}

async function timed(act: () => Promise<unknown>): Promise<number> {
  const from = performance.now();
  await act();
  return performance.now() - from;
}

function median(times: number[]): number {
  return times.toSorted((a, b) => a - b)[times.length >> 1] ?? 0;
}
