// An MCP server as configurations describe it, and the checked form of it that skein can start.
// The same shape comes from the config, from a project's .mcp.json and from a front end.

export type McpServerEntry = {
  /** The program of a server on stdio. */
  command?: string | null | undefined;
  args?: readonly string[] | undefined;
  /** All variables of the server besides PATH, HOME and the like. */
  env?: Readonly<Record<string, string>> | undefined;
  /** Relative to the directory of the turn, which is also the default. */
  cwd?: string | null | undefined;
  /** The address of a server over HTTP. */
  url?: string | null | undefined;
  headers?: Readonly<Record<string, string>> | undefined;
  /** `sse` is the transport of 2024. Other values follow from `command` and `url`. */
  type?: string | null | undefined;
  timeoutMs?: number | null | undefined;
  disabled?: boolean | undefined;
  /** True if other agents than native get it too. */
  otherAgents?: boolean | undefined;
};

export type McpServerEntries = Readonly<Record<string, McpServerEntry>>;

export type StdioServer = {
  kind: "stdio";
  command: string;
  args: readonly string[];
  env: Readonly<Record<string, string>>;
  cwd: string | null;
  timeoutMs: number;
};

export type HttpServer = {
  kind: "http";
  url: string;
  headers: Readonly<Record<string, string>>;
  isOldSse: boolean;
  timeoutMs: number;
};

export type McpServer = StdioServer | HttpServer;

/** Longest time for one answer of a server. Its progress messages start the time again. */
export const defaultServerTimeoutMs = 120_000;

/** The name is part of the prompt, so it has no blanks, quotes or line breaks. */
export const serverNamePattern = /^[A-Za-z0-9][\w.-]{0,63}$/;

/** The checked server, or a text that completes "the server ...". */
export function checkServer(entry: McpServerEntry): McpServer | string {
  const { command, args = [], env = {}, cwd, url, headers = {}, type } = entry;
  const timeoutMs = entry.timeoutMs ?? defaultServerTimeoutMs;
  if (command && url) return 'has both "command" and "url"';
  if (command) {
    if (type && type !== "stdio") return `has a "command", but its type is ${type}`;
    return { kind: "stdio", command, args, env, cwd: cwd ?? null, timeoutMs };
  }
  if (!url) return 'has neither "command" nor "url"';
  if (!/^https?:$/.test(URL.parse(url)?.protocol ?? "")) return "has a URL that does not start with http:// or https://";
  if (type === "stdio") return 'has a "url", but its type is stdio';
  return { kind: "http", url, headers, isOldSse: type === "sse", timeoutMs };
}
