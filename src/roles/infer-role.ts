// Infers the tools and limits of a role from its name and description, where its file does not set them.
import type { Role } from "../protocol/api/role.ts";

const minute = 60_000;

export type InferredLimits = { tools: string[]; timeoutMs: number; idleMs: number; maxMemoryMb: number };

export function inferLimits(name: string, description: string): InferredLimits {
  const words = `${name} ${description}`.toLowerCase().replace(/[_-]/g, " ");
  const mentions = (pattern: RegExp) => pattern.test(words);
  const isBuilder = mentions(/\b(code|coding|coder|implement|engineer|develop|test|qa\b)/);
  return {
    tools: ["read", "write", "edit", ...(isBuilder ? ["bash"] : [])],
    timeoutMs: (mentions(/\b(architect|design)/) ? 60 : mentions(/\b(implement|code|coding|coder)/) ? 120 : 45) * minute,
    idleMs: 10 * minute,
    maxMemoryMb: 2048,
  };
}

/** A role without a file: its description is also its prompt. */
export function roleFromDescription(name: string, description: string): Role {
  return {
    name,
    description,
    prompt: description,
    capabilities: [],
    reads: [],
    writes: [],
    agent: null,
    model: null,
    policy: null,
    net: null,
    origin: "project",
    path: null,
    specialises: null,
    notes: ["tools and limits are inferred from its description"],
    ignored: [],
    ...inferLimits(name, description),
  };
}
