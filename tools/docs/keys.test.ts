import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { printKeysDocs } from "./keys.ts";

test("docs/KEYS.md is current (npm run docs rewrites it)", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/KEYS.md"), "utf8")).toBe(printKeysDocs());
});
