// A turn whose servers come from the config, from the front end, or from nowhere, through the Api as a front end uses it.
import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { testServer } from "./fixtures/test-servers.ts";
import { checkParams } from "../../protocol/schema/check-params.ts";
import { fromJsonCase, toJsonCase } from "../../protocol/json/json-case.ts";
import { bareTurn } from "../../protocol/api/turn-options.ts";
import type { McpServerEntries } from "../../protocol/mcp/server-entry.ts";
import { startModelServer } from "../../scripted-model/model-server.ts";
import { createApp } from "../create-app.ts";
import { createProcessContext } from "../process-context.ts";

const root = mkdtempSync(join(tmpdir(), "skein-turn-servers-"));
const project = join(root, "project");
mkdirSync(join(project, ".git"), { recursive: true });
mkdirSync(join(root, "skein", "config"), { recursive: true });
const { command, args } = testServer();
const config = { mcp_servers: { configured: { command, args }, off: { command, disabled: true }, broken: { args } } };
writeFileSync(join(root, "skein", "config", "config.jsonc"), JSON.stringify(config));
const model = startModelServer({
  steps: [{ calls: [{ name: "mcp", input: { server: "myEditor_1", tool: "env" } }] }],
  final: "done",
});
const warnings: string[] = [];
const api = createApp({
  env: { PATH: process.env["PATH"], HOME: root, SKEIN_HOME: join(root, "skein"), ANTHROPIC_API_KEY: "k", ANTHROPIC_BASE_URL: model.url },
  cwd: project,
  startedIn: project,
  ephemeral: false,
  trust: null,
  lenient: false,
  selfCommand: [process.execPath, join(import.meta.dir, "..", "..", "main.ts")],
  version: "0",
  processContext: createProcessContext({
    startedAt: 0,
    enclosingSession: () => null,
    address: () => null,
    connect: () => Promise.reject(new Error("nobody is there")),
  }),
  warn: (text) => void warnings.push(text),
});
afterAll(async () => {
  await api.close();
  await model.stop();
  rmSync(root, { recursive: true, force: true });
});

async function take(mcpServers: McpServerEntries | null): Promise<string> {
  model.clear();
  const session = await api.session.open({
    task: null,
    toolLevel: "orchestrator",
    parentSession: null,
    transcriptDir: null,
    directory: project,
    find: { by: "new" },
    agent: "native",
    model: "anthropic/claude-sonnet-4-5",
  });
  const policy = { name: "full", sandbox: "off", net: "on", allowWrite: [], addDirs: [] } as const;
  const turn = { ...bareTurn(session.id, { ...policy, allowWrite: [], addDirs: [] }), prompt: "go", mcpServers };
  for await (const event of api.turn.start(turn)) void event;
  return model
    .main()
    .map(({ text }) => text)
    .join("\n");
}

test("a turn has the servers of the config and of its front end, under their exact names, and null means none", async () => {
  const added = { myEditor_1: { command, args: [...args], env: { Some_Name: "v4lue" } } };
  const requests = await take(added);
  expect(requests).toContain('Servers:\\nconfigured\\nmyEditor_1"');
  expect(requests).toContain("v4lue");
  expect(await take({})).toContain('Servers:\\nconfigured"');
  expect(await take(null)).not.toContain("Servers:");
  expect(warnings).toEqual(['mcp_servers.broken has neither "command" nor "url"; it is left out']);
});

test("servers of a front end survive the way over a connection, and bad ones are refused", () => {
  const mcpServers = {
    myEditor_1: { command, args: ["x"], env: { Some_Name: "v" } },
    web: { url: "https://a/b", headers: { "X-Key": "k" } },
  };
  const sent: unknown = JSON.parse(JSON.stringify(toJsonCase({ session: "s", prompt: "go", mcpServers })));
  expect(checkParams("turn.start", sent)).toMatchObject({ ok: true, params: { mcpServers } });
  expect(fromJsonCase(sent)).toMatchObject({ mcpServers });
  const problemOf = (servers: unknown) => checkParams("turn.start", { session: "s", prompt: "go", mcp_servers: servers }).ok;
  expect([problemOf({ "b ad": { command: "x" } }), problemOf({ a: { command: 5 } }), problemOf({ a: { bogus: "x" } })]).toEqual([
    false,
    false,
    false,
  ]);
});
