// Compares the public contract of two checkouts: `bun tools/compare-contract.ts <old checkout>`. Lists every command, flag,
// JSON field, config key, variable, key binding and MCP tool that the old one has and this one lacks. Exits 1 if any does.
import { existsSync, mkdtempSync, readFileSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";

type Contract = Record<string, Set<string>>;

const newRoot = join(import.meta.dir, "..");
const oldRoot = process.argv[2];
if (oldRoot === undefined || !existsSync(join(oldRoot, "bin", "skein"))) {
  process.stderr.write("usage: bun tools/compare-contract.ts <old checkout, installed>\n");
  process.exit(2);
}

const [before, after] = [await readContract(oldRoot), await readContract(newRoot)];
let missing = 0;
for (const [name, items] of Object.entries(before)) {
  const lost = [...items].filter((item) => !after[name]!.has(item)).sort();
  const added = [...after[name]!].filter((item) => !items.has(item)).sort();
  missing += lost.length;
  process.stdout.write(`${name}: ${items.size} before, ${after[name]!.size} now, ${lost.length} missing, ${added.length} new\n`);
  for (const item of lost) process.stdout.write(`  missing: ${item}\n`);
  for (const item of added) process.stdout.write(`  new: ${item}\n`);
}
process.stdout.write(missing === 0 ? "nothing is missing\n" : `${missing} missing\n`);
process.exit(missing === 0 ? 0 : 1);

async function readContract(root: string): Promise<Contract> {
  const home = mkdtempSync(join(tmpdir(), "skein-contract-"));
  const doc = (name: string) => readFileSync(join(root, "docs", name), "utf8");
  try {
    const commands = commandsOf(`${run(root, home, ["--help"])}${hiddenCommands(root, home)}`);
    const helps = [...commands].map((command) => [command, run(root, home, [command, "--help"])] as const);
    return {
      commands,
      flags: new Set(
        helps.flatMap(([command, text]) => [...tokens(text, /^ {2,8}(?:-\w, )?(--[a-z-]+)/gm)].map((flag) => `${command} ${flag}`)),
      ),
      "config keys": schemaKeys(JSON.parse(run(root, home, ["config", "schema"]))),
      variables: tokens(doc("CONFIG.md"), /\b([A-Z][A-Z0-9]*_[A-Z0-9_]+)\b/g),
      "hub methods": tokens(doc("HUB.md"), /`([a-z]+\.[a-z_]+)`/g),
      // docs/HUB.md links to types of docs/JSON.md, so a field may move from one to the other.
      "JSON fields": new Set([...tokens(doc("JSON.md"), /`([a-z][a-z0-9_]*)`/g), ...tokens(doc("HUB.md"), /\b([a-z]+_[a-z_]+)\b/g)]),
      "key bindings": tokens(doc("KEYS.md"), /^\| ([^|]+) \|/gm),
      "MCP tools": await mcpTools(root, home),
    };
  } finally {
    rmSync(home, { recursive: true, force: true });
  }
}

/** `skein` alone is an example of the help. */
function commandsOf(help: string): Set<string> {
  const names = tokens(help, /^ {2}([a-z]+) {2,}/gm);
  names.delete("skein");
  return names;
}

/** The whole list of commands. Versions without `help --all` hide none. */
function hiddenCommands(root: string, home: string): string {
  try {
    return run(root, home, ["help", "--all"]);
  } catch {
    return "";
  }
}

function tokens(text: string, pattern: RegExp): Set<string> {
  return new Set([...text.matchAll(pattern)].map((match) => match[1]!.trim()));
}

function schemaKeys(schema: { properties?: Record<string, unknown> }, path = ""): Set<string> {
  const entries = Object.entries(schema.properties ?? {});
  return new Set(
    entries.flatMap(([key, value]) => [path + key, ...schemaKeys(value as { properties?: Record<string, unknown> }, `${path}${key}.`)]),
  );
}

function run(root: string, home: string, args: string[]): string {
  const env = { PATH: process.env["PATH"] ?? "", HOME: home, COLUMNS: "200" };
  const child = Bun.spawnSync([join(root, "bin", "skein"), ...args], { cwd: home, env, stdin: "ignore" });
  if (child.exitCode !== 0) throw new Error(`skein ${args.join(" ")} in ${root}: ${child.stderr.toString()}`);
  return child.stdout.toString();
}

/** The tools of the larger tool set with their parameters, asked over stdio. */
async function mcpTools(root: string, home: string): Promise<Set<string>> {
  const child = Bun.spawn([join(root, "bin", "skein"), "mcp", "--toolset", "team"], {
    cwd: home,
    env: { PATH: process.env["PATH"] ?? "", HOME: home },
    stdin: "pipe",
    stdout: "pipe",
    stderr: "ignore",
  });
  const clientInfo = { name: "compare-contract", version: "0" };
  send(child.stdin, { id: 1, method: "initialize", params: { protocolVersion: "2025-11-25", capabilities: {}, clientInfo } });
  send(child.stdin, { method: "notifications/initialized" });
  send(child.stdin, { id: 2, method: "tools/list", params: {} });
  const { result } = await firstReply(child.stdout, 2);
  await child.stdin.end();
  await child.exited;
  run(root, home, ["hub", "stop", "--wait", "0"]);
  const fields = (schema: { properties?: object } | undefined) => Object.keys(schema?.properties ?? {});
  return new Set(
    (result?.tools ?? []).flatMap(({ name, inputSchema, outputSchema }) => [
      name,
      ...fields(inputSchema).map((field) => `${name} takes ${field}`),
      ...fields(outputSchema).map((field) => `${name} returns ${field}`),
    ]),
  );
}

function send(stdin: { write: (text: string) => unknown; flush: () => unknown }, message: object): void {
  stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`);
  stdin.flush();
}

type ToolList = { tools?: { name: string; inputSchema: { properties?: object }; outputSchema?: { properties?: object } }[] };

async function firstReply(stream: ReadableStream<Uint8Array>, id: number): Promise<{ id?: number; result?: ToolList }> {
  let text = "";
  const decoder = new TextDecoder();
  for await (const chunk of stream) {
    text += decoder.decode(chunk, { stream: true });
    const lines = text.split("\n");
    text = lines.pop()!;
    const reply = lines.map((line) => JSON.parse(line) as { id?: number; result?: ToolList }).find((message) => message.id === id);
    if (reply !== undefined) return reply;
  }
  throw new Error("skein mcp ended without a list of tools");
}
