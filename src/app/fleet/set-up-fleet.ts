// Creates the tables of a fleet. Loads the fleet's bundle, which an ordinary run never does.
import type { FleetSetup } from "../../protocol/schema/setup.ts";
import { requireFleetUrl } from "./require-fleet-url.ts";

export async function setUpFleet(url: string | null): Promise<FleetSetup> {
  const { createTables } = await import("../../fleet/fleet.ts");
  return createTables(requireFleetUrl(url));
}
