// What a role of one's own gets where its file says nothing: read from its name and description.

import type { Role } from "../protocol/api/role.ts";

const minute = 60_000;

export type InferredLimits = { tools: string[]; timeoutMs: number; idleMs: number; maxMemoryMb: number };

export function inferLimits(name: string, description: string): InferredLimits {
  const words = `${name} ${description}`.toLowerCase().replace(/[_-]/g, " ");
  const says = (pattern: RegExp) => pattern.test(words);
  const builds = says(/\b(code|coding|coder|implement|engineer|develop|test|qa\b)/);
  return {
    tools: ["read", "write", "edit", ...(builds ? ["bash"] : [])],
    timeoutMs: (says(/\b(architect|design)/) ? 60 : says(/\b(implement|code|coding|coder)/) ? 120 : 45) * minute,
    idleMs: 10 * minute,
    maxMemoryMb: 2048,
  };
}

/** A role that stands in no file: somebody's words for it are all there is. */
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
