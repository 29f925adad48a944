// The tool that delegates. It is run by the loop, not by the executor: tools can't start turns.
import type { ToolDefinition } from "../../../protocol/api/ports.ts";

export const spawnSessionTool: ToolDefinition = {
  name: "spawn_session",
  description: "Give a self-contained task to a sub-session with its own context; returns its final answer. It can't spawn.",
  parameters: {
    type: "object",
    properties: {
      task: { type: "string" },
      agent: { type: "string" },
      provider: { type: "string" },
      model: { type: "string" },
      role: { type: "string" },
      attachable: { type: "boolean" },
      output_file: { type: "string", description: "Save the answer here" },
      sandbox: {
        type: "object",
        properties: { network: { type: "boolean" }, extra_write_paths: { type: "array", items: { type: "string" } } },
      },
    },
    required: ["task"],
  },
};
