import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { printJsonDocs } from "./json.ts";

test("docs/JSON.md is what the schemas print (npm run docs rewrites it)", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/JSON.md"), "utf8")).toBe(printJsonDocs());
});
