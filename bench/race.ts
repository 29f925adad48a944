// Measures the cost of a race: three agents (native, a real Claude Code, a real Codex) race in worktrees, against a run of the
// slowest of them alone. Writes RACE.md; `-- --quick` does not.
import { mkdirSync, writeFileSync } from "node:fs";
import { cpus, loadavg } from "node:os";
import { join } from "node:path";
import { field, type JsonValue } from "../src/scripted-model/json.ts";
import { startModelServer } from "../src/scripted-model/model-server.ts";
import type { Script } from "../src/scripted-model/script.ts";
import { agentHome } from "../test/support/agent-journey.ts";
import { raceOf, raceRepository } from "../test/support/race-journey.ts";
import { git } from "../test/support/team-journey.ts";
import type { TemporaryHome } from "../test/support/temporary-home.ts";
import { buildSkein } from "./contenders.ts";
import { installPeers } from "./peers.ts";

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 1 : 3;
const calls = 8;
const fileCount = 500;
/** Time to the first byte of each answer. Claude Code is the slowest. */
const delays = { native: 1_500, codex: 2_000, claude: 3_000 };

function agentOf(body: JsonValue): keyof typeof delays {
  const model = field(body, "model");
  return typeof model !== "string" ? "native" : model.startsWith("gpt") ? "codex" : "claude";
}

function script({ body }: { body: JsonValue }): Script {
  const delayMs = delays[agentOf(body)];
  const steps = Array.from({ length: calls }, (_, n) => ({ delayMs, calls: [{ input: { command: `echo ${n} >> result.txt` } }] }));
  return { steps, final: "done" };
}

function prepare(skein: TemporaryHome): void {
  raceRepository(skein.project);
  mkdirSync(join(skein.project, "src"));
  for (let n = 0; n < fileCount; n += 1) writeFileSync(join(skein.project, "src", `file-${n}.ts`), `export const n = ${n};\n`.repeat(50));
  git(skein.project, "add", "-A");
  git(skein.project, "-c", "user.name=t", "-c", "user.email=t@t", "commit", "-qm", "files");
}

async function timed(skein: TemporaryHome, args: string[]): Promise<{ ms: number; out: string }> {
  const start = performance.now();
  const { code, out, err } = await skein.run(args);
  const ms = performance.now() - start;
  if (code !== 0) throw new Error(`skein ${args.join(" ")} exited with ${code}: ${err}`);
  return { ms, out };
}

const median = (values: readonly number[]): number => values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
const seconds = (ms: number): string => (ms / 1_000).toFixed(2);

await buildSkein();
process.env["SKEIN_TEST_BINARY"] ??= join(import.meta.dir, "..", "dist", "skein");
await installPeers(["claude", "codex"]);
const server = startModelServer(script);
const alone: number[] = [];
const races: number[] = [];
const slowest: number[] = [];
for (let round = 0; round < rounds; round += 1) {
  using skein = agentHome(server);
  prepare(skein);
  alone.push((await timed(skein, ["run", "write result.txt", "-a", "claude", "-q"])).ms);
  git(skein.project, "clean", "-fdq", "-e", ".skein");
  const race = await timed(skein, ["race", "write result.txt", "-a", "native:gemini/gemini-3-pro-preview,codex,claude", "--json"]);
  races.push(race.ms);
  const durations = raceOf(JSON.parse(race.out)).racers.map(({ startedAt, endedAt }) => (endedAt ?? 0) - (startedAt ?? 0));
  slowest.push(Math.max(...durations));
}
await server.stop();
const report = `# Cost of a race

${new Date().toISOString().slice(0, 10)}, \`npm run bench:race\`; Bun ${Bun.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end.

Three agents race: native, a real Codex and a real Claude Code, each in its own worktree of a repository with ${fileCount} files. Each makes ${calls} calls that change a file. The scripted model answers native after ${delays.native} ms, Codex after ${delays.codex} ms and Claude Code, the slowest, after ${delays.claude} ms. Medians of ${rounds} rounds in seconds, whole processes:

| | seconds |
|---|---:|
| \`skein run -a claude\`: the slowest agent alone | ${seconds(median(alone))} |
| the turn of the slowest agent in the race | ${seconds(median(slowest))} |
| \`skein race -a native,codex,claude\`: all three | ${seconds(median(races))} |

The race takes ${((median(races) / median(alone) - 1) * 100).toFixed(1)} % longer than its slowest agent alone.
`;
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "RACE.md"), report);
process.exit(0);
