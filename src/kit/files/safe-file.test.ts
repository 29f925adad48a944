import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readFileSync,
  realpathSync,
  rmSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { makeDirectorySafely, openSafely, readSafely, UnsafePathError } from "./safe-file.ts";

let root = "";
const pathOf = (...names: string[]) => join(root, ...names);
const limit = { maxBytes: 1_000 };

beforeEach(() => {
  root = realpathSync(mkdtempSync(join(tmpdir(), "skein-safe-")));
  mkdirSync(pathOf("project"));
  mkdirSync(pathOf("home"));
  writeFileSync(pathOf("home", "secret"), "secret");
});
afterEach(() => rmSync(root, { recursive: true, force: true }));

test("a regular file is read, and a missing one is null", () => {
  writeFileSync(pathOf("project", "file"), "text");
  expect(readSafely(pathOf("project", "file"), limit)?.toString()).toBe("text");
  expect(readSafely(pathOf("project", "none"), limit)).toBeNull();
  expect(readSafely(pathOf("none", "none"), limit)).toBeNull();
});

test("a link is refused as file and as directory of the path", () => {
  symlinkSync(pathOf("home", "secret"), pathOf("project", "link"));
  symlinkSync(pathOf("home"), pathOf("project", "directory"));
  expect(() => readSafely(pathOf("project", "link"), limit)).toThrow(UnsafePathError);
  expect(() => readSafely(pathOf("project", "directory", "secret"), limit)).toThrow("a directory of its path is a link");
});

test("a file with a second name is refused", () => {
  linkSync(pathOf("home", "secret"), pathOf("project", "hard"));
  expect(() => readSafely(pathOf("project", "hard"), limit)).toThrow("hard link");
});

test("a pipe is refused at once, for reading and for writing", () => {
  Bun.spawnSync(["mkfifo", pathOf("project", "pipe")]);
  expect(() => readSafely(pathOf("project", "pipe"), limit)).toThrow("not a regular file");
  expect(() => openSafely(pathOf("project", "pipe"), constants.O_WRONLY | constants.O_APPEND)).toThrow("not a regular file");
});

test("a file of another user is refused", () => {
  writeFileSync(pathOf("project", "file"), "text");
  expect(() => readSafely(pathOf("project", "file"), { ...limit, owners: [4_000_000] })).toThrow("another user");
});

test("a file above the limit is refused, or cut if that is allowed", () => {
  writeFileSync(pathOf("project", "file"), "0123456789");
  expect(() => readSafely(pathOf("project", "file"), { maxBytes: 4 })).toThrow("10 bytes");
  expect(readSafely(pathOf("project", "file"), { maxBytes: 4, isCut: true })?.toString()).toBe("0123");
});

test("a file is created once and appended to through its descriptor", () => {
  const path = pathOf("project", "new");
  const file = openSafely(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY | constants.O_APPEND, { mode: 0o600 });
  writeSync(file, "a line");
  closeSync(file);
  expect(readFileSync(path, "utf8")).toBe("a line");
  expect(() => openSafely(path, constants.O_CREAT | constants.O_EXCL | constants.O_WRONLY)).toThrow("EEXIST");
});

test("missing directories are created, but not through a link", () => {
  makeDirectorySafely(pathOf("project", "a", "b"));
  expect(existsSync(pathOf("project", "a", "b"))).toBe(true);
  symlinkSync(pathOf("home"), pathOf("project", "a", "link"));
  expect(() => makeDirectorySafely(pathOf("project", "a", "link", "c"))).toThrow(UnsafePathError);
  expect(existsSync(pathOf("home", "c"))).toBe(false);
});

test("a path with dots is refused", () => {
  expect(() => readSafely(`${root}/project/../home/secret`, limit)).toThrow("is not an absolute path");
  expect(() => readSafely("project/file", limit)).toThrow("is not an absolute path");
});
