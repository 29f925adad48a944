import { describe, expect, test } from "bun:test";
import {
  chmodSync,
  existsSync,
  lstatSync,
  mkdirSync,
  readdirSync,
  readFileSync,
  rmSync,
  symlinkSync,
  utimesSync,
  writeFileSync,
} from "node:fs";
import { join } from "node:path";
import { testProject, type TestProject } from "../fixtures/project.ts";
import { plainGit } from "../fixtures/plain-git.ts";
import { createSnapshots } from "./snapshots.ts";

async function changed(temp: TestProject, from: string, to: string): Promise<string[]> {
  return (await temp.snapshots.changes(temp.project, from, to)).map(({ kind, path }) => `${kind} ${path}`);
}

/** Whether these bytes are anywhere in the shadow, in an object or in a file beside them. */
function isStored(temp: TestProject, text: string): boolean {
  const [name] = readdirSync(join(temp.data, "files"));
  const dir = join(temp.data, "files", name as string);
  const env = { PATH: process.env["PATH"] ?? "", GIT_DIR: dir, HOME: temp.root };
  const objects = Bun.spawnSync(["git", "cat-file", "--batch-all-objects", "--batch"], { env }).stdout.toString();
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return objects.includes(text) || files.some((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1").includes(text));
}

describe("stored files", () => {
  test("changes are listed as added, modified or deleted, with their lines", async () => {
    using temp = testProject();
    temp.write("stays", "1\n");
    temp.write("changes", "1\n2\n");
    temp.write("goes", "1\n");
    const before = await temp.take();
    temp.write("changes", "1\n3\n4\n");
    temp.write("deep/comes", "a\nb\n");
    rmSync(join(temp.project, "goes"));
    const after = await temp.take();
    expect(await temp.snapshots.changes(temp.project, before, after)).toEqual([
      { path: "changes", kind: "modified", added: 2, removed: 1 },
      { path: "deep/comes", kind: "added", added: 2, removed: 0 },
      { path: "goes", kind: "deleted", added: 0, removed: 1 },
    ]);
    expect(await temp.snapshots.patch(temp.project, before, after)).toContain("-2\n+3\n+4\n");
  });

  test("an unchanged project has the same id, also in another process, and stores nothing more", async () => {
    using temp = testProject();
    temp.write("a", "1");
    const first = await temp.take();
    const stored = readdirSync(join(temp.data, "files"), { recursive: true }).length;
    expect(await temp.take()).toBe(first);
    const other = createSnapshots({
      root: join(temp.data, "files"),
      git: plainGit,
      tooBig: [],
      leaveOut: [],
      warn: () => {},
    });
    expect(await other.take(temp.project)).toBe(first);
    expect(readdirSync(join(temp.data, "files"), { recursive: true })).toHaveLength(stored);
  });

  test("a change that keeps the file's size within the same moment is detected", async () => {
    using temp = testProject();
    temp.write("a", "1");
    const first = await temp.take();
    temp.write("a", "2");
    expect(await changed(temp, first, await temp.take())).toEqual(["modified a"]);
  });

  test("a change within the second of a snapshot is detected by a snapshot in a later second", async () => {
    using temp = testProject();
    const second = 1_700_000_000;
    temp.write("a", "1");
    utimesSync(join(temp.project, "a"), second, second);
    const first = await temp.take();
    const [shadow] = readdirSync(join(temp.data, "files"));
    utimesSync(join(temp.data, "files", shadow as string, "index"), second, second);
    temp.write("a", "2");
    utimesSync(join(temp.project, "a"), second, second);
    expect(await changed(temp, first, await temp.take())).toEqual(["modified a"]);
  });

  test("an empty project and empty directories have a snapshot", async () => {
    using temp = testProject();
    const empty = await temp.take();
    mkdirSync(join(temp.project, "nothing", "inside"), { recursive: true });
    expect(await temp.take()).toBe(empty);
    expect(await temp.snapshots.find(temp.project, empty.slice(0, 8))).toBe(empty);
  });

  test("names with blanks, line breaks, other scripts or invalid encoding, and binary content are stored", async () => {
    using temp = testProject();
    const empty = await temp.take();
    temp.write("with blank", "1\n");
    temp.write('line\nbreak\t"quote"', "1\n");
    temp.write("日本/ü-💥", "1\n");
    temp.write(":colon", "1\n");
    temp.write("back\\slash", "1\n");
    temp.write("binary", new Uint8Array([0, 1, 2, 255]));
    const odd = Buffer.concat([Buffer.from(`${temp.project}/`), Buffer.from([0x66, 0xff, 0x6f])]);
    writeFileSync(odd, "odd\n");
    const full = await temp.take();
    const changes = await temp.snapshots.changes(temp.project, empty, full);
    expect(changes.map(({ path }) => path).sort()).toEqual(
      [":colon", "back\\slash", "binary", "f\ufffdo", 'line\nbreak\t"quote"', "with blank", "日本/ü-💥"].sort(),
    );
    expect(changes.find(({ path }) => path === "binary")).toEqual({ path: "binary", kind: "added", added: 0, removed: 0, binary: true });
    rmSync(odd);
    expect(await changed(temp, full, await temp.take())).toEqual(["deleted f\ufffdo"]);
  });

  test("a link is stored as a link, and its target is not read", async () => {
    using temp = testProject();
    writeFileSync(join(temp.root, "outside"), "outside-content");
    const empty = await temp.take();
    symlinkSync(join(temp.root, "outside"), join(temp.project, "link"));
    symlinkSync(temp.root, join(temp.project, "up"));
    expect(await changed(temp, empty, await temp.take())).toEqual(["added link", "added up"]);
    expect(isStored(temp, "outside-content")).toBe(false);
  });

  test("a file that becomes a directory or a link is stored as such", async () => {
    using temp = testProject();
    temp.write("a", "1");
    temp.write("b/c", "1");
    const before = await temp.take();
    rmSync(join(temp.project, "a"));
    temp.write("a/inside", "2");
    rmSync(join(temp.project, "b"), { recursive: true });
    symlinkSync("a", join(temp.project, "b"));
    const after = await temp.take();
    expect((await changed(temp, before, after)).sort()).toEqual(["added a/inside", "added b", "deleted a", "deleted b/c"]);
  });

  test("a big file is stored only as its hash, and its change is detected", async () => {
    using temp = testProject();
    const empty = await temp.take();
    const bytes = Buffer.alloc((5 << 20) + 1, "big-content ");
    temp.write("big", bytes);
    const first = await temp.take();
    expect(await temp.take()).toBe(first);
    expect(await temp.snapshots.changes(temp.project, empty, first)).toEqual([
      { path: "big", kind: "added", added: 0, removed: 0, big: true },
    ]);
    bytes[7] = 0;
    temp.write("big", bytes);
    const second = await temp.take();
    expect(await changed(temp, first, second)).toEqual(["modified big"]);
    expect(await temp.snapshots.patch(temp.project, first, second)).toContain("+[a big file, stored only as its hash ");
    temp.write("big", "small\n");
    const third = await temp.take();
    expect(await changed(temp, second, third)).toEqual(["modified big"]);
    expect(isStored(temp, "big-content big-content")).toBe(false);
  });

  test("many files at once are stored unchanged", async () => {
    using temp = testProject();
    const empty = await temp.take();
    for (let n = 0; n < 100; n++) temp.write(`d${n % 7}/f${n}`, `content ${n}\r\n`);
    const full = await temp.take();
    expect(await temp.snapshots.changes(temp.project, empty, full)).toHaveLength(100);
    expect(isStored(temp, "content 99\r\n")).toBe(true);
  });
});

describe("excluded files", () => {
  test("ignored files are never stored, whichever file excludes them", async () => {
    using temp = testProject();
    temp.git("init", "-q");
    temp.write(".gitignore", ".env\nbuild/\n");
    temp.write("sub/.gitignore", "*.key\n");
    temp.write(".git/info/exclude", "private\n");
    for (const name of [".env", "build/out", "sub/a.key", "private"]) temp.write(name, "secret-content-1");
    temp.write("late", "harmless\n");
    const before = await temp.take();
    temp.write(".gitignore", ".env\nbuild/\nlate\n");
    temp.write("late", "secret-content-2");
    const after = await temp.take();
    expect(await changed(temp, before, after)).toEqual(["modified .gitignore", "deleted late"]);
    expect(isStored(temp, "secret-content")).toBe(false);
  });

  test("transcripts, skein's data inside of the project, and other repositories are not stored", async () => {
    using temp = testProject();
    const data = join(temp.project, "own [data]");
    const inside = createSnapshots({
      root: join(data, "files"),
      git: plainGit,
      tooBig: [],
      leaveOut: [data],
      warn: () => {},
    });
    temp.write("kept", "1");
    const before = await inside.take(temp.project);
    temp.write(".skein/sessions/x.jsonl", "{}");
    temp.write("packages/a/.skein/sessions/x.jsonl", "{}");
    temp.write("module/file", "1");
    expect(Bun.spawnSync(["git", "init", "-q", "module"], { cwd: temp.project }).exitCode).toBe(0);
    expect(await inside.take(temp.project)).toBe(before as string);
  });

  test("a directory that is too wide has no snapshot", async () => {
    using temp = testProject();
    expect(await temp.snapshots.take(temp.root)).toBeNull();
    expect(temp.warnings).toEqual([]);
  });
});

describe("the user's repository", () => {
  test("a snapshot changes no index, refs, configuration, status or files of the user's repository", async () => {
    using temp = testProject();
    temp.git("init", "-q");
    temp.write("a", "1\n");
    temp.write("b", "1\n");
    temp.git("add", ".");
    temp.git("commit", "-qm", "one");
    temp.write("a", "2\n");
    temp.git("add", "a");
    temp.write("b", "3\n");
    temp.write("c", "4\n");
    const status = temp.git("status", "--porcelain");
    const see = () =>
      readdirSync(temp.project, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort()
        .map((file) => [file, readFileSync(file, "latin1"), lstatSync(file).mtimeMs]);
    const before = see();
    await temp.take();
    temp.write("c", "4\n");
    const again = see();
    await temp.take();
    expect(see()).toEqual(again);
    expect(before.filter(([file]) => !String(file).endsWith("/c"))).toEqual(again.filter(([file]) => !String(file).endsWith("/c")));
    expect(temp.git("status", "--porcelain")).toBe(status);
  });

  test("a snapshot runs no filter, hook, monitor or conversion of a hostile project", async () => {
    using temp = testProject();
    const mark = join(temp.root, "ran");
    const run = `touch ${mark}; cat`;
    temp.git("init", "-q");
    for (const [key, value] of [
      ["filter.evil.clean", run],
      ["filter.evil.smudge", run],
      ["filter.evil.process", run],
      ["diff.evil.textconv", run],
      ["diff.evil.command", run],
      ["core.fsmonitor", run],
      ["core.attributesFile", join(temp.project, ".gitattributes")],
    ] as const)
      temp.git("config", key, value);
    temp.write(".gitattributes", "* filter=evil diff=evil text eol=crlf ident working-tree-encoding=UTF-16\n[attr]binary filter=evil\n");
    for (const hook of ["post-index-change", "fsmonitor-watchman", "post-checkout"]) {
      temp.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${mark}\n`);
      chmodSync(join(temp.project, ".git/hooks", hook), 0o755);
    }
    temp.write("a", "one\r\n$Id$\r\n");
    const before = await temp.take();
    temp.write("a", "two\r\n$Id$\r\n");
    const after = await temp.take();
    expect(await temp.snapshots.patch(temp.project, before, after)).toContain("-one\r\n+two\r\n $Id$\r\n");
    await temp.snapshots.restore(temp.project, after, before);
    expect(readFileSync(join(temp.project, "a"), "utf8")).toBe("one\r\n$Id$\r\n");
    expect(existsSync(mark)).toBe(false);
  });
});

describe("failures", () => {
  test("without git there is no snapshot and one warning", async () => {
    using temp = testProject();
    const warnings: string[] = [];
    const none = createSnapshots({
      root: join(temp.data, "files"),
      git: () => Promise.reject(new Error("git is not installed")),
      tooBig: [],
      leaveOut: [],
      warn: (text) => warnings.push(text),
    });
    expect([await none.take(temp.project), await none.take(temp.project)]).toEqual([null, null]);
    expect(warnings).toEqual([`the files of ${temp.project} are not recorded: git is not installed`]);
  });

  test("a missing project has no snapshot and one warning", async () => {
    using temp = testProject();
    rmSync(temp.project, { recursive: true });
    expect(await temp.snapshots.take(temp.project)).toBeNull();
    expect(temp.warnings).toHaveLength(1);
  });

  test("with a data directory that can't be written there is no snapshot and one warning", async () => {
    using temp = testProject();
    writeFileSync(temp.data, "a file");
    expect(await temp.snapshots.take(temp.project)).toBeNull();
    expect(temp.warnings).toHaveLength(1);
  });

  test("a read-only project has a snapshot", async () => {
    using temp = testProject();
    temp.write("a", "1");
    chmodSync(temp.project, 0o555);
    expect(await temp.take()).toHaveLength(40);
    chmodSync(temp.project, 0o755);
  });

  test("files of a killed process do not prevent the next snapshot", async () => {
    using temp = testProject();
    temp.write("a", "1");
    const first = await temp.take();
    const dir = join(temp.data, "files", readdirSync(join(temp.data, "files"))[0] as string);
    writeFileSync(join(dir, "index.lock"), "");
    temp.write("a", "2");
    expect(await temp.take()).not.toBe(first);
  });

  test("concurrent requests share few snapshots, and each has the files of its time", async () => {
    using temp = testProject();
    temp.write("a", "1");
    const early = temp.snapshots.take(temp.project);
    await Promise.resolve();
    await Promise.resolve();
    const many = Array.from({ length: 50 }, () => temp.snapshots.take(temp.project));
    expect(new Set(many).size).toBe(1);
    await Promise.all([early, ...many]);
  });

  test("several processes at once get the same id", async () => {
    using temp = testProject();
    for (let n = 0; n < 50; n++) temp.write(`f${n}`, `${n}`);
    const open = () =>
      createSnapshots({
        root: join(temp.data, "files"),
        git: plainGit,
        tooBig: [],
        leaveOut: [],
        warn: (text) => temp.warnings.push(text),
      });
    const ids = await Promise.all(Array.from({ length: 4 }, () => open().take(temp.project)));
    expect({ ids: new Set(ids).size, warnings: temp.warnings }).toEqual({ ids: 1, warnings: [] });
  });
});
