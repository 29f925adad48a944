// list_roles: lists the roles of this project.
import { tool } from "../tool.ts";

export const listRoles = tool("list_roles", {
  description: "The roles that members of a team can have.",
  readOnly: true,
  async run(_input, { api, directory }) {
    const { roles } = await api.roles.list({ directory });
    const entries = roles.map(({ name, description, capabilities, policy, tools, timeoutMs, maxMemoryMb, origin }) => ({
      name,
      description,
      capabilities,
      is_predefined: origin === "built-in",
      policy,
      required_tools: tools,
      default_timeout_s: Math.round(timeoutMs / 1_000),
      max_memory_mb: maxMemoryMb,
    }));
    return { output: { roles: entries }, text: entries.map(({ name, description }) => `${name}: ${description}`).join("\n") };
  },
});
