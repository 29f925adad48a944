import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { printRolesDocs } from "./roles.ts";

test("docs/ROLES.md is current (npm run docs rewrites it)", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/ROLES.md"), "utf8")).toBe(printRolesDocs());
});
