// Measures what a worktree adds to a run: a new worktree, one that exists, and none, in repositories of two sizes, beside
// `git worktree add`. Writes WORKTREE.md; `-- --quick` does not.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { join } from "node:path";
import { shellScript } from "../src/scripted-model/script.ts";
import { startModelServer } from "../src/scripted-model/model-server.ts";
import { vendorEnv, wireModels } from "../test/support/temporary-home.ts";
import { buildSkein } from "./contenders.ts";
import { median } from "./table.ts";

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 1 : 5;
const sizes = isQuick ? [5_000] : [5_000, 50_000];
const root = mkdtempSync(join(tmpdir(), "skein-bench-worktree-"));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));

const [program] = (await buildSkein()).command("");
const server = startModelServer(() => shellScript(["echo done >> result.txt"]));
const rows: string[] = [];
for (const size of sizes) rows.push(await measure(size));
await server.stop();
const report = `# Cost of a worktree

${new Date().toISOString().slice(0, 10)}, \`npm run bench:worktree\`; Bun ${Bun.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end. Runs with one call; medians of ${rounds}, whole processes, in ms. Files of about 600 bytes in 500 directories, all committed; the project has been recorded before.

| files | \`run\` | \`run -w\`, new worktree | \`run -w\`, existing worktree | \`git worktree add\` |
|---:|---:|---:|---:|---:|
${rows.join("\n")}
`;
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "WORKTREE.md"), report);
process.exit(0);

async function measure(size: number): Promise<string> {
  const project = createRepository(size);
  const run = (...flags: string[]) => timed(project, [program!, "run", "do it", "-m", wireModels.anthropic, "-q", ...flags]);
  await run();
  const [plain, created, existing, git]: [number[], number[], number[], number[]] = [[], [], [], []];
  for (let round = 0; round < rounds; round += 1) {
    plain.push(await run());
    created.push(await run("-w", `w${round}`));
    existing.push(await run("-w", `w${round}`));
    git.push(await timed(project, ["git", "worktree", "add", "-q", join(root, `git-${size}-${round}`)]));
  }
  const cells = [plain, created, existing, git].map((times) => median(times).toFixed(0));
  return `| ${size.toLocaleString("en-US")} | ${cells.join(" | ")} |`;
}

async function timed(cwd: string, command: string[]): Promise<number> {
  const env = {
    PATH: process.env["PATH"] ?? "/usr/bin:/bin",
    HOME: join(root, "home"),
    SKEIN_HOME: join(root, "skein"),
    ...vendorEnv(server.url),
  };
  const startedAt = performance.now();
  const child = Bun.spawn(command, { cwd, env, stdin: "ignore", stdout: "ignore", stderr: "pipe" });
  const problem = await new Response(child.stderr).text();
  if ((await child.exited) !== 0) throw new Error(`failed: ${command.join(" ")}: ${problem}`);
  return performance.now() - startedAt;
}

function createRepository(files: number): string {
  const project = join(root, `project-${files}`);
  for (let n = 0; n < files; n += 1) {
    const directory = join(project, `d${n % 25}`, `s${n % 500}`);
    if (n < 500) mkdirSync(directory, { recursive: true });
    writeFileSync(join(directory, `f${n}.ts`), `export const value${n} = ${n};\n`.repeat(20));
  }
  for (const args of [
    ["init", "-q"],
    ["add", "."],
    ["-c", "user.name=bench", "-c", "user.email=bench@localhost", "commit", "-qm", "start"],
  ])
    Bun.spawnSync(["git", "-C", project, ...args]);
  return project;
}
