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
import { createSnapshots } from "./snapshots.ts";

async function changed(at: TestProject, from: string, to: string): Promise<string[]> {
  return (await at.snapshots.changes(at.project, from, to)).map(({ kind, path }) => `${kind} ${path}`);
}

/** Whether these bytes are anywhere in the shadow, in an object or in a file beside them. */
function isStored(at: TestProject, text: string): boolean {
  const [name] = readdirSync(join(at.data, "files"));
  const dir = join(at.data, "files", name as string);
  const env = { PATH: process.env["PATH"] ?? "", GIT_DIR: dir, HOME: at.root };
  const objects = Bun.spawnSync(["git", "cat-file", "--batch-all-objects", "--batch"], { env }).stdout.toString();
  const files = readdirSync(dir, { recursive: true, withFileTypes: true }).filter((entry) => entry.isFile());
  return objects.includes(text) || files.some((entry) => readFileSync(join(entry.parentPath, entry.name), "latin1").includes(text));
}

describe("stored files", () => {
  test("changes are listed as added, modified or deleted, with their lines", async () => {
    using at = testProject();
    at.write("stays", "1\n");
    at.write("changes", "1\n2\n");
    at.write("goes", "1\n");
    const before = await at.take();
    at.write("changes", "1\n3\n4\n");
    at.write("deep/comes", "a\nb\n");
    rmSync(join(at.project, "goes"));
    const after = await at.take();
    expect(await at.snapshots.changes(at.project, before, after)).toEqual([
      { path: "changes", kind: "modified", added: 2, removed: 1 },
      { path: "deep/comes", kind: "added", added: 2, removed: 0 },
      { path: "goes", kind: "deleted", added: 0, removed: 1 },
    ]);
    expect(await at.snapshots.patch(at.project, before, after)).toContain("-2\n+3\n+4\n");
  });

  test("an unchanged project has the same id, also in another process, and stores nothing more", async () => {
    using at = testProject();
    at.write("a", "1");
    const first = await at.take();
    const stored = readdirSync(join(at.data, "files"), { recursive: true }).length;
    expect(await at.take()).toBe(first);
    const other = createSnapshots({
      root: join(at.data, "files"),
      path: process.env["PATH"] ?? "",
      tooWide: [],
      leaveOut: [],
      warn: () => {},
    });
    expect(await other.take(at.project)).toBe(first);
    expect(readdirSync(join(at.data, "files"), { recursive: true })).toHaveLength(stored);
  });

  test("a change that keeps the file's size within the same moment is detected", async () => {
    using at = testProject();
    at.write("a", "1");
    const first = await at.take();
    at.write("a", "2");
    expect(await changed(at, first, await at.take())).toEqual(["modified a"]);
  });

  test("a change within the second of a snapshot is detected by a snapshot in a later second", async () => {
    using at = testProject();
    const second = 1_700_000_000;
    at.write("a", "1");
    utimesSync(join(at.project, "a"), second, second);
    const first = await at.take();
    const [shadow] = readdirSync(join(at.data, "files"));
    utimesSync(join(at.data, "files", shadow as string, "index"), second, second);
    at.write("a", "2");
    utimesSync(join(at.project, "a"), second, second);
    expect(await changed(at, first, await at.take())).toEqual(["modified a"]);
  });

  test("an empty project and empty directories have a snapshot", async () => {
    using at = testProject();
    const empty = await at.take();
    mkdirSync(join(at.project, "nothing", "inside"), { recursive: true });
    expect(await at.take()).toBe(empty);
    expect(await at.snapshots.find(at.project, empty.slice(0, 8))).toBe(empty);
  });

  test("names with blanks, line breaks, other scripts or invalid encoding, and binary content are stored", async () => {
    using at = testProject();
    const empty = await at.take();
    at.write("with blank", "1\n");
    at.write('line\nbreak\t"quote"', "1\n");
    at.write("日本/ü-💥", "1\n");
    at.write(":colon", "1\n");
    at.write("back\\slash", "1\n");
    at.write("binary", new Uint8Array([0, 1, 2, 255]));
    const odd = Buffer.concat([Buffer.from(`${at.project}/`), Buffer.from([0x66, 0xff, 0x6f])]);
    writeFileSync(odd, "odd\n");
    const full = await at.take();
    const changes = await at.snapshots.changes(at.project, empty, full);
    expect(changes.map(({ path }) => path).sort()).toEqual(
      [":colon", "back\\slash", "binary", "f\ufffdo", 'line\nbreak\t"quote"', "with blank", "日本/ü-💥"].sort(),
    );
    expect(changes.find(({ path }) => path === "binary")).toEqual({ path: "binary", kind: "added", added: 0, removed: 0, binary: true });
    rmSync(odd);
    expect(await changed(at, full, await at.take())).toEqual(["deleted f\ufffdo"]);
  });

  test("a link is stored as a link, and its target is not read", async () => {
    using at = testProject();
    writeFileSync(join(at.root, "outside"), "outside-content");
    const empty = await at.take();
    symlinkSync(join(at.root, "outside"), join(at.project, "link"));
    symlinkSync(at.root, join(at.project, "up"));
    expect(await changed(at, empty, await at.take())).toEqual(["added link", "added up"]);
    expect(isStored(at, "outside-content")).toBe(false);
  });

  test("a file that becomes a directory or a link is stored as such", async () => {
    using at = testProject();
    at.write("a", "1");
    at.write("b/c", "1");
    const before = await at.take();
    rmSync(join(at.project, "a"));
    at.write("a/inside", "2");
    rmSync(join(at.project, "b"), { recursive: true });
    symlinkSync("a", join(at.project, "b"));
    const after = await at.take();
    expect((await changed(at, before, after)).sort()).toEqual(["added a/inside", "added b", "deleted a", "deleted b/c"]);
  });

  test("a big file is stored only as its hash, and its change is detected", async () => {
    using at = testProject();
    const empty = await at.take();
    const bytes = Buffer.alloc((5 << 20) + 1, "big-content ");
    at.write("big", bytes);
    const first = await at.take();
    expect(await at.take()).toBe(first);
    expect(await at.snapshots.changes(at.project, empty, first)).toEqual([{ path: "big", kind: "added", added: 0, removed: 0, big: true }]);
    bytes[7] = 0;
    at.write("big", bytes);
    const second = await at.take();
    expect(await changed(at, first, second)).toEqual(["modified big"]);
    expect(await at.snapshots.patch(at.project, first, second)).toContain("+[a big file, stored only as its hash ");
    at.write("big", "small\n");
    const third = await at.take();
    expect(await changed(at, second, third)).toEqual(["modified big"]);
    expect(isStored(at, "big-content big-content")).toBe(false);
  });

  test("many files at once are stored unchanged", async () => {
    using at = testProject();
    const empty = await at.take();
    for (let n = 0; n < 100; n++) at.write(`d${n % 7}/f${n}`, `content ${n}\r\n`);
    const full = await at.take();
    expect(await at.snapshots.changes(at.project, empty, full)).toHaveLength(100);
    expect(isStored(at, "content 99\r\n")).toBe(true);
  });
});

describe("excluded files", () => {
  test("ignored files are never stored, whichever file excludes them", async () => {
    using at = testProject();
    at.git("init", "-q");
    at.write(".gitignore", ".env\nbuild/\n");
    at.write("sub/.gitignore", "*.key\n");
    at.write(".git/info/exclude", "private\n");
    for (const name of [".env", "build/out", "sub/a.key", "private"]) at.write(name, "secret-content-1");
    at.write("late", "harmless\n");
    const before = await at.take();
    at.write(".gitignore", ".env\nbuild/\nlate\n");
    at.write("late", "secret-content-2");
    const after = await at.take();
    expect(await changed(at, before, after)).toEqual(["modified .gitignore", "deleted late"]);
    expect(isStored(at, "secret-content")).toBe(false);
  });

  test("transcripts, skein's data inside of the project, and other repositories are not stored", async () => {
    using at = testProject();
    const data = join(at.project, "own [data]");
    const inside = createSnapshots({
      root: join(data, "files"),
      path: process.env["PATH"] ?? "",
      tooWide: [],
      leaveOut: [data],
      warn: () => {},
    });
    at.write("kept", "1");
    const before = await inside.take(at.project);
    at.write(".skein/sessions/x.jsonl", "{}");
    at.write("packages/a/.skein/sessions/x.jsonl", "{}");
    at.write("module/file", "1");
    expect(Bun.spawnSync(["git", "init", "-q", "module"], { cwd: at.project }).exitCode).toBe(0);
    expect(await inside.take(at.project)).toBe(before as string);
  });

  test("a directory that is too wide has no snapshot", async () => {
    using at = testProject();
    expect(await at.snapshots.take(at.root)).toBeNull();
    expect(at.warnings).toEqual([]);
  });
});

describe("the user's repository", () => {
  test("a snapshot changes no index, refs, configuration, status or files of the user's repository", async () => {
    using at = testProject();
    at.git("init", "-q");
    at.write("a", "1\n");
    at.write("b", "1\n");
    at.git("add", ".");
    at.git("commit", "-qm", "one");
    at.write("a", "2\n");
    at.git("add", "a");
    at.write("b", "3\n");
    at.write("c", "4\n");
    const status = at.git("status", "--porcelain");
    const see = () =>
      readdirSync(at.project, { recursive: true, withFileTypes: true })
        .filter((entry) => entry.isFile())
        .map((entry) => join(entry.parentPath, entry.name))
        .sort()
        .map((file) => [file, readFileSync(file, "latin1"), lstatSync(file).mtimeMs]);
    const before = see();
    await at.take();
    at.write("c", "4\n");
    const again = see();
    await at.take();
    expect(see()).toEqual(again);
    expect(before.filter(([file]) => !String(file).endsWith("/c"))).toEqual(again.filter(([file]) => !String(file).endsWith("/c")));
    expect(at.git("status", "--porcelain")).toBe(status);
  });

  test("a snapshot runs no filter, hook, monitor or conversion of a hostile project", async () => {
    using at = testProject();
    const mark = join(at.root, "ran");
    const run = `touch ${mark}; cat`;
    at.git("init", "-q");
    for (const [key, value] of [
      ["filter.evil.clean", run],
      ["filter.evil.smudge", run],
      ["filter.evil.process", run],
      ["diff.evil.textconv", run],
      ["diff.evil.command", run],
      ["core.fsmonitor", run],
      ["core.attributesFile", join(at.project, ".gitattributes")],
    ] as const)
      at.git("config", key, value);
    at.write(".gitattributes", "* filter=evil diff=evil text eol=crlf ident working-tree-encoding=UTF-16\n[attr]binary filter=evil\n");
    for (const hook of ["post-index-change", "fsmonitor-watchman", "post-checkout"]) {
      at.write(`.git/hooks/${hook}`, `#!/bin/sh\ntouch ${mark}\n`);
      chmodSync(join(at.project, ".git/hooks", hook), 0o755);
    }
    at.write("a", "one\r\n$Id$\r\n");
    const before = await at.take();
    at.write("a", "two\r\n$Id$\r\n");
    const after = await at.take();
    expect(await at.snapshots.patch(at.project, before, after)).toContain("-one\r\n+two\r\n $Id$\r\n");
    await at.snapshots.restore(at.project, after, before);
    expect(readFileSync(join(at.project, "a"), "utf8")).toBe("one\r\n$Id$\r\n");
    expect(existsSync(mark)).toBe(false);
  });
});

describe("failures", () => {
  test("without git there is no snapshot and one warning", async () => {
    using at = testProject();
    const warnings: string[] = [];
    const none = createSnapshots({
      root: join(at.data, "files"),
      path: "/nonexistent",
      tooWide: [],
      leaveOut: [],
      warn: (text) => warnings.push(text),
    });
    expect([await none.take(at.project), await none.take(at.project)]).toEqual([null, null]);
    expect(warnings).toEqual([`the files of ${at.project} are not recorded: git is not installed`]);
  });

  test("a missing project has no snapshot and one warning", async () => {
    using at = testProject();
    rmSync(at.project, { recursive: true });
    expect(await at.snapshots.take(at.project)).toBeNull();
    expect(at.warnings).toHaveLength(1);
  });

  test("with a data directory that can't be written there is no snapshot and one warning", async () => {
    using at = testProject();
    writeFileSync(at.data, "a file");
    expect(await at.snapshots.take(at.project)).toBeNull();
    expect(at.warnings).toHaveLength(1);
  });

  test("a read-only project has a snapshot", async () => {
    using at = testProject();
    at.write("a", "1");
    chmodSync(at.project, 0o555);
    expect(await at.take()).toHaveLength(40);
    chmodSync(at.project, 0o755);
  });

  test("files of a killed process do not prevent the next snapshot", async () => {
    using at = testProject();
    at.write("a", "1");
    const first = await at.take();
    const dir = join(at.data, "files", readdirSync(join(at.data, "files"))[0] as string);
    writeFileSync(join(dir, "index.lock"), "");
    at.write("a", "2");
    expect(await at.take()).not.toBe(first);
  });

  test("concurrent requests share few snapshots, and each has the files of its time", async () => {
    using at = testProject();
    at.write("a", "1");
    const early = at.snapshots.take(at.project);
    await Promise.resolve();
    await Promise.resolve();
    const many = Array.from({ length: 50 }, () => at.snapshots.take(at.project));
    expect(new Set(many).size).toBe(1);
    await Promise.all([early, ...many]);
  });

  test("several processes at once get the same id", async () => {
    using at = testProject();
    for (let n = 0; n < 50; n++) at.write(`f${n}`, `${n}`);
    const open = () =>
      createSnapshots({
        root: join(at.data, "files"),
        path: process.env["PATH"] ?? "",
        tooWide: [],
        leaveOut: [],
        warn: (text) => at.warnings.push(text),
      });
    const ids = await Promise.all(Array.from({ length: 4 }, () => open().take(at.project)));
    expect({ ids: new Set(ids).size, warnings: at.warnings }).toEqual({ ids: 1, warnings: [] });
  });
});
