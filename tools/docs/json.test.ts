import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { result } from "../../src/protocol/fixtures/printed-schemas.ts";
import { printJsonDocs } from "./json.ts";

test("docs/JSON.md is current (npm run docs rewrites it)", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/JSON.md"), "utf8")).toBe(printJsonDocs());
});

test("every linked type of docs/JSON.md is described once", () => {
  const text = printJsonDocs();
  const headings = [...text.matchAll(/^#+ (.*)$/gm)].map(([, title]) => title!.toLowerCase().replaceAll(" ", "-"));
  const links = [...new Set([...text.matchAll(/\]\(#([^)]+)\)/g)].map(([, link]) => link!))];
  expect(links.filter((link) => headings.filter((heading) => heading === link).length !== 1)).toEqual([]);
});

test("the example at the head of docs/JSON.md is a valid result", () => {
  const [, example = ""] = /```json\n([^]*?)```/.exec(printJsonDocs()) ?? [];
  expect(result.parse(JSON.parse(example))).toMatchObject({ status: "ok" });
});
