// Limits of a scripted vendor, and the end of the waits for them.
import { Database } from "bun:sqlite";
import { join } from "node:path";
import type { TemporaryHome } from "./temporary-home.ts";

/** The answer of a vendor whose limit ends after `seconds`. */
export const limitOf = (seconds: number) =>
  ({ type: "status", status: 429, retryAfter: String(seconds), message: "usage limit reached" }) as const;

/** Moves the wake times of all waiting turns to now, as if the time had passed. */
export function endWaits(skein: TemporaryHome, byMs = 0): void {
  const db = new Database(join(skein.env["SKEIN_HOME"]!, "data", "skein.db"));
  db.run("pragma busy_timeout = 10000");
  db.run("update inputs set wake_at = ? where kind = 'waiting'", [Date.now() + byMs]);
  db.close();
}
