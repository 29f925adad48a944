// Which tools a turn is offered: by level, narrowed by --tools and --no-spawn.
import { definitions } from "../../executor/tools/definitions.ts";
import { Fault } from "../../protocol/error.ts";
import { levelTools } from "../../protocol/policy.ts";
import type { ToolDefinition, TurnInput } from "../../protocol/ports.ts";
import { spawnSession } from "./spawn-session.ts";

export function offeredTools(input: Pick<TurnInput, "toolLevel" | "tools" | "spawn">): ToolDefinition[] {
  const all = [...Object.values(definitions), spawnSession];
  const wanted = input.tools ?? levelTools[input.toolLevel];
  const unknown = wanted.find((name) => !all.some((tool) => tool.name === name));
  if (unknown !== undefined) {
    throw new Fault("usage", `unknown tool: ${unknown}`, { hint: `the tools are ${all.map((tool) => tool.name).join(", ")}` });
  }
  return all.filter((tool) => wanted.includes(tool.name) && (input.spawn || tool.name !== "spawn_session"));
}
