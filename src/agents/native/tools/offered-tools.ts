// Selects the tools that a turn offers to its model.
import { Fault } from "../../../protocol/api/error.ts";
import { toolNames, type ToolSelection } from "../../../protocol/api/policy.ts";
import type { ToolDefinition } from "../../../protocol/api/ports.ts";
import { mcpToolName, toolDefinitions } from "../../../protocol/api/tool-table.ts";
import { askUserTool } from "./ask-user.ts";
import { createMcpTool } from "./mcp.ts";
import { spawnSessionTool, withTargets, type SpawnTargets } from "./spawn-session.ts";

/** The facts besides the turn itself that definitions depend on. */
export type ToolSurroundings = {
  /** Called only if spawn_session is offered. */
  spawnTargets?: () => SpawnTargets;
  /** Names of the turn's MCP servers. Without any there is no tool for them. */
  servers: readonly string[];
};

export function offeredTools(selection: ToolSelection, surroundings: ToolSurroundings = { servers: [] }): ToolDefinition[] {
  const { spawnTargets: targets, servers } = surroundings;
  const mcpTools = servers.length === 0 ? [] : [createMcpTool(servers)];
  const tools = [...toolDefinitions, spawnSessionTool, ...mcpTools, askUserTool];
  const selected = toolNames(selection);
  // A role may name the tool for projects that have a server.
  const names = servers.length === 0 && selected.length > 1 ? selected.filter((name) => name !== mcpToolName) : selected;
  if (servers.length === 0 && names.includes(mcpToolName))
    throw new Fault("usage", "no MCP server is configured, so there is no tool mcp", { hint: "skein mcp add <name> -- <command>" });
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    throw new Fault("usage", `unknown tool: ${unknown}`, { hint: `the tools are ${tools.map((tool) => tool.name).join(", ")}` });
  }
  const offered = tools.filter((tool) => names.includes(tool.name));
  return offered.map((tool) => (tool === spawnSessionTool && targets !== undefined ? withTargets(tool, targets()) : tool));
}
