// The MCP servers of `skein mcp list`, with the reason why one can't be used. Shows no value of a variable or a header.
import type { McpServerInfo } from "../../protocol/api/api.ts";
import { checkServer, type McpServer } from "../../protocol/mcp/server-entry.ts";
import { shellQuote } from "../../kit/text/shell-quote.ts";
import type { AppContext } from "../app-context.ts";
import { configuredServers, type ConfiguredServer } from "./turn-servers.ts";

export function listServers(ctx: AppContext): McpServerInfo[] {
  return configuredServers(ctx).map(infoOf);
}

function infoOf({ name, entry, written, origin, isTrusted }: ConfiguredServer): McpServerInfo {
  const server = checkServer(entry);
  const isValid = typeof server !== "string";
  return {
    name,
    state: !isValid ? "invalid" : !isTrusted ? "untrusted" : entry.disabled === true ? "disabled" : "ready",
    kind: isValid ? server.kind : null,
    target: targetOf(checkServer(written)),
    variables: Object.keys(entry.env ?? {}),
    headerNames: Object.keys(entry.headers ?? {}),
    otherAgents: entry.otherAgents === true,
    origin,
    problem: !isValid ? `it ${server}` : isTrusted ? null : "the project is not trusted: read the file, then run `skein trust`",
  };
}

/** Empty for an entry whose address is only known with the values of its variables. */
function targetOf(server: McpServer | string): string {
  if (typeof server === "string") return "";
  if (server.kind === "stdio") return [server.command, ...server.args].map(shellQuote).join(" ");
  const url = new URL(server.url);
  url.username = "";
  url.password = "";
  if (url.search !== "") url.search = "?(set)";
  return url.href;
}
