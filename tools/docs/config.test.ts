import { expect, test } from "bun:test";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import Ajv from "ajv";
import { printConfigDocs } from "./config.ts";
import { environmentVariables } from "../../src/config/env.ts";
import { findKey } from "../../src/config/find-key.ts";
import { configKeys } from "../../src/config/keys.ts";
import { configSchema } from "../../src/config/schema.ts";
import { checkValue } from "../../src/config/check-value.ts";

test("docs/CONFIG.md is current (npm run docs rewrites it)", () => {
  expect(readFileSync(join(import.meta.dir, "../../docs/CONFIG.md"), "utf8")).toBe(printConfigDocs());
});

test("every key and every variable is in the documents", () => {
  const docs = printConfigDocs();
  for (const row of configKeys) expect(docs).toContain(`| \`${row.key.replace("*", "<name>")}\` |`);
  for (const row of environmentVariables) expect(docs).toContain(`| \`${row.name}\` |`);
});

test("keys and variables are listed once, and defaults are valid values", () => {
  const names = [
    ...configKeys.map((row) => row.key),
    ...configKeys.flatMap((row) => row.env ?? []),
    ...environmentVariables.map((row) => row.name),
  ];
  expect(new Set(names).size).toBe(names.length);
  for (const row of configKeys) {
    // A number in a file is seconds, and the default of a duration is in ms.
    const written = row.type === "duration" && typeof row.default === "number" ? row.default / 1000 : row.default;
    if (written !== null) expect(checkValue(row, written)).toEqual({ ok: true, value: row.default });
    if (row.order) expect(row.order.toSorted()).toEqual((row.choices ?? []).toSorted());
    expect(findKey(row.key.replace("*", row.key.startsWith("models.") ? "acme/model-1.5:8b" : "acme"))).toBe(row);
  }
});

test("the schema accepts and refuses the same files as loading", () => {
  const validate = new Ajv({ allowUnionTypes: true }).compile(configSchema());
  const good = [
    {},
    { $schema: "x", model: "a/b", policy: "plan", max_steps: 3, timeout: "2h", idle_timeout: 90, skills: false, net: null },
    { allow_write: ["/x"], providers: { acme: { base_url: "https://a", api_key: "$K", wire: "gemini", headers: { a: "b" } } } },
  ];
  const bad = [
    { modle: "x" },
    { policy: "ful" },
    { max_steps: 0 },
    { timeout: "soon" },
    { providers: { acme: { url: "x" } } },
    { providers: { acme: { base_url: "ftp://x" } } },
  ];
  for (const config of good) expect([config, validate(config)]).toEqual([config, true]);
  for (const config of bad) expect([config, validate(config)]).toEqual([config, false]);
});
