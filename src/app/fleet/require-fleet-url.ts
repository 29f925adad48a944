// The URL of the fleet's database in the config.
import { Fault } from "../../protocol/api/error.ts";

/** Throws if the config names no database. */
export function requireFleetUrl(url: string | null): string {
  if (url !== null) return url;
  throw new Fault("config", "fleet.url is not set, so there is no database to use", {
    hint: "put the URL into a variable, then: skein config set fleet.url '$FLEET_URL'",
  });
}
