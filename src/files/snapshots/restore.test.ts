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
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { testProject, type TestProject } from "../fixtures/project.ts";

async function restore(at: TestProject, wanted: string): Promise<{ undo: string; kept: string[] }> {
  const undo = await at.take();
  const { to, kept } = await at.snapshots.planRestore(at.project, undo, wanted);
  await at.snapshots.restore(at.project, undo, to);
  return { undo, kept };
}

test("restored files equal the snapshot byte for byte, and a restore can be undone", async () => {
  using at = testProject();
  at.write("changes", "1\r\n2");
  at.write("goes/deep", new Uint8Array([0, 255, 13, 10]));
  at.write("line\nbreak", "x");
  at.write("tool", "#!/bin/sh\n");
  chmodSync(join(at.project, "tool"), 0o755);
  symlinkSync("changes", join(at.project, "link"));
  const first = await at.take();
  at.write("changes", "other");
  rmSync(join(at.project, "goes"), { recursive: true });
  rmSync(join(at.project, "line\nbreak"));
  rmSync(join(at.project, "link"));
  at.write("link", "no link");
  at.write("comes/deep", "1");
  chmodSync(join(at.project, "tool"), 0o644);
  const second = await at.take();

  const { undo, kept } = await restore(at, first);
  expect({ undo, kept }).toEqual({ undo: second, kept: [] });
  expect(readFileSync(join(at.project, "changes"), "utf8")).toBe("1\r\n2");
  expect([...readFileSync(join(at.project, "goes/deep"))]).toEqual([0, 255, 13, 10]);
  expect(readlinkSync(join(at.project, "link"))).toBe("changes");
  expect(lstatSync(join(at.project, "tool")).mode & 0o111).toBe(0o111);
  expect(existsSync(join(at.project, "comes"))).toBe(false);
  expect(await at.take()).toBe(first);

  await restore(at, undo);
  expect(await at.take()).toBe(second);
  expect(readFileSync(join(at.project, "comes/deep"), "utf8")).toBe("1");
});

test("a restore leaves ignored files, big files, empty directories and other repositories as they are", async () => {
  using at = testProject();
  at.write("a", "1");
  at.write("later-ignored", "recorded");
  at.write("big", Buffer.alloc((5 << 20) + 1, "1"));
  const first = await at.take();
  at.write(".gitignore", ".env\nlater-ignored\nout/\n");
  at.write(".env", "secret");
  at.write("later-ignored", "not recorded");
  at.write("out/x", "built");
  at.write("a", "2");
  at.write("big", Buffer.alloc((5 << 20) + 1, "2"));
  mkdirSync(join(at.project, "empty"));
  mkdirSync(join(at.project, "module"));
  expect(Bun.spawnSync(["git", "init", "-q"], { cwd: join(at.project, "module") }).exitCode).toBe(0);
  at.write("module/file", "1");

  const { kept } = await restore(at, first);
  expect(kept).toEqual(["big", "later-ignored"]);
  expect(existsSync(join(at.project, ".gitignore"))).toBe(false);
  const read = (name: string) => readFileSync(join(at.project, name), "latin1").slice(0, 12);
  expect([".env", "later-ignored", "out/x", "a", "module/file"].map(read)).toEqual(["secret", "not recorded", "built", "1", "1"]);
  expect(read("big")).toBe("222222222222");
  expect(readdirSync(join(at.project, "empty"))).toEqual([]);
});

test("a file replaces a directory of stored files, but not one with other files", async () => {
  using at = testProject();
  at.write(".gitignore", "*.log\n");
  at.write("one", "1");
  at.write("two", "2");
  const first = await at.take();
  for (const name of ["one", "two"]) {
    rmSync(join(at.project, name));
    at.write(`${name}/inside`, "x");
  }
  at.write("two/x.log", "ignored");
  const { kept } = await restore(at, first);
  expect(kept).toEqual(["two"]);
  expect(readFileSync(join(at.project, "one"), "utf8")).toBe("1");
  expect(readFileSync(join(at.project, "two/x.log"), "utf8")).toBe("ignored");
});

test("a restore writes nothing through a link that leads out of the project", async () => {
  using at = testProject();
  at.write(".gitignore", "/hidden\n");
  at.write("dir/file", "inside");
  const first = await at.take();
  const outside = join(at.root, "outside");
  mkdirSync(outside);
  writeFileSync(join(outside, "file"), "outside");
  rmSync(join(at.project, "dir"), { recursive: true });
  symlinkSync(outside, join(at.project, "dir"));
  await restore(at, first);
  expect(readFileSync(join(outside, "file"), "utf8")).toBe("outside");
  expect(readFileSync(join(at.project, "dir/file"), "utf8")).toBe("inside");

  rmSync(join(at.project, "dir"), { recursive: true });
  at.write(".gitignore", "/hidden\n/dir\n");
  symlinkSync(outside, join(at.project, "dir"));
  expect((await restore(at, first)).kept).toEqual(["dir/file"]);
  expect(readFileSync(join(outside, "file"), "utf8")).toBe("outside");
});

test("a file that changed since the snapshot is not overwritten", async () => {
  using at = testProject();
  at.write("a", "1");
  const first = await at.take();
  at.write("a", "22");
  const second = await at.take();
  at.write("a", "333");
  expect(at.snapshots.restore(at.project, second, first)).rejects.toThrow("could not be restored");
  expect(readFileSync(join(at.project, "a"), "utf8")).toBe("333");
});
