// Selects the tools that a turn offers to its model.
import { Fault } from "../../../protocol/api/error.ts";
import { toolNames, type ToolSelection } from "../../../protocol/api/policy.ts";
import type { ToolDefinition } from "../../../protocol/api/ports.ts";
import { toolDefinitions } from "../../../protocol/api/tool-table.ts";
import { askUserTool } from "./ask-user.ts";
import { spawnSessionTool, withTargets, type SpawnTargets } from "./spawn-session.ts";

/** `targets` is called only if spawn_session is offered. */
export function offeredTools(selection: ToolSelection, targets?: () => SpawnTargets): ToolDefinition[] {
  const tools = [...toolDefinitions, spawnSessionTool, askUserTool];
  const names = toolNames(selection);
  const unknown = names.find((name) => !tools.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    throw new Fault("usage", `unknown tool: ${unknown}`, { hint: `the tools are ${tools.map((tool) => tool.name).join(", ")}` });
  }
  const offered = tools.filter((tool) => names.includes(tool.name));
  return offered.map((tool) => (tool === spawnSessionTool && targets !== undefined ? withTargets(tool, targets()) : tool));
}
