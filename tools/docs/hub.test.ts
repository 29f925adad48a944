import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { apiMethods, type MethodName } from "../../src/protocol/api/methods.ts";
import { findMethod } from "../../src/protocol/json/json-case.ts";
import { printHubDocs } from "./hub.ts";
import { loomNames } from "../../src/protocol/schema/method-summaries.ts";

test("docs/HUB.md is what the tables print (npm run docs rewrites it)", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/HUB.md"), "utf8")).toBe(printHubDocs());
});

test("every method is printed once, and the names beside the Loom's exist", () => {
  const printed = [...printHubDocs().matchAll(/^\| `([a-z_.]+)` (?:\|[^|\n]*){3}\|$/gm)].map(([, name]) => findMethod(name!) ?? name!);
  expect(printed.toSorted()).toEqual((Object.keys(apiMethods) as MethodName[]).toSorted());
  const named = loomNames.flatMap(([, ours]) => [...ours.matchAll(/`([a-z]+\.[a-z_]+)`/g)].map(([, name]) => name!));
  expect(named.filter((name) => findMethod(name) === null)).toEqual([]);
});
