import { Glob } from "bun";
import { expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  readlinkSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { testProject, type TestProject } from "../fixtures/project.ts";

async function restore(temp: TestProject, target: string): Promise<{ undo: string; kept: string[] }> {
  const undo = await temp.take();
  const { to, kept } = await temp.snapshots.planRestore(temp.project, undo, target);
  await temp.snapshots.restore(temp.project, undo, to);
  return { undo, kept };
}

test("restored files equal the snapshot byte for byte, and a restore can be undone", async () => {
  using temp = testProject();
  temp.write("changes", "1\r\n2");
  temp.write("goes/deep", new Uint8Array([0, 255, 13, 10]));
  temp.write("line\nbreak", "x");
  temp.write("tool", "#!/bin/sh\n");
  chmodSync(join(temp.project, "tool"), 0o755);
  symlinkSync("changes", join(temp.project, "link"));
  const first = await temp.take();
  temp.write("changes", "other");
  rmSync(join(temp.project, "goes"), { recursive: true });
  rmSync(join(temp.project, "line\nbreak"));
  rmSync(join(temp.project, "link"));
  temp.write("link", "no link");
  temp.write("comes/deep", "1");
  chmodSync(join(temp.project, "tool"), 0o644);
  const second = await temp.take();

  const { undo, kept } = await restore(temp, first);
  expect({ undo, kept }).toEqual({ undo: second, kept: [] });
  expect(readFileSync(join(temp.project, "changes"), "utf8")).toBe("1\r\n2");
  expect([...readFileSync(join(temp.project, "goes/deep"))]).toEqual([0, 255, 13, 10]);
  expect(readlinkSync(join(temp.project, "link"))).toBe("changes");
  expect(lstatSync(join(temp.project, "tool")).mode & 0o111).toBe(0o111);
  expect(existsSync(join(temp.project, "comes"))).toBe(false);
  expect(await temp.take()).toBe(first);

  await restore(temp, undo);
  expect(await temp.take()).toBe(second);
  expect(readFileSync(join(temp.project, "comes/deep"), "utf8")).toBe("1");
});

test("a restore leaves ignored files, big files, empty directories and other repositories as they are", async () => {
  using temp = testProject();
  temp.write("a", "1");
  temp.write("later-ignored", "recorded");
  temp.write("big", Buffer.alloc((5 << 20) + 1, "1"));
  const first = await temp.take();
  temp.write(".gitignore", ".env\nlater-ignored\nout/\n");
  temp.write(".env", "secret");
  temp.write("later-ignored", "not recorded");
  temp.write("out/x", "built");
  temp.write("a", "2");
  temp.write("big", Buffer.alloc((5 << 20) + 1, "2"));
  mkdirSync(join(temp.project, "empty"));
  mkdirSync(join(temp.project, "module"));
  expect(Bun.spawnSync(["git", "init", "-q"], { cwd: join(temp.project, "module") }).exitCode).toBe(0);
  temp.write("module/file", "1");

  const { kept } = await restore(temp, first);
  expect(kept).toEqual(["big", "later-ignored"]);
  expect(existsSync(join(temp.project, ".gitignore"))).toBe(false);
  const read = (name: string) => readFileSync(join(temp.project, name), "latin1").slice(0, 12);
  expect([".env", "later-ignored", "out/x", "a", "module/file"].map(read)).toEqual(["secret", "not recorded", "built", "1", "1"]);
  expect(read("big")).toBe("222222222222");
  expect(readdirSync(join(temp.project, "empty"))).toEqual([]);
});

test("a file replaces a directory of stored files, but not one with other files", async () => {
  using temp = testProject();
  temp.write(".gitignore", "*.log\n");
  temp.write("one", "1");
  temp.write("two", "2");
  const first = await temp.take();
  for (const name of ["one", "two"]) {
    rmSync(join(temp.project, name));
    temp.write(`${name}/inside`, "x");
  }
  temp.write("two/x.log", "ignored");
  const { kept } = await restore(temp, first);
  expect(kept).toEqual(["two"]);
  expect(readFileSync(join(temp.project, "one"), "utf8")).toBe("1");
  expect(readFileSync(join(temp.project, "two/x.log"), "utf8")).toBe("ignored");
});

test("a restore writes nothing through a link that leads out of the project", async () => {
  using temp = testProject();
  temp.write(".gitignore", "/hidden\n");
  temp.write("dir/file", "inside");
  const first = await temp.take();
  const outside = join(temp.root, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "file"), "outside");
  rmSync(join(temp.project, "dir"), { recursive: true });
  symlinkSync(outside, join(temp.project, "dir"));
  await restore(temp, first);
  expect(readFileSync(join(outside, "file"), "utf8")).toBe("outside");
  expect(readFileSync(join(temp.project, "dir/file"), "utf8")).toBe("inside");

  rmSync(join(temp.project, "dir"), { recursive: true });
  temp.write(".gitignore", "/hidden\n/dir\n");
  symlinkSync(outside, join(temp.project, "dir"));
  expect((await restore(temp, first)).kept).toEqual(["dir/file"]);
  expect(readFileSync(join(outside, "file"), "utf8")).toBe("outside");
});

test("a file that changed since the snapshot is not overwritten", async () => {
  using temp = testProject();
  temp.write("a", "1");
  const first = await temp.take();
  temp.write("a", "22");
  const second = await temp.take();
  temp.write("a", "333");
  await expect(temp.snapshots.restore(temp.project, second, first)).rejects.toThrow("could not be restored");
  expect(readFileSync(join(temp.project, "a"), "utf8")).toBe("333");
});

test("a file that is as old as git's index is restored, but not if its content changed since", async () => {
  using temp = testProject();
  const file = join(temp.project, "a");
  temp.write("a", "1");
  const first = await temp.take();
  temp.write("a", "2");
  const second = await temp.take();
  const [index] = [...new Glob("**/index").scanSync({ cwd: temp.data, absolute: true })];
  const { mtime } = lstatSync(file);
  utimesSync(index!, mtime, mtime);
  writeFileSync(file, "3");
  utimesSync(file, mtime, mtime);
  await expect(temp.snapshots.restore(temp.project, second, first)).rejects.toThrow("could not be restored");
  expect(readFileSync(file, "utf8")).toBe("3");
  writeFileSync(file, "2");
  utimesSync(file, mtime, mtime);
  await temp.snapshots.restore(temp.project, second, first);
  expect(readFileSync(file, "utf8")).toBe("1");
});
