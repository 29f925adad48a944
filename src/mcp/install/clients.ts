// The programs that `skein mcp install` knows: where each keeps its servers, and how it writes one down. One row each.
import { existsSync } from "node:fs";
import { join } from "node:path";

export type InstallClient = {
  name: string;
  title: string;
  format: "json" | "toml";
  /** The person's own file. */
  file: (place: ClientEnvironment) => string;
  /** The file of one project; null when it has none, and the server is told the project instead. */
  projectFile: ((project: string) => string) | null;
  /** The table that holds all servers. */
  servers: string;
  entry: (server: ServerCommand) => Entry;
  /** What a person has to know besides. */
  note?: string;
};

export type ClientEnvironment = { home: string; env: Record<string, string | undefined>; platform: string };

export type ServerCommand = {
  /** Absolute. */
  command: string;
  args: string[];
  /** Variables that skein reads and that are set now, by name: their values are written nowhere. */
  variables: string[];
  /** Where the agents' programs are found. */
  path: string;
};

export type EntryValue = string | number | string[] | Record<string, string>;
export type Entry = Record<string, EntryValue>;

/** Longer than any call is kept open: by then skein has handed it back. */
const hour = 3600;
/** Of Claude Code a call is never handed back, and this limit is one that progress does not move. */
const day = 24 * hour;

export const installClients: readonly InstallClient[] = [
  {
    name: "claude",
    title: "Claude Code",
    format: "json",
    file: ({ home, env }) => join(env["CLAUDE_CONFIG_DIR"] || home, ".claude.json"),
    projectFile: (project) => join(project, ".mcp.json"),
    servers: "mcpServers",
    entry: ({ command, args }) => ({ type: "stdio", command, args, timeout: day * 1000 }),
  },
  {
    name: "claude-desktop",
    title: "Claude Desktop",
    format: "json",
    file: ({ home, env, platform }) =>
      join(
        platform === "darwin" ? join(home, "Library", "Application Support") : env["XDG_CONFIG_HOME"] || join(home, ".config"),
        "Claude",
        "claude_desktop_config.json",
      ),
    projectFile: null,
    servers: "mcpServers",
    entry: ({ command, args, path }) => ({ command, args, env: { PATH: path } }),
    note: "It passes no keys on and is in no project: put the keys of your vendors into env there, and name a project with --project.",
  },
  {
    name: "codex",
    title: "Codex",
    format: "toml",
    file: ({ home, env }) => join(env["CODEX_HOME"] || join(home, ".codex"), "config.toml"),
    projectFile: (project) => join(project, ".codex", "config.toml"),
    servers: "mcp_servers",
    entry: ({ command, args, variables }) => ({
      command,
      args,
      ...(variables.length === 0 ? {} : { env_vars: variables }),
      tool_timeout_sec: hour,
    }),
  },
  {
    name: "gemini",
    title: "Gemini CLI",
    format: "json",
    file: ({ home, env }) => join(env["GEMINI_CLI_HOME"] || home, ".gemini", "settings.json"),
    projectFile: (project) => join(project, ".gemini", "settings.json"),
    servers: "mcpServers",
    entry: ({ command, args, variables }) => ({
      command,
      args,
      // It keeps from its servers whatever looks like a secret, unless it is named here.
      ...(variables.length === 0 ? {} : { env: Object.fromEntries(variables.map((name) => [name, `$${name}`])) }),
      timeout: hour * 1000,
    }),
  },
  {
    name: "opencode",
    title: "opencode",
    format: "json",
    file: ({ home, env }) => firstOf(join(env["XDG_CONFIG_HOME"] || join(home, ".config"), "opencode")),
    projectFile: (project) => firstOf(project),
    servers: "mcp",
    entry: ({ command, args }) => ({ type: "local", command: [command, ...args], timeout: hour * 1000 }),
  },
  {
    name: "cursor",
    title: "Cursor",
    format: "json",
    file: ({ home }) => join(home, ".cursor", "mcp.json"),
    projectFile: (project) => join(project, ".cursor", "mcp.json"),
    servers: "mcpServers",
    entry: ({ command, args }) => ({ command, args }),
  },
  {
    name: "zed",
    title: "Zed",
    format: "json",
    file: ({ home, env, platform }) =>
      join((platform !== "darwin" && env["XDG_CONFIG_HOME"]) || join(home, ".config"), "zed", "settings.json"),
    projectFile: (project) => join(project, ".zed", "settings.json"),
    servers: "context_servers",
    entry: ({ command, args }) => ({ command, args, timeout: hour }),
  },
];

/** opencode reads both names; the one that is there is changed. */
function firstOf(folder: string): string {
  const [usual, other] = [join(folder, "opencode.json"), join(folder, "opencode.jsonc")];
  return !existsSync(usual) && existsSync(other) ? other : usual;
}
