// The table of all Api methods. The Api type, the hub's checks and docs/HUB.md come from it.
import { sessionMethods } from "./session-methods.ts";
import { setupMethods } from "./setup-methods.ts";
import { teamMethods } from "./team-methods.ts";
import { treeMethods } from "./tree-methods.ts";
import { turnMethods } from "./turn-methods.ts";

export const methods = { ...sessionMethods, ...turnMethods, ...treeMethods, ...teamMethods, ...setupMethods };
export type Methods = typeof methods;
