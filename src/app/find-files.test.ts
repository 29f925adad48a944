import { expect, onTestFinished, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppContext } from "./app-context.ts";
import { plainGit } from "../files/fixtures/plain-git.ts";
import { createFileFinder } from "./find-files.ts";

test("the file finder respects .gitignore and returns paths relative to the directory, with and without a repository", async () => {
  const project = mkdtempSync(join(tmpdir(), "skein-find-"));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  mkdirSync(join(project, "src/inner"), { recursive: true });
  mkdirSync(join(project, ".skein"));
  for (const file of ["README.md", "src/app.ts", "src/inner/apple é.ts", "built.log"]) writeFileSync(join(project, file), "");
  writeFileSync(join(project, ".gitignore"), "*.log\n");
  const ctx = { paths: { home: "/nowhere" }, env: { PATH: process.env["PATH"] } } as unknown as AppContext;
  const query = { directory: join(project, "src"), limit: 10 };

  const plain = await createFileFinder(ctx, plainGit)({ ...query, query: "app" });
  expect(plain).toEqual({ files: ["app.ts", "inner/apple é.ts"], total: 5 });
  Bun.spawnSync(["git", "init", "-q", project]);
  const find = createFileFinder(ctx, plainGit);
  expect(await find({ ...query, query: "log" })).toEqual({ files: [], total: 4 });
  expect((await find({ ...query, query: "readme" })).files).toEqual(["../README.md"]);
  await expect(createFileFinder(ctx, plainGit)({ directory: "/", query: "", limit: 1 })).rejects.toThrow("/ is not a project");
});
