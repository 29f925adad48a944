import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findDirectory, firstDirectory } from "./find-directory.ts";

test("--project comes before the client's root, and the root before the working directory", async () => {
  const sources = { flag: "/flag", workingDirectory: "/here", root: async () => "/root" };
  expect(await findDirectory(sources)).toBe("/flag");
  expect(await findDirectory({ ...sources, flag: null })).toBe("/root");
  expect(await findDirectory({ ...sources, flag: null, root: async () => null })).toBe("/here");
});

test("a missing project is an error with a hint", async () => {
  const noSources = { flag: null, workingDirectory: null, root: async () => null };
  for (const sources of [noSources, { ...noSources, workingDirectory: "/" }])
    await expect(findDirectory(sources)).rejects.toMatchObject({ code: "usage", hint: expect.stringContaining("--project") });
});

test("only roots that are directories of this machine count, and never /", () => {
  const folder = mkdtempSync(join(tmpdir(), "skein roots-"));
  const uri = pathToFileURL(folder).href;
  expect(firstDirectory(["https://example.com", "file:///", "file://elsewhere/x", "file:///nowhere/at/all", uri])).toBe(folder);
  expect(firstDirectory(["file://%zz", "nonsense"])).toBeNull();
  expect(firstDirectory([])).toBeNull();
  rmSync(folder, { recursive: true });
});
