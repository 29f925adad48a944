import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { findProgram, findSystemProgram, trustedPath } from "./trusted-programs.ts";

let root = "";
const pathOf = (...names: string[]) => join(root, ...names);
const search = (...directories: string[]) => ({ path: directories.join(":"), untrusted: [pathOf("project")] });

function plant(...names: string[]): void {
  mkdirSync(pathOf(...names.slice(0, -1)), { recursive: true });
  writeFileSync(pathOf(...names), "#!/bin/sh\n", { mode: 0o755 });
}

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skein-programs-")));
  plant("project", ".venv", "bin", "git");
  plant("bin", "git");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("a program in the project is passed over for the next one, and named with the reason", () => {
  const match = findProgram("git", search(pathOf("project", ".venv", "bin"), pathOf("bin")));
  expect(match.path).toBe(pathOf("bin", "git"));
  expect(match.refused).toEqual({
    path: pathOf("project", ".venv", "bin", "git"),
    reason: `it is in ${pathOf("project")}, where tools can write`,
  });
});

test("a relative entry of PATH does not count", () => {
  expect(findProgram("git", search("node_modules/.bin", ".", ""))).toEqual({ path: null, refused: null });
});

test("a link from a trusted directory into the project is refused, and so is a link in the project to the outside", () => {
  symlinkSync(pathOf("project", ".venv", "bin", "git"), pathOf("bin", "linked"));
  symlinkSync(pathOf("bin", "git"), pathOf("project", "linked"));
  expect(findProgram("linked", search(pathOf("bin"))).path).toBeNull();
  expect(findProgram("linked", search(pathOf("project"))).path).toBeNull();
});

test("a directory that leads into the project through a link is refused", () => {
  symlinkSync(pathOf("project", ".venv"), pathOf("environment"));
  expect(findProgram("git", search(pathOf("environment", "bin"))).refused?.reason).toContain("where tools can write");
});

test("a directory or a file that other users can write is refused", () => {
  chmodSync(pathOf("bin"), 0o777);
  expect(findProgram("git", search(pathOf("bin"))).refused?.reason).toBe(`other users can write ${pathOf("bin")}`);
  chmodSync(pathOf("bin"), 0o755);
  chmodSync(pathOf("bin", "git"), 0o777);
  expect(findProgram("git", search(pathOf("bin"))).path).toBeNull();
});

test("a program of the system is not replaced by one in PATH", () => {
  plant("bin", "sh");
  expect(findSystemProgram("sh", search(pathOf("bin"))).path).toMatch(/^\/(usr\/)?bin\/sh$/);
  expect(findSystemProgram("git-of-nobody", search(pathOf("bin"))).path).toBeNull();
});

test("the PATH for programs outside of the sandbox has only absolute, trusted directories", () => {
  chmodSync(root, 0o755);
  mkdirSync(pathOf("open"), { mode: 0o777 });
  chmodSync(pathOf("open"), 0o777);
  expect(trustedPath(search("bin", pathOf("project", ".venv", "bin"), pathOf("open"), pathOf("bin"), "/usr/bin"))).toBe(
    `${pathOf("bin")}:/usr/bin`,
  );
});
