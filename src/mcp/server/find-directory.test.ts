import { expect, test } from "bun:test";
import { mkdtempSync, rmSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { pathToFileURL } from "node:url";
import { findDirectory } from "./find-directory.ts";

const rootsOf = (...uris: string[]) => ({ flag: null, workingDirectory: null, roots: async () => uris.map((uri) => ({ uri })) });

test("--project takes precedence over the client's root, and the root over the working directory", async () => {
  const sources = { ...rootsOf(pathToFileURL(tmpdir()).href), flag: "/flag", workingDirectory: "/here" };
  expect(await findDirectory(sources)).toBe("/flag");
  expect(await findDirectory({ ...sources, flag: null })).toBe(tmpdir());
  expect(await findDirectory({ ...rootsOf(), workingDirectory: "/here" })).toBe("/here");
});

test("a missing project is an error with a hint", async () => {
  for (const sources of [rootsOf(), { ...rootsOf(), workingDirectory: "/" }, rootsOf("file://%zz", "nonsense")])
    await expect(findDirectory(sources)).rejects.toMatchObject({ code: "usage", hint: expect.stringContaining("--project") });
});

test("only roots that are directories of this machine count, and never /", async () => {
  const folder = mkdtempSync(join(tmpdir(), "skein roots-"));
  const uri = pathToFileURL(folder).href;
  const sources = rootsOf("https://example.com", "file:///", "file://elsewhere/x", "file:///nowhere/at/all", uri);
  expect(await findDirectory(sources)).toBe(folder);
  rmSync(folder, { recursive: true });
});
