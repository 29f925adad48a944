import { afterEach, beforeEach, expect, setSystemTime, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { dropFile, dropIdOf, newDropId } from "./drop-file.ts";

let directory: string;
beforeEach(() => (directory = mkdtempSync(join(tmpdir(), "skein-drop-"))));
afterEach(() => {
  setSystemTime();
  rmSync(directory, { recursive: true });
});

test("a later file sorts after earlier ones, even in the same millisecond or after the clock was set back", () => {
  const ids = Array.from({ length: 5 }, newDropId);
  for (const [at, id] of ids.entries()) {
    setSystemTime(new Date(1_800_000_000_000 - (at > 2 ? 60_000 : 0)));
    dropFile(directory, id, "x");
  }
  expect(readdirSync(directory).toSorted().map(dropIdOf)).toEqual(ids);
});

test("a full counter continues with the next millisecond, and other file names are ignored", () => {
  writeFileSync(join(directory, `1900000000000-9999-${"0".repeat(12)}.json`), "");
  writeFileSync(join(directory, "zzz.json"), "");
  dropFile(directory, "aaaaaaaaaaaa", "x");
  expect(readdirSync(directory)).toContain("1900000000001-0000-aaaaaaaaaaaa.json");
  expect([dropIdOf("zzz.json"), dropIdOf(".1900000000001-0000-aaaaaaaaaaaa.json")]).toEqual([null, null]);
});

test("a failed write leaves no file", () => {
  expect(() => dropFile(join(directory, "none"), newDropId(), "x")).toThrow();
  expect(() => dropFile(directory, "no/directory", "x")).toThrow();
  expect(readdirSync(directory)).toEqual([]);
});
