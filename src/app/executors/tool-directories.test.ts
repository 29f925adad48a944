import { afterEach, beforeEach, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { addToolDirectories, toolDirectories } from "./tool-directories.ts";

let root = "";
const pathOf = (...names: string[]) => join(root, ...names);
beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skein-places-")));
  for (const name of ["one", "two\nlines 100%"]) mkdirSync(pathOf(name));
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("each real directory is recorded once, whatever its name", () => {
  symlinkSync(pathOf("one"), pathOf("linked"));
  expect(toolDirectories(pathOf("state"))).toEqual([]);
  addToolDirectories(pathOf("state"), [pathOf("linked"), pathOf("missing")]);
  addToolDirectories(pathOf("state"), [pathOf("one"), pathOf("two\nlines 100%")]);
  expect(toolDirectories(pathOf("state"))).toEqual([pathOf("one"), pathOf("two\nlines 100%")]);
});

test("a long record is reduced to the directories that still exist", () => {
  const file = pathOf("state", "tool-places");
  mkdirSync(pathOf("state"));
  writeFileSync(file, Array.from({ length: 500 }, (_, index) => `${root}/gone-${index}\0`).join(""));
  addToolDirectories(pathOf("state"), [pathOf("one")]);
  expect(readFileSync(file, "utf8")).toBe(`${pathOf("one")}\0`);
  appendFileSync(file, "/half/a/pa");
  expect(toolDirectories(pathOf("state"))).toEqual([pathOf("one")]);
});
