import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { findMethod, methodNames } from "../../src/protocol/schema/check-params.ts";
import { printHubDocs } from "./hub.ts";

test("docs/HUB.md is current (npm run docs rewrites it)", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/HUB.md"), "utf8")).toBe(printHubDocs());
});

test("docs/HUB.md lists every method once", () => {
  const printed = [...printHubDocs().matchAll(/^\| `([a-z_.]+)` (?:\|[^|\n]*){3}\|$/gm)].map(([, name]) => findMethod(name!) ?? name!);
  expect(printed.toSorted()).toEqual(methodNames.toSorted());
});

test("every method beside a name of the Loom exists", () => {
  const loom = printHubDocs().split("## Names of the Loom")[1]!;
  const names = [...loom.matchAll(/`([a-z]+\.[a-z_]+)`/g)].map(([, name]) => name!);
  expect(names.length).toBeGreaterThan(10);
  expect(names.filter((name) => findMethod(name) === null)).toEqual([]);
});
