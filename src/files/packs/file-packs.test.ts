import { expect, test } from "bun:test";
import { chmodSync, existsSync, lstatSync, mkdirSync, readFileSync, readlinkSync, rmSync, symlinkSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { plainGit } from "../fixtures/plain-git.ts";
import { testProject, writeAll } from "../fixtures/project.ts";
import { runGit } from "../git.ts";
import { shadowRepository } from "../snapshots/shadow.ts";
import { bigFileBytes } from "../snapshots/big-files.ts";
import { createFilePack, filesLeftOut, receiveFilePack } from "./file-packs.ts";

const shadowOf = ({ data, project }: { data: string; project: string }) =>
  shadowRepository({ root: join(data, "files"), git: plainGit }, project);

test("files travel in a full pack and their changes in thin packs of some hundred bytes", async () => {
  using from = testProject();
  using to = testProject();
  const text = Array.from({ length: 3000 }, (_, line) => `line ${line} of a long file\n`).join("");
  writeAll(from, { "a.txt": text, "deep/b.txt": "b\n", "run.sh": "#!/bin/sh\n", ".gitignore": "ignored\n", ignored: "stays\n" });
  chmodSync(join(from.project, "run.sh"), 0o755);
  symlinkSync("deep/b.txt", join(from.project, "link"));
  const odd = Buffer.concat([Buffer.from(`${from.project}/odd-`), Buffer.from([0xff, 0xfe])]);
  writeFileSync(odd, "bytes\n");
  writeFileSync(join(from.project, "big.bin"), Buffer.alloc(bigFileBytes + 1));
  const sent = await from.take();
  expect(await filesLeftOut(shadowOf(from), sent)).toEqual(["big.bin"]);
  const first = await createFilePack(shadowOf(from), { tree: sent, base: null, message: "files as sent" });
  await receiveFilePack(shadowOf(to), first);
  await to.snapshots.restore(to.project, await to.take(), first.tree);
  expect(readFileSync(join(to.project, "a.txt"), "utf8")).toBe(text);
  expect(readlinkSync(join(to.project, "link"))).toBe("deep/b.txt");
  expect(lstatSync(join(to.project, "run.sh")).mode & 0o111).toBe(0o111);
  expect(readFileSync(Buffer.concat([Buffer.from(`${to.project}/odd-`), Buffer.from([0xff, 0xfe])]), "utf8")).toBe("bytes\n");
  expect(existsSync(join(to.project, "ignored")) || existsSync(join(to.project, "big.bin"))).toBe(false);

  from.write("a.txt", text.replace("line 7 ", "line seven "));
  from.write("new.txt", "new\n");
  rmSync(join(from.project, "deep"), { recursive: true });
  const second = await createFilePack(shadowOf(from), { tree: await from.take(), base: first.commit, message: "after call 1" });
  expect(second.bytes.length).toBeLessThan(2_000);
  await receiveFilePack(shadowOf(to), second);
  await to.snapshots.restore(to.project, await to.take(), second.tree);
  expect(readFileSync(join(to.project, "a.txt"), "utf8")).toContain("line seven ");
  expect(existsSync(join(to.project, "deep"))).toBe(false);
  expect(readFileSync(join(to.project, "new.txt"), "utf8")).toBe("new\n");
}, 60_000);

test("a thin pack is refused where its base is missing", async () => {
  using from = testProject();
  using to = testProject();
  from.write("a.txt", "one\n");
  const first = await createFilePack(shadowOf(from), { tree: await from.take(), base: null, message: "1" });
  from.write("b.txt", "two\n");
  const second = await createFilePack(shadowOf(from), { tree: await from.take(), base: first.commit, message: "2" });
  await expect(receiveFilePack(shadowOf(to), second)).rejects.toThrow("a pack of files was refused");
}, 60_000);

test("a pack that is torn, or that ends in another tree than announced, is refused", async () => {
  using from = testProject();
  using to = testProject();
  from.write("a.txt", "one\n");
  const pack = await createFilePack(shadowOf(from), { tree: await from.take(), base: null, message: "1" });
  const torn = { ...pack, bytes: pack.bytes.subarray(0, pack.bytes.length - 30) };
  await expect(receiveFilePack(shadowOf(to), torn)).rejects.toThrow("a pack of files was refused");
  await expect(receiveFilePack(shadowOf(to), { ...pack, tree: "4b825dc642cb6eb9a060e54bf8d69288fbee4904" })).rejects.toThrow(
    "another tree",
  );
  await expect(receiveFilePack(shadowOf(to), { ...pack, commit: "--upload-pack=touch x" })).rejects.toThrow("not the id of an object");
}, 60_000);

test("a pack whose files would land in a .git directory or outside of the project is refused", async () => {
  using from = testProject();
  using to = testProject();
  from.write("config", "[core]\n\tfsmonitor = touch /tmp/owned\n");
  await from.take();
  const shadow = shadowOf(from);
  const blob = (await runGit(shadow, ["hash-object", "-w", join(from.project, "config")])).toString().trim();
  for (const name of [".git", "..", ".GIT"]) {
    const inner = await makeTree(`100644 blob ${blob}\tconfig\n`);
    const tree = await makeTree(`040000 tree ${inner}\t${name}\n`);
    const pack = await createFilePack(shadow, { tree, base: null, message: "evil" });
    await expect(receiveFilePack(shadowOf(to), pack)).rejects.toThrow("a pack of files was refused");
  }
  async function makeTree(lines: string): Promise<string> {
    return (await runGit(shadow, ["mktree"], { stdin: Buffer.from(lines) })).toString().trim();
  }
}, 60_000);

test("a checkpoint of a project in which another process works has the state that was recorded", async () => {
  using from = testProject();
  mkdirSync(join(from.project, "d"));
  from.write("d/a", "1\n");
  const tree = await from.take();
  from.write("d/a", "2\n");
  const pack = await createFilePack(shadowOf(from), { tree, base: null, message: "1" });
  using to = testProject();
  await receiveFilePack(shadowOf(to), pack);
  await to.snapshots.restore(to.project, await to.take(), tree);
  expect(readFileSync(join(to.project, "d", "a"), "utf8")).toBe("1\n");
}, 60_000);
