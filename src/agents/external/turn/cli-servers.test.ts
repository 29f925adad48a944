import { expect, test } from "bun:test";
import { defaultPolicy } from "../../../protocol/api/policy.ts";
import { checkServer, type McpServer, type McpServerEntries } from "../../../protocol/mcp/server-entry.ts";
import type { CliLaunch, CliServers } from "../adapters/adapter.ts";
import { claude } from "../adapters/claude.ts";
import { codex } from "../adapters/codex.ts";
import { gemini } from "../adapters/gemini.ts";
import { opencode } from "../adapters/opencode.ts";
import { cliServers } from "./cli-servers.ts";

const files = { command: "/bin/files", args: ["--root", "."], env: { TOKEN: 'se"cret', PLACE: "here" } };
const web = { url: "https://example.com/mcp", headers: { Authorization: "Bearer hidden" } };

function offer(entries: McpServerEntries, net: "on" | "off" = "on", adapter = claude) {
  const servers = new Map(Object.entries(entries).map(([name, entry]) => [name, checkServer(entry) as McpServer]));
  return cliServers({ servers, adapter, policy: { ...defaultPolicy, net } });
}

const { problems: _, ...both } = offer({ files, "my.web": web });

function launchWith(servers: CliServers): CliLaunch {
  return {
    prompt: "do it",
    model: "m",
    effort: null,
    role: null,
    directory: "/project",
    addDirs: [],
    configDir: "/config",
    start: { how: "new", id: "id" },
    endpoint: null,
    isSandboxed: true,
    isRoot: false,
    isOffline: false,
    servers,
    extraArgs: [],
  };
}

test("values of variables and headers become variables of the CLI, and names have no dots", () => {
  expect(both.values).toEqual({ SKEIN_MCP_0: 'se"cret', SKEIN_MCP_1: "here", SKEIN_MCP_2: "Bearer hidden" });
  expect(both.list).toEqual([
    { kind: "stdio", name: "files", command: "/bin/files", args: ["--root", "."], env: { TOKEN: "SKEIN_MCP_0", PLACE: "SKEIN_MCP_1" } },
    { kind: "http", name: "my-web", url: "https://example.com/mcp", headers: { Authorization: "SKEIN_MCP_2" } },
  ]);
});

test("a directory of its own is entered before the server starts", () => {
  const [server] = offer({ files: { ...files, env: {}, cwd: "below" } }).list;
  expect(server).toMatchObject({ command: "/bin/sh", args: ["-c", 'cd "$0" && exec "$@"', "below", "/bin/files", "--root", "."] });
});

test("servers that a CLI can't use are named with the reason", () => {
  const odd = { command: "x", env: { "A; rm": "1" } };
  const { list, problems } = offer({ files, web, old: { ...web, type: "sse" }, odd }, "off");
  expect(list.map(({ name }) => name)).toEqual(["files"]);
  expect(problems).toEqual([
    "claude has no MCP server web: a server over HTTP needs --net on",
    "claude has no MCP server old: only the native agent uses the transport sse",
    'claude has no MCP server odd: "A; rm" can\'t be the name of a variable',
  ]);
  const without = { ...claude, name: "pi" };
  delete without.takesServers;
  expect(offer({ files, web }, "on", without)).toEqual({
    list: [],
    values: {},
    problems: ["pi can't use MCP servers, so it has no files, web"],
  });
});

test.each([claude, codex, gemini])("no argument and no file of $name has a value of a server", (adapter) => {
  const launch = launchWith(both);
  const written = JSON.stringify([adapter.args(launch), adapter.files(launch)]);
  for (const value of ["cret", "hidden"]) expect(written).not.toContain(value);
  expect(written).toContain("SKEIN_MCP_2");
});

test("each CLI gets both servers in its own form", () => {
  const launch = launchWith(both);
  const claudeArg = claude.args(launch).find((arg) => arg.startsWith("--mcp-config="))!;
  expect(JSON.parse(claudeArg.slice("--mcp-config=".length))).toEqual({
    mcpServers: {
      files: { type: "stdio", command: "/bin/files", args: ["--root", "."], env: { TOKEN: "${SKEIN_MCP_0}", PLACE: "${SKEIN_MCP_1}" } },
      "my-web": { type: "http", url: "https://example.com/mcp", headers: { Authorization: "${SKEIN_MCP_2}" } },
    },
  });
  const codexSettings = codex.args(launch).filter((arg) => /^--config=(mcp_servers|shell_env)/.test(arg));
  expect(codexSettings.map((arg) => arg.slice("--config=".length))).toEqual([
    'mcp_servers.files.command="/bin/sh"',
    'mcp_servers.files.args=["-c","export TOKEN=\\"$SKEIN_MCP_0\\"; unset SKEIN_MCP_0; export PLACE=\\"$SKEIN_MCP_1\\"; unset SKEIN_MCP_1; ' +
      'exec \\"$0\\" \\"$@\\"","/bin/files","--root","."]',
    'mcp_servers.files.env_vars=["SKEIN_MCP_0","SKEIN_MCP_1"]',
    'mcp_servers.my-web.url="https://example.com/mcp"',
    'mcp_servers.my-web.env_http_headers={"Authorization"="SKEIN_MCP_2"}',
    'shell_environment_policy.exclude=["SKEIN_MCP_0","SKEIN_MCP_1","SKEIN_MCP_2"]',
  ]);
  expect(JSON.parse(gemini.files(launch)[".gemini/settings.json"]!)).toMatchObject({
    admin: { mcp: { enabled: true } },
    mcpServers: { files: { command: "/bin/files", env: { TOKEN: "${SKEIN_MCP_0}" } }, "my-web": { httpUrl: "https://example.com/mcp" } },
  });
  expect(gemini.args(launch)).toContain("files,my-web");
  expect(JSON.parse(opencode.env(launch)["OPENCODE_CONFIG_CONTENT"]!)).toMatchObject({
    mcp: {
      files: { type: "local", command: ["/bin/files", "--root", "."], environment: { TOKEN: 'se"cret', PLACE: "here" } },
      "my-web": { type: "remote", headers: { Authorization: "Bearer hidden" } },
    },
  });
});

test("without servers the CLIs get none, as before", () => {
  const launch = launchWith({ list: [], values: {} });
  expect(claude.args(launch).some((arg) => arg.startsWith("--mcp-config"))).toBe(false);
  expect(codex.args(launch).join(" ")).not.toMatch(/mcp_servers|shell_environment_policy/);
  expect(gemini.args(launch).join(" ")).toContain("--allowed-mcp-server-names none");
  expect(JSON.parse(gemini.files(launch)[".gemini/settings.json"]!)).toMatchObject({ admin: { mcp: { enabled: false } } });
  expect(JSON.parse(opencode.env(launch)["OPENCODE_CONFIG_CONTENT"]!)).not.toHaveProperty("mcp");
});
