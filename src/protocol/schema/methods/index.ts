// The table of all Api methods. The Api type, the hub's checks and docs/HUB.md are derived from it.
import { fields } from "../fields.ts";
import type { Method } from "./method.ts";
import { raceMethods } from "./race-methods.ts";
import { sessionMethods } from "./session-methods.ts";
import { setupMethods } from "./setup-methods.ts";
import { teamMethods } from "./team-methods.ts";
import { treeMethods } from "./tree-methods.ts";
import { turnMethods } from "./turn-methods.ts";
import { worktreeMethods } from "./worktree-methods.ts";

export const methods = withParamSchemas({
  ...sessionMethods,
  ...turnMethods,
  ...treeMethods,
  ...teamMethods,
  ...worktreeMethods,
  ...raceMethods,
  ...setupMethods,
});
export type Methods = typeof methods;

type WithParamSchema<Entry extends Method> = Pick<Entry, "result" | "feed" | "summary"> & {
  params: ReturnType<typeof fields<Entry["params"]>>;
};

function withParamSchemas<Table extends Record<string, Method>>(table: Table) {
  const entries = Object.entries(table).map(([name, method]) => [name, { ...method, params: fields(method.params) }]);
  return Object.fromEntries(entries) as { [Name in keyof Table]: WithParamSchema<Table[Name]> };
}
