// Measures agents of the Agent Client Protocol as an editor meets them: the time from their start to the answers to
// `initialize` and `session/new`, and their memory while they are idle. Writes ACP.md; `-- --quick` runs fewer and does not.
import { client, ndJsonStream } from "@agentclientprotocol/sdk";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { join } from "node:path";
import { startModelServer } from "../src/scripted-model/model-server.ts";
import { installPeers, peerPackages, peerPrograms } from "./peers.ts";
import { treeMemory } from "./tree.ts";

const isQuick = process.argv.includes("--quick");
const runs = isQuick ? 2 : 10;
/** An idle program may still collect its garbage. */
const settleMs = 2_000;
const megabyte = 1_000_000;

const data = join(import.meta.dir, "data");
mkdirSync(data, { recursive: true });
const root = realpathSync(mkdtempSync(join(data, "acp-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const program = join(root, "skein");
const built = Bun.spawnSync([process.execPath, "run", join(import.meta.dir, "..", "tools", "build.ts"), "--outfile", program]);
if (built.exitCode !== 0) throw new Error(built.stderr.toString());
await installPeers(["gemini", "opencode"]);
const server = startModelServer({ steps: [], final: "done" });

type Agent = { name: string; version: string; command: string[]; env: (home: string) => Record<string, string> };

const agents: Agent[] = [
  { name: "skein acp", version: "", command: [program, "acp"], env: (home) => ({ SKEIN_HOME: join(home, "skein") }) },
  {
    name: "opencode acp",
    version: versionOf(peerPackages.opencode),
    command: [peerPrograms.opencode, "acp"],
    env: () => ({
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    }),
  },
  {
    name: "gemini --acp",
    version: versionOf(peerPackages.gemini),
    command: [peerPrograms.node, peerPrograms.gemini, "--acp", "--skip-trust"],
    env: (home) => {
      const settings = join(home, "gemini-settings.json");
      writeFileSync(settings, JSON.stringify({ security: { auth: { selectedType: "gemini-api-key" } }, tools: { useRipgrep: false } }));
      return { GEMINI_CLI_TRUST_WORKSPACE: "true", GEMINI_CLI_NO_RELAUNCH: "true", GEMINI_CLI_SYSTEM_SETTINGS_PATH: settings };
    },
  },
];

type Memory = ReturnType<typeof treeMemory>;
type Run = { initializeMs: number; sessionMs: number; afterInitialize: Memory | null; afterSession: Memory | null };

const figures: { agent: Agent; runs: Run[] }[] = [];
for (const agent of agents) {
  const [home, project] = [join(root, agent.name, "home"), join(root, agent.name, "project")];
  for (const directory of [home, project]) mkdirSync(directory, { recursive: true });
  Bun.spawnSync(["git", "init", "-q"], { cwd: project });
  const env = { ...baseEnv(home), ...agent.env(home) };
  await measure(agent, { env, project, isMemoryWanted: false }); // the first start fills caches and starts skein's hub
  const measured: Run[] = [];
  for (let run = 0; run < runs; run += 1) measured.push(await measure(agent, { env, project, isMemoryWanted: false }));
  measured.push(await measure(agent, { env, project, isMemoryWanted: true }));
  figures.push({ agent, runs: measured });
  if (agent.command[0] === program) Bun.spawnSync([program, "hub", "stop", "--wait", "0"], { cwd: project, env });
}
await server.stop();
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "ACP.md"), report);

type Place = { env: Record<string, string>; project: string; isMemoryWanted: boolean };

async function measure({ command }: Agent, { env, project, isMemoryWanted }: Place): Promise<Run> {
  const startedAt = performance.now();
  const child = Bun.spawn(command, { cwd: project, env, stdin: "pipe", stdout: "pipe", stderr: "ignore" });
  const input = new WritableStream<Uint8Array>({
    async write(bytes) {
      await child.stdin.write(bytes);
      await child.stdin.flush();
    },
  });
  const connection = client({ name: "bench" }).connect(ndJsonStream(input, child.stdout));
  try {
    await connection.agent.request("initialize", { protocolVersion: 1, clientCapabilities: {} });
    const initializeMs = performance.now() - startedAt;
    const afterInitialize = await idleMemory(child.pid, isMemoryWanted);
    const openedAt = performance.now();
    await connection.agent.request("session/new", { cwd: project, mcpServers: [] });
    const sessionMs = performance.now() - openedAt;
    return { initializeMs, sessionMs, afterInitialize, afterSession: await idleMemory(child.pid, isMemoryWanted) };
  } finally {
    connection.close();
    child.kill("SIGKILL");
    await child.exited;
  }
}

async function idleMemory(pid: number, isWanted: boolean): Promise<Memory | null> {
  if (!isWanted) return null;
  await Bun.sleep(settleMs);
  return treeMemory(pid);
}

function baseEnv(home: string): Record<string, string> {
  return {
    PATH: process.env["PATH"] ?? "",
    HOME: home,
    LANG: "C.UTF-8",
    TERM: "dumb",
    ANTHROPIC_BASE_URL: server.url,
    ANTHROPIC_API_KEY: "key",
    GOOGLE_GEMINI_BASE_URL: server.url,
    GEMINI_API_KEY: "key",
  };
}

function versionOf(spec: string): string {
  return ` ${spec.slice(spec.lastIndexOf("@") + 1)}`;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function row({ agent, runs: measured }: (typeof figures)[number]): string {
  const times = (pick: (run: Run) => number) => {
    const values = measured.filter(({ afterInitialize }) => afterInitialize === null).map(pick);
    return `${median(values).toFixed(0)} (${Math.max(...values).toFixed(0)})`;
  };
  const last = measured.at(-1)!;
  const memory = (bytes: Memory | null) =>
    `${((bytes?.rssBytes ?? 0) / megabyte).toFixed(0)} / ${((bytes?.pssBytes ?? 0) / megabyte).toFixed(0)}`;
  const cells = [times((run) => run.initializeMs), times((run) => run.sessionMs), memory(last.afterInitialize), memory(last.afterSession)];
  return `| ${agent.name}${agent.version} | ${cells.join(" | ")} |`;
}

function text(): string {
  const load = loadavg().map((value) => value.toFixed(1));
  return `# Agents of the Agent Client Protocol, as an editor meets them

${new Date().toISOString().slice(0, 10)}, \`npm run bench:acp\`; Bun ${Bun.version}, Linux ${release().split("-")[0]}, ${cpus().length} cores, load ${load.join(" ")} at the end. The SDK's client over stdio, after one start that is not counted.

| agent | start → \`initialize\` answered, ms | \`session/new\`, ms | idle, RSS / PSS in MB | with one session, RSS / PSS in MB |
|---|---:|---:|---:|---:|
${figures.map(row).join("\n")}

Times are the median (maximum) of ${runs} starts. Memory is that of the process and its descendants, ${settleMs / 1000} s after the answer. Goals for skein: below 60 ms and below 60 MB.

skein's sessions live in the hub, which all front ends share and which is not in the table. Its process has no part of the native agent, and \`session/new\` asks the hub. The others hold their sessions in their own process.
`;
}
