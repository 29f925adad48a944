import { afterAll, expect, test } from "bun:test";
import { mkdtempSync, readdirSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findPaths } from "./paths.ts";
import { readProjectState, writeProjectState } from "./project-state.ts";

const root = mkdtempSync(join(tmpdir(), "skein-state-"));
afterAll(() => rmSync(root, { recursive: true, force: true }));

test("the stored state of a project is read back for that project only", () => {
  const paths = findPaths({ SKEIN_HOME: join(root, "a"), HOME: root }, root);
  expect(readProjectState(paths, "/p")).toEqual({ current: null, planning: null });
  writeProjectState(paths, "/p", { current: "s1" });
  expect(readProjectState(paths, "/p")).toEqual({ current: "s1", planning: null });
  writeProjectState(paths, "/p", { planning: "s2" });
  expect(readProjectState(paths, "/p")).toEqual({ current: "s1", planning: "s2" });
  expect(readProjectState(paths, "/q")).toEqual({ current: null, planning: null });
});

test("an invalid state file counts as empty, and a directory that can't be written is no failure", () => {
  const paths = findPaths({ SKEIN_HOME: join(root, "b"), HOME: root }, root);
  writeProjectState(paths, "/p", { current: "s1" });
  const [file] = readdirSync(join(paths.state, "projects"));
  writeFileSync(join(paths.state, "projects", file as string), "{ torn");
  expect(readProjectState(paths, "/p")).toEqual({ current: null, planning: null });
  writeFileSync(join(root, "c"), "a file");
  const blocked = findPaths({ SKEIN_HOME: join(root, "c"), HOME: root }, root);
  writeProjectState(blocked, "/p", { current: "s1" });
  expect(readProjectState(blocked, "/p")).toEqual({ current: null, planning: null });
});
