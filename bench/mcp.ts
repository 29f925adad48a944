// Measures the cost of `skein mcp` for its client: tokens of the tool list, and the time from a call to the start of
// the agent's program or to the first request of the native agent. Writes MCP.md; `-- --quick` runs fewer and does not.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { delimiter, join } from "node:path";
import { startModelServer } from "../src/scripted-model/model-server.ts";

const isQuick = process.argv.includes("--quick");
const runs = isQuick ? 3 : 20;

// Not in /tmp: the sandbox rules differ there from those of a home directory.
const data = join(import.meta.dir, "data");
mkdirSync(data, { recursive: true });
const root = realpathSync(mkdtempSync(join(data, "mcp-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const [home, project, bin, program] = [join(root, "home"), join(root, "project"), join(root, "bin"), join(root, "skein")];
for (const directory of [home, project, bin]) mkdirSync(directory);
Bun.spawnSync(["git", "init", "-q"], { cwd: project });
const built = Bun.spawnSync([process.execPath, "run", join(import.meta.dir, "..", "tools", "build.ts"), "--outfile", program]);
if (built.exitCode !== 0) throw new Error(built.stderr.toString());

/** A fake agent that only stores its start time. */
const started = join(project, "started");
await Bun.write(
  join(bin, "claude"),
  `#!/bin/sh\n[ "$1" = --version ] && { echo "2.1.325 (Claude Code)"; exit 0; }\ndate +%s%N >> ${started}\n`,
);
chmodSync(join(bin, "claude"), 0o755);

const server = startModelServer({ steps: [], final: "done" });
const env = {
  PATH: [bin, process.env["PATH"] ?? ""].join(delimiter),
  HOME: home,
  SKEIN_HOME: join(root, "skein-home"),
  ANTHROPIC_BASE_URL: server.url,
  ANTHROPIC_API_KEY: "key",
};

type Times = { connectMs: number; childMs: number };

const cold = await coldStart();
const { client } = await connect();
const { tools } = await client.listTools();
const tokens = {
  all: countTokens(JSON.stringify({ tools })),
  each: tools.map((tool) => ({ name: tool.name, tokens: countTokens(JSON.stringify(tool)) })),
};
const child: number[] = [];
const native: number[] = [];
for (let run = 0; run < runs; run += 1) {
  child.push(await untilChild(client, `child-${run}`));
  native.push(await untilRequest(client, `native-${run}`));
}
await client.close();
await stopHub();
await server.stop();
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "MCP.md"), report);

async function connect(): Promise<{ client: Client; connectMs: number }> {
  const newClient = new Client({ name: "bench", version: "1" });
  const startedAt = performance.now();
  await newClient.connect(new StdioClientTransport({ command: program, args: ["mcp"], cwd: project, env, stderr: "inherit" }));
  return { client: newClient, connectMs: performance.now() - startedAt };
}

/** With a new server and without a running hub. */
async function coldStart(): Promise<Times> {
  const { client: coldClient, connectMs } = await connect();
  const childMs = await untilChild(coldClient, "cold");
  await coldClient.close();
  return { connectMs, childMs };
}

async function untilChild(mcp: Client, session: string): Promise<number> {
  rmSync(started, { force: true });
  const startedAt = Date.now();
  const { content } = await mcp.callTool({ name: "work_with", arguments: { agent: "claude", task: "work", session_id: session } });
  if (!existsSync(started)) throw new Error(`the agent's program was not started: ${JSON.stringify(content)}`);
  return Number(readFileSync(started, "utf8").trim().split("\n")[0]) / 1e6 - startedAt;
}

async function untilRequest(mcp: Client, session: string): Promise<number> {
  server.clear();
  const startedAt = Date.now();
  await mcp.callTool({ name: "work_with", arguments: { agent: "native", task: "work", session_id: session } });
  const [request] = server.main();
  if (request === undefined) throw new Error("the model got no request");
  return request.at - startedAt;
}

async function stopHub(): Promise<void> {
  await Bun.spawn([program, "hub", "stop"], { cwd: project, env, stdout: "ignore" }).exited;
}

function median(values: number[]): number {
  return values.toSorted((a, b) => a - b)[Math.floor(values.length / 2)]!;
}

function text(): string {
  const load = loadavg().map((value) => value.toFixed(1));
  const ms = (value: number) => value.toFixed(0);
  return `# Cost of \`skein mcp\` for its client

${new Date().toISOString().slice(0, 10)}, \`npm run bench:mcp\`; Bun ${Bun.version}, Linux ${release().split("-")[0]}, ${cpus().length} cores, load ${load.join(" ")} at the end. The built program over stdio, the official client, one tokenizer (o200k_base).

| tool list | tokens |
|---|---:|
${tokens.each.map(({ name, tokens: count }) => `| ${name} | ${count} |`).join("\n")}
| whole answer to \`tools/list\` | **${tokens.all}** (goal: below 1,500) |

| from the call to | ms, median (max) |
|---|---:|
| the start of the agent's program, in its sandbox, in the hub | ${ms(median(child))} (${ms(Math.max(...child))}) |
| the same, without a running hub and with a new server | ${ms(cold.childMs)}, after ${ms(cold.connectMs)} for the handshake |
| the first request of the native agent | ${ms(median(native))} (${ms(Math.max(...native))}) |

${runs} calls each, all in new sessions. The agent is a shell script under the name \`claude\` that stores its start time, so the start-up of a real agent is not included.

mcp-the-force and PAL are not in this table: both are Python programs that are not on npm, and their figures could not be measured here.
`;
}
