// Cached findings about a program are valid only for the same file and version.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TrialFindings, cachedFindings, cacheFindings, cacheVersion, cachedVersion } from "./agent-cache.ts";

let stateDir = "";
beforeEach(() => {
  stateDir = mkdtempSync(join(tmpdir(), "skein-known-"));
});
afterEach(() => rmSync(stateDir, { recursive: true }));

const program = { path: "/opt/agent", mtimeMs: 100.5, version: "1.0.0" };
const unversioned = { path: "/opt/unversioned", mtimeMs: 200, version: null };
const findings: TrialFindings = { at: 1, works: true, reason: null, resume: true, fork: false };

test("cached findings are valid only for the same file and version", () => {
  expect(cachedFindings(stateDir, program)).toBeNull();
  cacheFindings(stateDir, program, findings);
  expect(cachedFindings(stateDir, program)).toEqual(findings);
  expect(cachedFindings(stateDir, { ...program, mtimeMs: 101 })).toBeNull();
  expect(cachedFindings(stateDir, { ...program, version: "1.0.1" })).toBeNull();
  expect(cachedFindings(stateDir, { ...program, path: "/opt/other" })).toBeNull();
});

test("a version from --version is cached beside the findings", () => {
  expect(cachedVersion(stateDir, unversioned)).toBeNull();
  cacheVersion(stateDir, unversioned, "3.0.0");
  cacheFindings(stateDir, unversioned, findings);
  cacheFindings(stateDir, program, { ...findings, works: false });
  expect(cachedVersion(stateDir, unversioned)).toBe("3.0.0");
  expect(cachedFindings(stateDir, unversioned)).toEqual(findings);
  expect(cachedFindings(stateDir, program)?.works).toBe(false);
  expect(cachedVersion(stateDir, { ...unversioned, mtimeMs: 201 })).toBeNull();
  cacheVersion(stateDir, unversioned, "3.1.0");
  expect(cachedFindings(stateDir, unversioned)).toBeNull();
});

test("an invalid cache file counts as empty and is replaced", () => {
  writeFileSync(join(stateDir, "agents.json"), '{"/opt/agent": ');
  expect(cachedFindings(stateDir, program)).toBeNull();
  cacheFindings(stateDir, program, findings);
  expect(cachedFindings(stateDir, program)).toEqual(findings);
  writeFileSync(join(stateDir, "agents.json"), "[]");
  expect(cachedVersion(stateDir, unversioned)).toBeNull();
});
