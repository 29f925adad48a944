// What `skein mcp` costs its client: the tokens of its tool list, and the time from a call to the start of the agent's
// own program, or to the first request of the native agent. Writes MCP.md; `-- --quick` runs fewer and does not.
import { Client } from "@modelcontextprotocol/client";
import { StdioClientTransport } from "@modelcontextprotocol/client/stdio";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { chmodSync, existsSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync } from "node:fs";
import { cpus, loadavg, release } from "node:os";
import { delimiter, join } from "node:path";
import { startModelServer } from "../src/scripted-model/model-server.ts";

const isQuick = process.argv.includes("--quick");
const runs = isQuick ? 3 : 20;

// Not in /tmp: there the walls would have another shape than in a home.
const data = join(import.meta.dir, "data");
mkdirSync(data, { recursive: true });
const root = realpathSync(mkdtempSync(join(data, "mcp-")));
process.on("exit", () => rmSync(root, { recursive: true, force: true }));
const [home, project, bin, program] = [join(root, "home"), join(root, "project"), join(root, "bin"), join(root, "skein")];
for (const folder of [home, project, bin]) mkdirSync(folder);
Bun.spawnSync(["git", "init", "-q"], { cwd: project });
const built = Bun.spawnSync([process.execPath, "run", join(import.meta.dir, "..", "tools", "build.ts"), "--outfile", program]);
if (built.exitCode !== 0) throw new Error(built.stderr.toString());

/** Writes down when it was started, and does nothing else. */
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
for (let at = 0; at < runs; at += 1) {
  child.push(await untilChild(client, `child-${at}`));
  native.push(await untilRequest(client, `native-${at}`));
}
await client.close();
await stopHub();
await server.stop();
const report = text();
console.log(report);
if (!isQuick) await Bun.write(join(import.meta.dir, "MCP.md"), report);

async function connect(): Promise<{ client: Client; connectMs: number }> {
  const one = new Client({ name: "bench", version: "1" });
  const before = performance.now();
  await one.connect(new StdioClientTransport({ command: program, args: ["mcp"], cwd: project, env, stderr: "inherit" }));
  return { client: one, connectMs: performance.now() - before };
}

/** With a server that was just started and no hub. */
async function coldStart(): Promise<Times> {
  const { client: one, connectMs } = await connect();
  const childMs = await untilChild(one, "cold");
  await one.close();
  return { connectMs, childMs };
}

async function untilChild(one: Client, session: string): Promise<number> {
  rmSync(started, { force: true });
  const before = Date.now();
  const { content } = await one.callTool({ name: "work_with", arguments: { agent: "claude", task: "work", session_id: session } });
  if (!existsSync(started)) throw new Error(`the agent's program was not started: ${JSON.stringify(content)}`);
  return Number(readFileSync(started, "utf8").trim().split("\n")[0]) / 1e6 - before;
}

async function untilRequest(one: Client, session: string): Promise<number> {
  server.clear();
  const before = Date.now();
  await one.callTool({ name: "work_with", arguments: { agent: "native", task: "work", session_id: session } });
  const [request] = server.main();
  if (request === undefined) throw new Error("the model was not asked");
  return request.at - before;
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
  return `# What \`skein mcp\` costs its client

${new Date().toISOString().slice(0, 10)}, \`npm run bench:mcp\`; Bun ${Bun.version}, Linux ${release().split("-")[0]}, ${cpus().length} cores, load ${load.join(" ")} at the end. The built program over stdio, the official client, one tokenizer (o200k_base).

| tool list | tokens |
|---|---:|
${tokens.each.map(({ name, tokens: count }) => `| ${name} | ${count} |`).join("\n")}
| whole answer to \`tools/list\` | **${tokens.all}** (goal: below 1,500) |

| from the call to | ms, median (most) |
|---|---:|
| the start of the agent's program, behind its walls, in the hub | ${ms(median(child))} (${ms(Math.max(...child))}) |
| the same, with no hub yet and a server that was just started | ${ms(cold.childMs)}, after ${ms(cold.connectMs)} for the handshake |
| the first request of the native agent | ${ms(median(native))} (${ms(Math.max(...native))}) |

${runs} calls each, every one in a new session. The agent is a shell script under the name \`claude\` that writes down when it was started: its own start-up is not in the figure.

mcp-the-force and PAL are not in this table: both are Python programs that are not on npm, and nothing that could be checked here gives their figures. Neither is estimated.
`;
}
