// What was found out about a program holds for that program: not for another one in its place, and not for ever.
import { afterEach, beforeEach, expect, test } from "bun:test";
import { mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Found, foundOf, keepFound, keepVersion, knownVersion } from "./known-agents.ts";

let state = "";
beforeEach(() => {
  state = mkdtempSync(join(tmpdir(), "skein-known-"));
});
afterEach(() => rmSync(state, { recursive: true }));

const program = { path: "/opt/agent", mtimeMs: 100.5, version: "1.0.0" };
const silent = { path: "/opt/silent", mtimeMs: 200, version: null };
const found: Found = { at: 1, works: true, reason: null, resume: true, fork: false };

test("what was found is there again for the same file and version only", () => {
  expect(foundOf(state, program)).toBeNull();
  keepFound(state, program, found);
  expect(foundOf(state, program)).toEqual(found);
  expect(foundOf(state, { ...program, mtimeMs: 101 })).toBeNull();
  expect(foundOf(state, { ...program, version: "1.0.1" })).toBeNull();
  expect(foundOf(state, { ...program, path: "/opt/other" })).toBeNull();
});

test("a version that had to be asked for is remembered, beside what was found", () => {
  expect(knownVersion(state, silent)).toBeNull();
  keepVersion(state, silent, "3.0.0");
  keepFound(state, silent, found);
  keepFound(state, program, { ...found, works: false });
  expect(knownVersion(state, silent)).toBe("3.0.0");
  expect(foundOf(state, silent)).toEqual(found);
  expect(foundOf(state, program)?.works).toBe(false);
  expect(knownVersion(state, { ...silent, mtimeMs: 201 })).toBeNull();
  keepVersion(state, silent, "3.1.0");
  expect(foundOf(state, silent)).toBeNull();
});

test("a broken file counts as empty and is replaced", () => {
  writeFileSync(join(state, "agents.json"), '{"/opt/agent": ');
  expect(foundOf(state, program)).toBeNull();
  keepFound(state, program, found);
  expect(foundOf(state, program)).toEqual(found);
  writeFileSync(join(state, "agents.json"), "[]");
  expect(knownVersion(state, silent)).toBeNull();
});
