// Measures `skein list --agents all` on 2,000 transcripts of other agents with 2 GB, made from recorded ones. Writes
// TRANSCRIPTS.md; `-- --quick` makes 200 of them and does not.
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { cpus, loadavg, tmpdir } from "node:os";
import { dirname, join } from "node:path";
import { buildSkein } from "./contenders.ts";
import { median } from "./table.ts";

const isQuick = process.argv.includes("--quick");
const rounds = isQuick ? 2 : 7;
const files = isQuick ? 200 : 2_000;
const fileBytes = 1 << 20;
const root = realpathSync(mkdtempSync(join(process.env["SKEIN_BENCH_DIR"] ?? tmpdir(), "skein-bench-transcripts-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const home = join(root, "home");
const env = { PATH: process.env["PATH"] ?? "/usr/bin:/bin", HOME: home, SKEIN_HOME: join(root, "skein") };
const project = join(root, "project");
for (const path of [home, join(project, ".git")]) mkdirSync(path, { recursive: true });

const places = {
  claude: (n: number) => `.claude/projects/-p${n % 40}/${n}.jsonl`,
  codex: (n: number) =>
    `.codex/sessions/2026/${String(1 + (n % 12)).padStart(2, "0")}/${String(1 + (n % 28)).padStart(2, "0")}/rollout-${n}.jsonl`,
  gemini: (n: number) => `.gemini/tmp/p${n % 40}/chats/session-${n}.jsonl`,
  pi: (n: number) => `.pi/agent/sessions/--p${n % 40}--/${n}.jsonl`,
};
type Agent = keyof typeof places;
/** The agents of each ten transcripts. */
const shares: Agent[] = ["claude", "claude", "claude", "claude", "codex", "codex", "codex", "codex", "gemini", "pi"];

const words = Array.from({ length: 5_000 }, (_, index) =>
  Bun.hash(`word ${index}`)
    .toString(36)
    .slice(0, 4 + (index % 6)),
);
let random = 7;
const below = (limit: number): number => {
  random = (Math.imul(random, 1_664_525) + 1_013_904_223) >>> 0;
  return Math.floor((random / 2 ** 32) * limit);
};
const prose = (bytes: number): string => {
  let text = "";
  while (text.length < bytes) text += `${words[below(words.length)]} `;
  return text;
};

/** The recorded session, its conversation repeated with new ids and texts until the file is large enough. */
function transcriptOf(agent: Agent, n: number, number: number): string {
  const recorded = readFileSync(join(import.meta.dir, "../test/fixtures/transcripts", agent, "session.jsonl"), "utf8")
    .replaceAll("/home/user/project", `/home/user/p${n % 40}`)
    .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) => mixed(id, number));
  const parts = [recorded];
  const lines = recorded.trimEnd().split("\n").slice(1);
  for (let size = recorded.length, round = 0; size < fileBytes; round += 1) {
    const text = lines
      .map((line) =>
        line
          .replaceAll(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, (id) =>
            line.includes(`"sessionId":"${id}"`) ? id : mixed(id, number * 1_000 + round),
          )
          .replaceAll("There are five words.", `There are five words. ${prose(600)}`)
          .replaceAll("TASK", `TASK ${prose(60)}`)
          .replaceAll(/"(content|output|aggregated_output|text)":"(Chunk ID|[0-9]|a\.txt|\s*[0-9]+ )/g, (match) => match + prose(6_000)),
      )
      .join("\n");
    parts.push(`${text}\n`);
    size += text.length;
  }
  return parts.join("");
}

function mixed(id: string, number: number): string {
  return `${id.slice(0, -12)}${Bun.hash(`${id} ${number}`).toString(16).padStart(16, "0").slice(0, 12)}`;
}

let bytes = 0;
const paths: string[] = [];
for (let n = 0; n < files; n++) {
  const agent = shares[n % shares.length]!;
  const path = join(home, places[agent](n));
  mkdirSync(dirname(path), { recursive: true });
  const text = transcriptOf(agent, n, n);
  writeFileSync(path, text);
  bytes += statSync(path).size;
  paths.push(path);
}

const [program] = (await buildSkein()).command("");
type Measured = { ms: number; cpuMs: number; rssMb: number; out: string };

async function measure(args: string[]): Promise<Measured> {
  const startedAt = performance.now();
  const child = Bun.spawn([program!, ...args], { cwd: project, env, stdin: "ignore", stdout: "pipe", stderr: "inherit" });
  const out = await new Response(child.stdout).text();
  if ((await child.exited) > 1) throw new Error(`skein ${args.join(" ")} failed`);
  const { cpuTime, maxRSS } = child.resourceUsage()!;
  return { ms: performance.now() - startedAt, cpuMs: Number(cpuTime.total) / 1_000, rssMb: maxRSS / (1 << 20), out };
}

const list = ["list", "--agents", "all", "--all"];
const first = await measure(list);
if (first.out.split("\n").length < 50) throw new Error("the list is too short");
const again: Measured[] = [];
const grown: Measured[] = [];
const searched: Measured[] = [];
for (let round = 0; round < rounds; round++) again.push(await measure(list));
for (let round = 0; round < rounds; round++) {
  appendFileSync(paths[round]!, `${readFileSync(paths[round]!, "utf8").trimEnd().split("\n").at(-1)!}\n`);
  grown.push(await measure(list));
}
for (let round = 0; round < rounds; round++)
  searched.push(await measure(["search", "--agents", "all", "--all-projects", "words", words[round]!]));
if (searched.some(({ out }) => out === "")) throw new Error("a search found nothing");
const index = statSync(join(root, "skein/data/agent-transcripts.db")).size;

const row = (name: string, runs: readonly Measured[]) =>
  `| ${name} | ${median(runs.map(({ ms }) => ms)).toFixed(0)} | ${Math.min(...runs.map(({ ms }) => ms)).toFixed(0)} | ${median(runs.map(({ cpuMs }) => cpuMs)).toFixed(0)} | ${Math.max(...runs.map(({ rssMb }) => rssMb)).toFixed(0)} |`;
const report = `# Time of an index of other agents' transcripts

${new Date().toISOString().slice(0, 10)}, \`npm run bench:transcripts\`; Bun ${Bun.version}, ${cpus().length} cores, load ${loadavg()[0]?.toFixed(1)} at the end. ${files.toLocaleString("en-US")} transcripts of Claude Code, Codex, Gemini CLI and pi with ${(bytes / 1e9).toFixed(2)} GB, made from recorded ones. Whole processes, medians of ${rounds} (the first reading once). The index has ${(index / 1e6).toFixed(0)} MB.

| | ms | fastest | CPU ms | peak MB |
|---|---:|---:|---:|---:|
${row("first `skein list --agents all --all`", [first])}
${row("again, nothing changed", again)}
${row("again, one transcript has grown", grown)}
${row("`skein search --agents all`, a frequent and a rare word", searched)}
`;
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "TRANSCRIPTS.md"), report);
process.exit(0);
