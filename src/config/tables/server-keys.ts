// The configuration keys of MCP servers, by name. Only a trusted project may set them.
import { defaultServerTimeoutMs } from "../../protocol/mcp/server-entry.ts";
import type { KeyEntry } from "../keys.ts";

export const serverKeys = [
  {
    key: "mcp_servers.*.command",
    type: "string",
    description: "Program of an MCP server on stdio, for the native agent (docs/MCP-SERVERS.md). It runs in the sandbox of the turn.",
  },
  { key: "mcp_servers.*.args", type: "string-list", fallback: [], description: "Its arguments." },
  {
    key: "mcp_servers.*.env",
    type: "string-map",
    fallback: {},
    secret: true,
    hasVariablesInside: true,
    description: "Its variables besides PATH, HOME and the like; `$NAME`, or `${NAME}` inside a value, is read from that variable.",
  },
  {
    key: "mcp_servers.*.cwd",
    type: "string",
    description: "Its working directory, relative to the directory of the turn. Without it, that directory.",
  },
  { key: "mcp_servers.*.url", type: "url", description: "Address of an MCP server over HTTP. skein itself connects to it." },
  {
    key: "mcp_servers.*.headers",
    type: "string-map",
    fallback: {},
    secret: true,
    hasVariablesInside: true,
    description: "Headers of every request to `url`; `$NAME`, or `${NAME}` inside a value, is read from that variable.",
  },
  {
    key: "mcp_servers.*.type",
    type: "string",
    description: "Transport: `stdio`, `http` or `sse`. Only `sse` must be named; the others follow from `command` and `url`.",
  },
  {
    key: "mcp_servers.*.timeout",
    field: "timeoutMs",
    type: "duration",
    fallback: defaultServerTimeoutMs,
    description:
      "Longest time for one answer of the server. Without it, 2 min. Progress messages start the time again, up to 30 times that long.",
  },
  { key: "mcp_servers.*.disabled", type: "boolean", default: false, description: "True leaves the server out." },
  {
    key: "mcp_servers.*.other_agents",
    field: "otherAgents",
    type: "boolean",
    default: false,
    description: "True gives the server to other agents too, such as Claude Code and Codex: it is written into their configuration.",
  },
] as const satisfies readonly KeyEntry[];
