import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findDirectory, firstDirectory } from "./find-directory.ts";

test("the flag goes before the client's root, and that before the working directory", async () => {
  const sources = { flag: "/flag", workingDirectory: "/here", root: async () => "/root" };
  expect(await findDirectory(sources)).toBe("/flag");
  expect(await findDirectory({ ...sources, flag: null })).toBe("/root");
  expect(await findDirectory({ ...sources, flag: null, root: async () => null })).toBe("/here");
});

test("no project is an error that says what to do", async () => {
  const none = { flag: null, workingDirectory: null, root: async () => null };
  for (const sources of [none, { ...none, workingDirectory: "/" }])
    await expect(findDirectory(sources)).rejects.toMatchObject({ code: "usage", hint: expect.stringContaining("--project") });
});

test("of the roots only directories of this machine count, and never all of it", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein roots-"));
  const there = pathToFileURL(folder).href;
  expect(firstDirectory(["https://example.com", "file:///", "file://elsewhere/x", "file:///nowhere/at/all", there])).toBe(folder);
  expect(firstDirectory(["file://%zz", "nonsense"])).toBeNull();
  expect(firstDirectory([])).toBeNull();
  rmSync(folder, { recursive: true });
});
