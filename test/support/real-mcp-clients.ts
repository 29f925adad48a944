// Four real programs as clients of `skein mcp`. Each gets a configuration file with the scripted model server, to which
// `skein mcp install` adds skein. They run without a user.
import { mkdirSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { peersBin } from "../../bench/peers.ts";
import type { ModelServer } from "../../src/scripted-model/model-server.ts";
import type { TemporaryHome } from "./temporary-home.ts";

export const mcpClientNames = ["claude", "codex", "gemini", "opencode"] as const;
export type McpClientName = (typeof mcpClientNames)[number];

type McpClientSetup = {
  /** Returns the client's name of a tool of skein. */
  tool: (name: string) => string;
  /** The user's configuration files, before skein is added. */
  files: (url: string) => Record<string, string>;
  env: Record<string, string>;
  args: (prompt: string) => string[];
};

const clients: Record<McpClientName, McpClientSetup> = {
  claude: {
    tool: (name) => `mcp__skein__${name}`,
    files: () => ({}),
    env: {
      IS_SANDBOX: "1",
      CLAUDE_CODE_DISABLE_NONESSENTIAL_TRAFFIC: "1",
      DISABLE_AUTOUPDATER: "1",
      DISABLE_TELEMETRY: "1",
      DISABLE_ERROR_REPORTING: "1",
    },
    args: (prompt) => ["-p", "--model", "claude-sonnet-4-5", "--dangerously-skip-permissions", prompt],
  },
  codex: {
    // Codex declares the tools in a namespace, by their own names.
    tool: (name) => name,
    files: (url) => ({
      ".codex/config.toml": `model = "gpt-5.2"
model_provider = "lab" # the scripted one
check_for_update_on_startup = false

[analytics]
enabled = false

[feedback]
enabled = false

[features]
plugins = false
apps = false
plugin_discovery_prefetch = false

[model_providers.lab]
name = "lab"
base_url = "${url}/v1"
env_key = "OPENAI_API_KEY"
wire_api = "responses"
`,
    }),
    env: {},
    args: (prompt) => ["exec", "--json", "--dangerously-bypass-approvals-and-sandbox", "--skip-git-repo-check", prompt],
  },
  gemini: {
    tool: (name) => `mcp_skein_${name}`,
    files: () => ({
      ".gemini/settings.json": `{
  // the scripted one
  "security": { "auth": { "selectedType": "gemini-api-key" } },
  "general": { "enableAutoUpdate": false },
  "privacy": { "usageStatisticsEnabled": false },
  "telemetry": { "enabled": false },
  "tools": { "useRipgrep": false }
}
`,
    }),
    env: { GEMINI_CLI_TRUST_WORKSPACE: "true" },
    args: (prompt) => ["-m", "gemini-3-pro-preview", "--yolo", "--skip-trust", "-o", "stream-json", "-p", prompt],
  },
  opencode: {
    tool: (name) => `skein_${name}`,
    files: (url) => ({
      ".config/opencode/opencode.json": `{
  // the scripted one
  "autoupdate": false,
  "share": "disabled",
  "model": "lab/claude-sonnet-4-5",
  "small_model": "lab/claude-sonnet-4-5",
  "provider": {
    "lab": {
      "npm": "@ai-sdk/anthropic",
      "options": { "baseURL": "${url}/v1", "apiKey": "key-lab" },
      "models": { "claude-sonnet-4-5": { "limit": { "context": 200000, "output": 8000 } } }
    }
  }
}
`,
    }),
    env: {
      OPENCODE_DISABLE_AUTOUPDATE: "1",
      OPENCODE_DISABLE_MODELS_FETCH: "1",
      OPENCODE_DISABLE_LSP_DOWNLOAD: "1",
      OPENCODE_DISABLE_DEFAULT_PLUGINS: "1",
    },
    args: (prompt) => ["run", "--format", "json", "--auto", prompt],
  },
};

export function toolName(client: McpClientName, name: string): string {
  return clients[client].tool(name);
}

/** Writes the client's files, then runs `skein mcp install` with these arguments. */
export async function installClient(skein: TemporaryHome, server: ModelServer, client: McpClientName, args: string[] = []): Promise<void> {
  for (const [path, text] of Object.entries(clients[client].files(server.url))) {
    mkdirSync(dirname(join(skein.home, path)), { recursive: true });
    writeFileSync(join(skein.home, path), text);
  }
  const { code, err } = await skein.run(["mcp", "install", client, ...args]);
  if (code !== 0) throw new Error(`mcp install failed: ${err}`);
}

export type ClientResult = { code: number; out: string; err: string };

export async function askClient(skein: TemporaryHome, client: McpClientName, prompt: string): Promise<ClientResult> {
  const { env, args } = clients[client];
  const child = Bun.spawn([join(peersBin, client), ...args(prompt)], {
    cwd: skein.project,
    env: { ...skein.env, ...env },
    stdin: "ignore",
    stdout: "pipe",
    stderr: "pipe",
  });
  const [out, err, code] = await Promise.all([new Response(child.stdout).text(), new Response(child.stderr).text(), child.exited]);
  return { code, out, err };
}
