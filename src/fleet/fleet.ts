// The entry of the fleet's bundle. Nothing else is imported from outside, so that an ordinary run loads no code of Postgres.
export { createTables } from "./create-tables.ts";
export { openFleet, type Fleet } from "./client/open-fleet.ts";
export { createFleetCommands } from "./client/fleet-commands.ts";
export { followRun } from "./client/follow-run.ts";
export { sharedStore, type SharedStore } from "./client/fleet-store.ts";
export { workspaceOf } from "./files/fleet-paths.ts";
