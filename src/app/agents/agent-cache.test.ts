// What was found out about a program holds for that program: not for another one in its place, and not for ever.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TrialFindings, cachedFindings, cacheFindings, cacheVersion, cachedVersion } from "./agent-cache.ts";

let state = "";
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "skein-known-"));
});
afterEach(() => rmSync(state, { recursive: true }));

const program = { path: "/opt/agent", mtimeMs: 100.5, version: "1.0.0" };
const silent = { path: "/opt/silent", mtimeMs: 200, version: null };
const found: TrialFindings = { at: 1, works: true, reason: null, resume: true, fork: false };

test("cached findings are valid only for the same file and version", () => {
  expect(cachedFindings(state, program)).toBeNull();
  cacheFindings(state, program, found);
  expect(cachedFindings(state, program)).toEqual(found);
  expect(cachedFindings(state, { ...program, mtimeMs: 101 })).toBeNull();
  expect(cachedFindings(state, { ...program, version: "1.0.1" })).toBeNull();
  expect(cachedFindings(state, { ...program, path: "/opt/other" })).toBeNull();
});

test("a version from --version is cached beside the findings", () => {
  expect(cachedVersion(state, silent)).toBeNull();
  cacheVersion(state, silent, "3.0.0");
  cacheFindings(state, silent, found);
  cacheFindings(state, program, { ...found, works: false });
  expect(cachedVersion(state, silent)).toBe("3.0.0");
  expect(cachedFindings(state, silent)).toEqual(found);
  expect(cachedFindings(state, program)?.works).toBe(false);
  expect(cachedVersion(state, { ...silent, mtimeMs: 201 })).toBeNull();
  cacheVersion(state, silent, "3.1.0");
  expect(cachedFindings(state, silent)).toBeNull();
});

test("an invalid cache file counts as empty and is replaced", () => {
  writeFileSync(join(state, "agents.json"), '{"/opt/agent": ');
  expect(cachedFindings(state, program)).toBeNull();
  cacheFindings(state, program, found);
  expect(cachedFindings(state, program)).toEqual(found);
  writeFileSync(join(state, "agents.json"), "[]");
  expect(cachedVersion(state, silent)).toBeNull();
});
