import { expect, onTestFinished, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { AppContext } from "./app-context.ts";
import { createFileFinder } from "./find-files.ts";

test("finds what .gitignore leaves, relative to where one is, in a project with a repository and without one", async () => {
  const project = mkdtempSync(join(tmpdir(), "skein-find-"));
  onTestFinished(() => rmSync(project, { recursive: true, force: true }));
  mkdirSync(join(project, "src/inner"), { recursive: true });
  mkdirSync(join(project, ".skein"));
  for (const file of ["README.md", "src/app.ts", "src/inner/apple é.ts", "built.log"]) writeFileSync(join(project, file), "");
  writeFileSync(join(project, ".gitignore"), "*.log\n");
  const ground = { paths: { home: "/nowhere" }, env: { PATH: process.env["PATH"] } } as unknown as AppContext;
  const query = { directory: join(project, "src"), limit: 10 };

  const plain = await createFileFinder(ground)({ ...query, query: "app" });
  expect(plain).toEqual({ files: ["app.ts", "inner/apple é.ts"], total: 5 });
  Bun.spawnSync(["git", "init", "-q", project]);
  const find = createFileFinder(ground);
  expect(await find({ ...query, query: "log" })).toEqual({ files: [], total: 4 });
  expect((await find({ ...query, query: "readme" })).files).toEqual(["../README.md"]);
  await expect(createFileFinder(ground)({ directory: "/", query: "", limit: 1 })).rejects.toThrow("the whole machine is no project");
});
