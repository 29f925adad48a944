// The definitions of the tools that a turn is offered.
import { definitions } from "../../../executor/tools/definitions.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { toolNames, type ToolSelection } from "../../../protocol/api/policy.ts";
import type { ToolDefinition } from "../../../protocol/api/ports.ts";
import { askUserTool } from "./ask-user.ts";
import { spawnSessionTool } from "./spawn-session.ts";

export function offeredTools(offer: ToolSelection): ToolDefinition[] {
  const all = [...Object.values(definitions), spawnSessionTool, askUserTool];
  const wanted = toolNames(offer);
  const unknown = wanted.find((name) => !all.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    throw new Fault("usage", `unknown tool: ${unknown}`, { hint: `the tools are ${all.map((tool) => tool.name).join(", ")}` });
  }
  return all.filter((tool) => wanted.includes(tool.name));
}
