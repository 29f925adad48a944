// The MCP servers of a project's .mcp.json, a file that other programs share. They count only in a trusted project.
// A broken file never stops skein: it is reported as a warning.
import { join } from "node:path";
import type { FileReader } from "../../kit/files/file-reader.ts";
import { statPath } from "../../kit/files/path-status.ts";
import { isRecord } from "../../kit/text/json.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { messageOf } from "../../protocol/api/error.ts";
import { checkServer, type McpServerEntries, type McpServerEntry, serverNamePattern } from "../../protocol/mcp/server-entry.ts";

export type ProjectServers = {
  path: string;
  /** Whether the file may be used. Servers of an untrusted file are only listed. */
  isTrusted: boolean;
  servers: McpServerEntries;
  /** The same entries before variables are replaced by their values. Only these may be printed. */
  written: McpServerEntries;
};

export type ProjectServerOptions = {
  project: string;
  files: FileReader;
  env: Record<string, string | undefined>;
  /** Called only if the file names a server. */
  isTrusted: () => boolean;
  warn: (message: string) => void;
};

const maxBytes = 1_000_000;

/** Null if the project has no such file, or a broken one. Costs one stat if there is none. */
export function readProjectServers({ project, files, env, isTrusted, warn }: ProjectServerOptions): ProjectServers | null {
  const path = join(project, ".mcp.json");
  if (statPath(path) === undefined) return null;
  const servers = parseFile(path, files, warn);
  const names = servers === null ? [] : Object.keys(servers);
  if (servers === null || names.length === 0) return null;
  if (!isTrusted()) {
    const subject = names.length === 1 ? "its server" : `its ${names.length} servers`;
    warn(`${path} is not trusted, so ${subject} can't be used; read it, then run \`skein trust\``);
    return { path, isTrusted: false, servers, written: servers };
  }
  const expanded = Object.entries(servers).map(([name, entry]) => {
    const missing = new Set<string>();
    const server = expandVariables(entry, env, missing) as McpServerEntry;
    if (missing.size > 0) warn(`${path}: ${name} names the variable ${[...missing].join(", ")}, which is not set`);
    const checked = checkServer(server);
    if (typeof checked === "string") warn(`${path}: the server ${name} ${checked}; it is left out`);
    return [name, server] as const;
  });
  return { path, isTrusted: true, servers: Object.fromEntries(expanded), written: servers };
}

function parseFile(path: string, files: FileReader, warn: (message: string) => void): McpServerEntries | null {
  try {
    const bytes = files.read(path, maxBytes);
    if (bytes === null) return null;
    const content: unknown = JSON.parse(bytes.toString("utf8").replace(/^\uFEFF/, ""));
    const servers = isRecord(content) ? (content["mcpServers"] ?? {}) : null;
    if (!isRecord(servers)) throw new Error('an object with "mcpServers" is expected');
    return Object.fromEntries(
      Object.entries(servers).flatMap(([name, value]) => {
        const entry = serverNamePattern.test(name) ? readEntry(value) : null;
        if (entry === null) warn(`${path}: the server "${oneLine(name, 60)}" has a name or a field that is not valid; it is left out`);
        return entry === null ? [] : [[name, entry]];
      }),
    );
  } catch (error) {
    warn(`${path} is left out: ${oneLine(messageOf(error), 200)}`);
    return null;
  }
}

/** Null for a field of the wrong type. Fields of other programs are ignored. */
function readEntry(value: unknown): McpServerEntry | null {
  if (!isRecord(value)) return null;
  const { command, args, env, cwd, url, headers, type, disabled, other_agents: otherAgents } = value;
  if (![command, cwd, url, type].every((text) => text === undefined || text === null || typeof text === "string")) return null;
  if (args !== undefined && !(Array.isArray(args) && args.every((item) => typeof item === "string"))) return null;
  if (![env, headers].every((map) => map === undefined || (isRecord(map) && Object.values(map).every((item) => typeof item === "string"))))
    return null;
  const entry = {
    command,
    args,
    env,
    cwd,
    url,
    headers,
    type,
    disabled: disabled === true,
    ...(otherAgents === true ? { otherAgents } : {}),
  } as Record<string, unknown>;
  return Object.fromEntries(Object.entries(entry).filter(([, field]) => field !== undefined));
}

/** Replaces `${NAME}` and `${NAME:-default}` in every text, as other programs do with this file. */
function expandVariables(value: unknown, env: Record<string, string | undefined>, missing: Set<string>): unknown {
  if (Array.isArray(value)) return value.map((item) => expandVariables(item, env, missing));
  if (isRecord(value)) return Object.fromEntries(Object.entries(value).map(([name, item]) => [name, expandVariables(item, env, missing)]));
  if (typeof value !== "string") return value;
  return value.replace(/\$\{(\w+)(?::-([^}]*))?\}/g, (_match, name: string, fallback: string | undefined) => {
    if (env[name]) return env[name];
    if (fallback === undefined) missing.add(name);
    return fallback ?? "";
  });
}
