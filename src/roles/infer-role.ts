// Infers the tools and limits of a role from its name and description, where its file does not set them.
import type { Role } from "../protocol/api/role.ts";
import { mcpToolName } from "../protocol/api/tool-table.ts";

const minute = 60_000;

export const defaultIdleMs = 10 * minute;
export const defaultMemoryMb = 2048;

export function inferLimits(name: string, description: string): Pick<Role, "tools" | "timeoutMs" | "idleMs" | "maxMemoryMb"> {
  const words = `${name} ${description}`.toLowerCase().replace(/[_-]/g, " ");
  const mentions = (pattern: RegExp) => pattern.test(words);
  const isBuilder = mentions(/\b(code|coding|coder|implement|engineer|develop|test|qa\b)/);
  return {
    tools: ["read", "write", "edit", ...(isBuilder ? ["bash"] : []), mcpToolName],
    timeoutMs: (mentions(/\b(architect|design)/) ? 60 : mentions(/\b(implement|code|coding|coder)/) ? 120 : 45) * minute,
    idleMs: defaultIdleMs,
    maxMemoryMb: defaultMemoryMb,
  };
}

/** The fields of a role that only some roles set. */
export const emptyRole = {
  capabilities: [],
  reads: [],
  writes: [],
  agent: null,
  model: null,
  policy: null,
  net: null,
  path: null,
  specialises: null,
  notes: [],
  ignored: [],
} satisfies Partial<Role>;

/** A role without a file: its description is also its prompt. */
export function roleFromDescription(name: string, description: string): Role {
  const notes = ["tools and limits are inferred from its description"];
  return { ...emptyRole, name, description, prompt: description, origin: "project", notes, ...inferLimits(name, description) };
}
