// The configuration keys of planning turns, a part of the table in keys.ts.
import type { KeyEntry } from "../keys.ts";

export const planKeys = [
  {
    key: "plan_model",
    isInternal: true,
    type: "string",
    project: "yes",
    description: "Model of turns under policy `plan` that name none. The session keeps its own model, which carries the plan out.",
  },
  {
    key: "plan_agent",
    isInternal: true,
    type: "string",
    project: "yes",
    description: "The same for the agent of such turns.",
  },
] as const satisfies readonly KeyEntry[];
