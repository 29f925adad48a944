import { afterEach, beforeEach, expect, test } from "bun:test";
import { chmodSync, mkdirSync, mkdtempSync, realpathSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { createProgramSearch, findProgram, findSystemProgram, trustedEnvironment, trustedPath } from "./trusted-programs.ts";

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

test("an absolute path is checked like an entry of PATH, and a relative one is never found", () => {
  expect(findProgram(pathOf("bin", "git"), search()).path).toBe(pathOf("bin", "git"));
  const planted = pathOf("project", ".venv", "bin", "git");
  expect(findProgram(planted, search())).toEqual({
    path: null,
    refused: { path: planted, reason: `it is in ${pathOf("project")}, where tools can write` },
  });
  expect(findProgram("bin/git", search(root))).toEqual({ path: null, refused: null });
});

test("a link in the project between two trusted places is refused, because tools can change it", () => {
  symlinkSync(pathOf("bin", "git"), pathOf("project", "between"));
  symlinkSync(pathOf("project", "between"), pathOf("bin", "begin"));
  expect(findProgram("begin", search(pathOf("bin"))).refused?.reason).toContain("where tools can write");
});

test("a program below a directory that other users can write is refused, unless that directory is sticky", () => {
  plant("shared", "bin", "git");
  chmodSync(pathOf("shared"), 0o777);
  expect(findProgram("git", search(pathOf("shared", "bin"))).refused?.reason).toBe(`other users can write ${pathOf("shared")}`);
  chmodSync(pathOf("shared"), 0o1777);
  expect(findProgram("git", search(pathOf("shared", "bin"))).path).toBe(pathOf("shared", "bin", "git"));
});

test("programs in the home directory are trusted when skein runs there, but not when tools may write it", () => {
  plant("home", "bin", "git");
  const places = { env: { PATH: pathOf("home", "bin"), TMPDIR: pathOf("tmp") }, home: pathOf("home"), directories: [pathOf("home"), root] };
  expect(findProgram("git", createProgramSearch(places)).path).toBe(pathOf("home", "bin", "git"));
  expect(findProgram("git", createProgramSearch({ ...places, writable: [pathOf("home")] })).path).toBeNull();
  expect(findProgram("git", createProgramSearch({ ...places, env: { ...places.env, TMPDIR: root } })).path).toBeNull();
});

test("the environment for programs outside of the sandbox names no place where tools can write", () => {
  const inside = pathOf("project", "lib");
  const env = {
    PATH: "/usr/bin",
    LD_LIBRARY_PATH: `/usr/lib:${inside}`,
    NODE_PATH: inside,
    VIRTUAL_ENV: pathOf("project"),
    LANG: "C",
    A: undefined,
  };
  expect(trustedEnvironment(env, search(inside, "/usr/bin"))).toEqual({ PATH: "/usr/bin", LANG: "C" });
});
