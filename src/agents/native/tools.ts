// The definitions of the tools that a turn is offered.
import { definitions } from "../../executor/tools/definitions.ts";
import { Fault } from "../../protocol/error.ts";
import { toolNames, type Offer } from "../../protocol/policy.ts";
import type { ToolDefinition } from "../../protocol/ports.ts";
import { askUser } from "./ask-user.ts";
import { spawnSession } from "./spawn-session.ts";

export function offeredTools(offer: Offer): ToolDefinition[] {
  const all = [...Object.values(definitions), spawnSession, askUser];
  const wanted = toolNames(offer);
  const unknown = wanted.find((name) => !all.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    throw new Fault("usage", `unknown tool: ${unknown}`, { hint: `the tools are ${all.map((tool) => tool.name).join(", ")}` });
  }
  return all.filter((tool) => wanted.includes(tool.name));
}
