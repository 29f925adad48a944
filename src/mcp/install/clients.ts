// The table of clients for `skein mcp install`: the path of each one's configuration, and its server entry.
import { existsSync } from "node:fs";
import { join } from "node:path";

export type InstallClient = {
  name: string;
  title: string;
  /** The user's configuration file: TOML if its name ends with .toml, else JSON. */
  file: (environment: ClientEnvironment) => string;
  /** The file of one project; null if the client has none. Then the server is started with --project. */
  projectFile: ((project: string) => string) | null;
  /** The key of the table with all servers. */
  servers: string;
  entry: (server: ServerCommand) => Entry;
  /** The command of skein in the entry. Default: mcp. */
  command?: "mcp" | "acp";
  /** A remark for the user. */
  note?: string;
};

export type ClientEnvironment = { home: string; env: Record<string, string | undefined>; platform: string };

export type ServerCommand = {
  /** Absolute. */
  command: string;
  args: string[];
  /** Names of the variables that skein reads and that are set now. Their values are never written. */
  variables: string[];
  /** The PATH that has the agents' programs. */
  path: string;
};

export type Entry = Record<string, string | number | string[] | Record<string, string>>;

/** Longer than any call: skein returns earlier, while the work continues. */
const hourSeconds = 3600;
/** Used for Claude Code: its calls have no limit in skein, and progress does not extend this timeout. */
const daySeconds = 24 * hourSeconds;

export const installClients: readonly InstallClient[] = [
  {
    name: "claude",
    title: "Claude Code",
    file: ({ home, env }) => join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json"),
    projectFile: (project) => join(project, ".mcp.json"),
    servers: "mcpServers",
    entry: ({ command, args }) => ({ type: "stdio", command, args, timeout: daySeconds * 1000 }),
  },
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    file: ({ home, env, platform }) =>
      join(
        platform === "darwin" ? join(home, "Library", "Application Support") : env["XDG_CONFIG_HOME"] || join(home, ".config"),
        "Claude",
        "claude_desktop_config.json",
      ),
    projectFile: null,
    servers: "mcpServers",
    entry: ({ command, args, path }) => ({ command, args, env: { PATH: path } }),
    note: 'Claude Desktop passes no keys to skein and has no project. Add your vendors\' keys to "env" in that file, and name a project with --project.',
  },
  {
    name: "codex",
    title: "Codex",
    file: ({ home, env }) => join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml"),
    projectFile: (project) => join(project, ".codex", "config.toml"),
    servers: "mcp_servers",
    entry: ({ command, args, variables }) => ({
      command,
      args,
      ...(variables.length === 0 ? {} : { env_vars: variables }),
      tool_timeout_sec: hourSeconds,
    }),
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    file: ({ home, env }) => join(env["GEMINI_CLI_HOME"] || home, ".gemini", "settings.json"),
    projectFile: (project) => join(project, ".gemini", "settings.json"),
    servers: "mcpServers",
    entry: ({ command, args, variables }) => ({
      command,
      args,
      // Gemini hides variables that look like secrets from its servers, unless they are listed here.
      ...(variables.length === 0 ? {} : { env: Object.fromEntries(variables.map((name) => [name, `$${name}`])) }),
      timeout: hourSeconds * 1000,
    }),
  },
  {
    name: "opencode",
    title: "opencode",
    file: ({ home, env }) => existingFile(join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode")),
    projectFile: (project) => existingFile(project),
    servers: "mcp",
    entry: ({ command, args }) => ({ type: "local", command: [command, ...args], timeout: hourSeconds * 1000 }),
  },
  {
    name: "cursor",
    title: "Cursor",
    file: ({ home }) => join(home, ".cursor", "mcp.json"),
    projectFile: (project) => join(project, ".cursor", "mcp.json"),
    servers: "mcpServers",
    entry: ({ command, args }) => ({ command, args }),
  },
  {
    name: "zed",
    title: "Zed",
    file: ({ home, env, platform }) =>
      join((platform !== "darwin" && env["XDG_CONFIG_HOME"]) || join(home, ".config"), "zed", "settings.json"),
    projectFile: (project) => join(project, ".zed", "settings.json"),
    servers: "context_servers",
    entry: ({ command, args }) => ({ command, args, timeout: hourSeconds }),
  },
];

/** opencode reads both names; skein changes the existing file. */
function existingFile(folder: string): string {
  const [json, jsonc] = [join(folder, "opencode.json"), join(folder, "opencode.jsonc")];
  return !existsSync(json) && existsSync(jsonc) ? jsonc : json;
}
