// The MCP servers that a client names for a session, in the form of a turn's option. They are never stored.
import type { McpServer } from "@agentclientprotocol/sdk";
import { checkServer, serverNamePattern, type McpServerEntries, type McpServerEntry } from "../../protocol/mcp/server-entry.ts";
import { invalidParams } from "../server/request-errors.ts";

/** Throws a JSON-RPC error for a server that skein can't start. */
export function clientServers(servers: readonly McpServer[]): McpServerEntries {
  const entries: Record<string, McpServerEntry> = {};
  for (const server of servers) {
    const entry = toEntry(server);
    const checked = checkServer(entry);
    if (typeof checked === "string") throw invalidParams(`the server "${server.name}" ${checked}`);
    entries[freeName(server.name, entries)] = entry;
  }
  return entries;
}

function toEntry(server: McpServer): McpServerEntry {
  if ("command" in server) return { command: server.command, args: server.args ?? [], env: pairs(server.env) };
  return { type: server.type, url: server.url, headers: pairs(server.headers) };
}

function pairs(list: readonly { name: string; value: string }[] | undefined): Record<string, string> {
  return Object.fromEntries((list ?? []).map(({ name, value }) => [name, value]));
}

/** Names of clients may have blanks and any other character. The model needs a short word. */
function freeName(name: string, taken: McpServerEntries): string {
  const word = name
    .replaceAll(/[^\w.-]+/g, "-")
    .replace(/^[^A-Za-z0-9]+/, "")
    .slice(0, 60);
  const base = serverNamePattern.test(word) ? word : "server";
  let free = base;
  for (let count = 2; taken[free] !== undefined; count++) free = `${base}-${count}`;
  return free;
}
