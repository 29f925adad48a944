import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, mkdtempSync, readFileSync, realpathSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { buildNativeLauncher, sourceHash } from "../../../../tools/native-launcher.ts";
import { installNativeLauncher } from "./native-launcher.ts";
import stored from "./native-launcher.json";

const root = realpathSync(mkdtempSync(join(tmpdir(), "skein-native-")));
afterAll(() => rmSync(root, { recursive: true, force: true }));

const machineTypes = ["x64", "arm64"] as const;

describe("the bytes of the native launcher", () => {
  test("they were built from the present source", () => {
    expect(stored.source).toBe(sourceHash());
  });

  // Another compiler gives other bytes. `.ci/run` installs the recorded one for both machine types.
  for (const machineType of machineTypes) {
    const built = buildNativeLauncher(machineType);
    const isComparable = built?.compiler === stored.compiler;
    test(`${isComparable ? "" : "not compared, because the recorded compiler is not here: "}a build for ${machineType} gives the stored bytes`, () => {
      if (isComparable) expect(built.bytes.toString("base64")).toBe(stored.programs[machineType]);
      else expect(built?.compiler).not.toBe(stored.compiler);
    });
  }

  test.each(machineTypes)("the program for %s is static and has no segment that is writable and executable", (machineType) => {
    const bytes = Buffer.from(stored.programs[machineType], "base64");
    expect(bytes.toString("latin1", 0, 4)).toBe("\x7fELF");
    const [tableOffset, entrySize, count] = [Number(bytes.readBigUInt64LE(32)), bytes.readUInt16LE(54), bytes.readUInt16LE(56)];
    const segments = Array.from({ length: count }, (_, index) => tableOffset + index * entrySize);
    const types = segments.map((offset) => bytes.readUInt32LE(offset));
    const [dynamic, interpreter, writable, executable] = [2, 3, 2, 1];
    expect(types).not.toContain(dynamic);
    expect(types).not.toContain(interpreter);
    for (const offset of segments) expect(bytes.readUInt32LE(offset + 4) & (writable | executable)).not.toBe(writable | executable);
  });
});

describe("installing the native launcher", () => {
  const path = installNativeLauncher(root)!;

  test("the file can be executed by its owner only, and does nothing without a list", () => {
    expect(statSync(path).mode & 0o777).toBe(0o700);
    const { exitCode, stderr } = Bun.spawnSync([path, "/bin/sh", "-c", "echo started"], { env: {} });
    expect([exitCode, stderr.toString()]).toEqual([125, "skein starts this program; it does nothing by itself\n"]);
  });

  test("a changed file is replaced before it is used", () => {
    writeFileSync(path, "#!/bin/sh\necho planted\n");
    expect(installNativeLauncher(root)).toBe(path);
    expect(readFileSync(path).toString("base64")).toBe(stored.programs[process.arch as "x64" | "arm64"]);
  });

  test("a directory that can't be written gives no launcher", () => {
    const file = join(root, "file");
    writeFileSync(file, "");
    chmodSync(file, 0o400);
    expect(installNativeLauncher(join(file, "state"))).toBeNull();
  });
});
