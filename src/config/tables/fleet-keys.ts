// The configuration keys of a fleet: many machines on one Postgres.
import type { KeyEntry } from "../keys.ts";

export const fleetKeys = [
  {
    key: "fleet.url",
    field: "fleetUrl",
    isInternal: true,
    type: "string",
    project: "never",
    secret: true,
    description:
      "Postgres database of a fleet ([FLEET.md](FLEET.md)): `postgres://user:password@host/database?sslmode=verify-full`, or `$NAME` for the variable that holds it. A host other than this machine needs `sslmode=verify-full`. Only your own file sets it.",
  },
] as const satisfies readonly KeyEntry[];
