import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, realpathSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { dirname, join } from "node:path";
import type { DoctorCheck } from "../protocol/api/api.ts";
import { checkConfig } from "./doctor.ts";
import { findPaths } from "./paths.ts";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-doctor-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));
let count = 0;

function check(setup: (home: string, project: string) => void, env: Record<string, string> = {}): Record<string, DoctorCheck> {
  const home = join(root, String((count += 1)));
  const project = join(home, "project");
  mkdirSync(project, { recursive: true });
  setup(home, project);
  const checks = checkConfig({ project, env, paths: findPaths({ HOME: home }, project) });
  return Object.fromEntries(checks.map((item) => [item.name, item]));
}

function write(path: string, text: string): void {
  mkdirSync(dirname(path), { recursive: true });
  writeFileSync(path, text);
}

test("all checks pass for an empty home directory", () => {
  const checks = Object.values(check(() => {}));
  expect(checks.filter((item) => !item.ok)).toEqual([]);
  expect(checks.map((item) => item.name)).toEqual([
    "user config",
    "project config",
    "config variables",
    "config directory",
    "data directory",
    "state directory",
    "cache directory",
    "trust",
  ]);
});

test("each invalid file and variable is a failed check of its own", () => {
  const checks = check(
    (home, project) => {
      write(join(home, ".config/skein/config.jsonc"), '{ "modle": 1 }');
      write(join(project, ".skein/config.jsonc"), "{");
    },
    { SKEIN_NET: "maybe" },
  );
  expect(checks["user config"]).toMatchObject({ ok: false, hint: 'did you mean "model"?' });
  expect(checks["project config"]).toMatchObject({ ok: false, optional: false });
  expect(checks["config variables"]).toMatchObject({ ok: false, detail: "SKEIN_NET must be one of off, on" });
});

test("the check of a directory that can't be created has a hint", () => {
  const checks = check((home) => write(join(home, ".local"), "a file"));
  expect(checks["data directory"]).toMatchObject({ ok: false, hint: "make it writable, or set SKEIN_HOME to a directory that is" });
  expect(checks["config directory"]?.ok).toBe(true);
});

test("the check of an untrusted project fails, but is optional", () => {
  const checks = check((_, project) => write(join(project, ".skein/config.jsonc"), "{}"));
  expect(checks["trust"]).toMatchObject({ ok: false, optional: true, hint: "read its files, then run `skein trust`" });
});
