// The layout of the store in Postgres, in named steps. A released step is never changed: add a new one at the end.
import { controlFunctions } from "./control-functions.ts";
import { leaseFunctions } from "./lease-functions.ts";
import type { Migration } from "./migrate.ts";
import { purgeFunctions } from "./purge-functions.ts";
import { readFunctions } from "./read-functions.ts";
import { sessionFunctions } from "./session-functions.ts";
import { tables } from "./tables.ts";
import { turnFunctions } from "./turn-functions.ts";

export const storeMigrations: readonly Migration[] = [
  { name: "tables", sql: tables },
  { name: "leases", sql: leaseFunctions },
  { name: "turns", sql: turnFunctions },
  { name: "questions and pending turns", sql: controlFunctions },
  { name: "sessions", sql: sessionFunctions },
  { name: "paths and search", sql: readFunctions },
  { name: "purge", sql: purgeFunctions },
];
