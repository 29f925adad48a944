// Measures counting a project's tokens, and how long it blocks the event loop of the caller. Writes COUNT.md;
// `-- --quick` does not.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { countFiles } from "../src/files/project/count-files.ts";
import { plainGit } from "../src/files/fixtures/plain-git.ts";
import { listFiles } from "../src/files/project/list-files.ts";
import { watchEventLoop } from "./timing.ts";

const rounds = 3;
const root = mkdtempSync(join(tmpdir(), "skein-bench-count-"));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const command = [process.execPath, join(import.meta.dir, "..", "src", "main.ts"), "__count"];

const rows: string[] = [];
for (const [files, lines] of [
  [100, 20],
  [10_000, 20],
  [100_000, 3],
] as const)
  rows.push(await measure(files, lines));
const report = `# Cost of counting tokens

${new Date().toISOString().slice(0, 10)}, \`npm run bench:count\`; Bun ${Bun.version} from source, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end. Files of 20 lines, and of 3 lines where there are 100,000, in a git repository; the best of ${rounds}.

| files | tokens | list, ms | count, ms | event loop blocked at most, ms |
|---:|---:|---:|---:|---:|
${rows.join("\n")}
`;
console.log(report);
if (!process.argv.includes("--quick")) await Bun.write(join(import.meta.dir, "COUNT.md"), report);

async function measure(files: number, lines: number): Promise<string> {
  const project = createProject(files, lines);
  const best = { list: Infinity, count: Infinity, blocked: Infinity };
  let tokens = 0;
  for (let n = 0; n < rounds; n++) {
    const stall = watchEventLoop();
    const startedAt = performance.now();
    const all = await listFiles({ items: ["."], directory: project, project, git: plainGit });
    const listedAt = performance.now();
    const result = await countFiles({ command: async () => ({ command, env: {} }), project, files: all, top: 10, limitMs: 600_000 });
    best.count = Math.min(best.count, performance.now() - listedAt);
    best.list = Math.min(best.list, listedAt - startedAt);
    best.blocked = Math.min(best.blocked, stall.stop());
    if (result.totalFiles !== files) throw new Error(`${result.totalFiles} files were counted instead of ${files}`);
    tokens = result.totalTokens;
  }
  const cells = [files, tokens].map((count) => count.toLocaleString("en-US"));
  return `| ${[...cells, ...[best.list, best.count, best.blocked].map((ms) => ms.toFixed(0))].join(" | ")} |`;
}

function createProject(files: number, lines: number): string {
  const project = join(root, `p${files}`);
  for (let n = 0; n < files; n++) {
    const directory = join(project, `d${n % 25}`, `s${n % 500}`);
    if (n < 500) mkdirSync(directory, { recursive: true });
    const line = (index: number) => `export const value${n}_${index} = compute(${n * 7919}, "a line about value ${index}");\n`;
    writeFileSync(join(directory, `f${n}.ts`), Array.from({ length: lines }, (_, index) => line(index)).join(""));
  }
  Bun.spawnSync(["git", "init", "-q"], { cwd: project });
  return project;
}
