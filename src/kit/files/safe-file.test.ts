import { afterEach, beforeEach, expect, test } from "bun:test";
import {
  closeSync,
  constants,
  existsSync,
  linkSync,
  mkdirSync,
  mkdtempSync,
  readdirSync,
  readFileSync,
  realpathSync,
  rmSync,
  statSync,
  symlinkSync,
  writeFileSync,
  writeSync,
} from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { FileReader } from "./file-reader.ts";
import {
  createSafely,
  makeDirectorySafely,
  openSafely,
  readBelow,
  readRegularFile,
  readSafely,
  replaceSafely,
  replaceTextSafely,
  UnsafePathError,
  writeAll,
} from "./safe-file.ts";

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

test("a file below a root is read through links that stay inside, and through no others", () => {
  writeFileSync(pathOf("project", "file"), "text");
  symlinkSync("file", pathOf("project", "inside"));
  symlinkSync(pathOf("home", "secret"), pathOf("project", "outside"));
  linkSync(pathOf("project", "file"), pathOf("project", "second"));
  expect(["file", "inside", "second"].map((name) => readBelow(pathOf("project"), pathOf("project", name), limit)?.toString())).toEqual([
    "text",
    "text",
    "text",
  ]);
  expect(readBelow(pathOf("project"), pathOf("project", "none"), limit)).toBeNull();
  expect(() => readBelow(pathOf("project"), pathOf("project", "outside"), limit)).toThrow("it leads out of");
});

test("a file that the user named may be a link, but neither a pipe nor a directory", () => {
  symlinkSync(pathOf("home", "secret"), pathOf("project", "link"));
  expect(readRegularFile(pathOf("project", "link"), limit)?.toString()).toBe("secret");
  expect(Bun.spawnSync(["mkfifo", pathOf("project", "pipe")]).exitCode).toBe(0);
  expect(() => readRegularFile(pathOf("project", "pipe"), limit)).toThrow("not a regular file");
  expect(() => readRegularFile(pathOf("project"), limit)).toThrow("it is a directory");
});

test("a new file never replaces or follows anything", () => {
  symlinkSync(pathOf("home", "new"), pathOf("project", "link"));
  expect([createSafely(pathOf("project", "file"), "one"), createSafely(pathOf("project", "file"), "two")]).toEqual([true, false]);
  expect(createSafely(pathOf("project", "link"), "one")).toBe(false);
  expect(readFileSync(pathOf("project", "file"), "utf8")).toBe("one");
  expect(existsSync(pathOf("home", "new"))).toBe(false);
});

test("a file is replaced completely with its mode, and a failure or a link changes nothing", async () => {
  writeFileSync(pathOf("project", "file"), "old", { mode: 0o640 });
  replaceTextSafely(pathOf("project", "file"), "new");
  expect([readFileSync(pathOf("project", "file"), "utf8"), statSync(pathOf("project", "file")).mode & 0o777]).toEqual(["new", 0o640]);
  const failing = replaceSafely(pathOf("project", "file"), (file) => {
    writeAll(file, "half");
    throw new Error("full");
  });
  await expect(failing).rejects.toThrow("full");
  symlinkSync(pathOf("home", "secret"), pathOf("project", "link"));
  symlinkSync(pathOf("home"), pathOf("project", "directory"));
  expect(() => replaceTextSafely(pathOf("project", "link"), "x")).toThrow("not a regular file");
  expect(() => replaceTextSafely(pathOf("project", "directory", "secret"), "x")).toThrow("is a link");
  expect(readdirSync(pathOf("project")).toSorted()).toEqual(["directory", "file", "link"]);
  expect([readFileSync(pathOf("project", "file"), "utf8"), readFileSync(pathOf("home", "secret"), "utf8")]).toEqual(["new", "secret"]);
});

test("a reader returns the same bytes of a file, and refuses new files once it is sealed", () => {
  const reader = new FileReader(pathOf("project"));
  writeFileSync(pathOf("project", "file"), "one");
  const read = () => reader.read(pathOf("project", "file"), 10)?.toString();
  expect(read()).toBe("one");
  writeFileSync(pathOf("project", "file"), "two");
  expect(read()).toBe("one");
  reader.seal();
  reader.put(pathOf("project", "file"), "three");
  expect([read(), reader.paths]).toEqual(["three", [pathOf("project", "file")]]);
  expect(() => reader.read(pathOf("project", "other"), 10)).toThrow("appeared meanwhile");
});
