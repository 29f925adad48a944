import { afterAll, describe, expect, test } from "bun:test";
import { chmodSync, linkSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { runEdit } from "./edit.ts";
import { runWrite } from "./write.ts";

const directory = mkdtempSync(join(tmpdir(), "edit-"));
afterAll(() => rmSync(directory, { recursive: true }));

const run = {
  cwd: directory,
  home: directory,
  env: {},
  envTag: "",
  sandbox: null,
  limits: null,
  signal: new AbortController().signal,
  onOutput: () => {},
};
const path = join(directory, "f");
const content = () => readFileSync(path).toString("latin1");

async function edit(before: string, oldText: string, newText: string) {
  writeFileSync(path, Buffer.from(before, "latin1"));
  const outcome = await runEdit({ path: "f", old_text: oldText, new_text: newText }, run);
  if (outcome.isError) expect(content()).toBe(before);
  return outcome;
}

describe("edit", () => {
  const cases: [string, string, string, string, string][] = [
    ["edit replaces one occurrence", "a\nb\nc\n", "b", "X\nY", "a\nX\nY\nc\n"],
    ["edit takes the text literally", "a $& b\n", "$&", "$1$&\\n", "a $1$&\\n b\n"],
    ["edit can delete text", "a\nb\nc\n", "b\n", "", "a\nc\n"],
    ["edit keeps CRLF if the model sends LF", "a\r\nb\r\nc\r\n", "a\nb", "a\nX\nb", "a\r\nX\r\nb\r\nc\r\n"],
    ["edit keeps CRLF when one line becomes two", "a\r\nb\r\n", "b", "b\nc", "a\r\nb\r\nc\r\n"],
    ["edit does not double CRLF from the model", "a\r\nb\r\n", "a\r\nb", "a\r\nX", "a\r\nX\r\n"],
    ["edit replaces a text that starts with a line ending", "a\r\nb\r\nc\r\n", "\nb", "\nX", "a\r\nX\r\nc\r\n"],
    ["edit keeps LF if the model sends CRLF", "a\nb\nc\n", "a\r\nb", "a\r\nX", "a\nX\nc\n"],
    ["edit keeps mixed line endings around the replaced text", "a\r\nb\nc\nd\r\n", "b\nc", "X\nY", "a\r\nX\nY\nd\r\n"],
    ["edit replaces a text with mixed line endings", "p\nq\na\r\nb\nc\r\nd\r\n", "a\nb\nc", "X\nY", "p\nq\nX\nY\r\nd\r\n"],
    ["edit keeps a BOM", "\xef\xbb\xbfa\nb\n", "a\n", "X\n", "\xef\xbb\xbfX\nb\n"],
    ["edit keeps invalid UTF-8", "\xff\xfe\xe9 a\n", "a", "b", "\xff\xfe\xe9 b\n"],
  ];
  for (const [title, before, oldText, newText, after] of cases) {
    test(title, async () => {
      expect(await edit(before, oldText, newText)).toMatchObject({ isError: false });
      expect(content()).toBe(after);
    });
  }

  test("edit returns one line for the model and a diff for the user", async () => {
    const outcome = await edit("a\nb\nc\n", "b", "X");
    expect(outcome).toEqual({
      text: "edited f at line 2",
      isError: false,
      display: `--- ${path}\n+++ ${path}\n@@ -1,3 +1,3 @@\n a\n-b\n+X\n c`,
    });
  });

  const failures: [string, string, string, string, string][] = [
    ["not unique", "a\nb\na\n", "a", "c", "old_text occurs 2 times (lines 1, 3)"],
    ["overlapping", "aaa\n", "aa", "c", "old_text occurs 2 times (lines 1, 1)"],
    ["not unique across line endings", "a\r\nb\r\na\r\nb\r\n", "a\nb", "c", "old_text occurs 2 times (lines 1, 3)"],
    ["absent", "a\nb\n", "zzz", "c", "old_text was not found; read the file again"],
    ["other white space", "if (x) {\n\treturn 1;\n}\n", "if (x) {\n    return 1;\n}", "c", "lines 1-3 differ only in white space"],
    ["other white space inside a line", "let  a = 1; // one\n", "let a = 1;", "c", "line 1 differs only in white space"],
    ["a line that differs", "p\na\nb\nc\n", "a\nb\nX", "c", 'it matches from line 2, but line 4 is "c"'],
    ["a line past the end", "p\na", "a\nb", "c", "it matches from line 2, but line 3 is past the end of the file"],
    ["empty", "a\n", "", "c", "old_text is empty"],
    ["the same", "a\n", "a", "a", "are the same"],
    ["the same but for line endings", "a\r\nb\r\n", "a\nb", "a\r\nb", "the same but for their line endings"],
  ];
  for (const [title, before, oldText, newText, problem] of failures) {
    test(`edit changes nothing if the text is ${title}`, async () => {
      const outcome = await edit(before, oldText, newText);
      expect(outcome.isError).toBe(true);
      expect(outcome.text).toContain(problem);
    });
  }

  test("edit keeps inode, hard links and mode", async () => {
    writeFileSync(path, "a\n");
    chmodSync(path, 0o750);
    linkSync(path, join(directory, "link"));
    const { ino } = statSync(path);
    await runEdit({ path: "f", old_text: "a", new_text: "a much longer text" }, run);
    await runEdit({ path: "f", old_text: "a much longer text", new_text: "b" }, run);
    expect([statSync(path).ino, statSync(path).mode & 0o777]).toEqual([ino, 0o750]);
    expect(readFileSync(join(directory, "link"), "utf8")).toBe("b\n");
  });

  test("parallel edits of one file are all applied", async () => {
    const names = Array.from({ length: 50 }, (_, index) => `<${index}>`);
    writeFileSync(path, names.join("\n"));
    await Promise.all(names.map((name) => runEdit({ path: "f", old_text: name, new_text: `done ${name}` }, run)));
    expect(content()).toBe(names.map((name) => `done ${name}`).join("\n"));
  });

  test("edit explains why a path can't be edited", async () => {
    const at = (target: string) => runEdit({ path: target, old_text: "a", new_text: "b" }, run);
    expect((await at("missing")).text).toBe(`${directory}/missing does not exist`);
    expect((await at(".")).text).toContain("is a directory");
    expect((await at("/dev/null")).text).toContain("not a regular file");
  });
});

describe("write", () => {
  const write = (target: string, text: string) => runWrite({ path: target, content: text }, run);

  test("write creates parent directories and reports lines and bytes", async () => {
    expect(await write("x/y/z.txt", "é\nb")).toEqual({
      text: "wrote x/y/z.txt: 2 lines, 4 bytes",
      isError: false,
      display: `--- /dev/null\n+++ ${directory}/x/y/z.txt\n@@ -0,0 +1,2 @@\n+é\n+b\n\\ No newline at end of file`,
    });
    expect(readFileSync(join(directory, "x/y/z.txt"), "utf8")).toBe("é\nb");
    expect((await write("empty", "")).text).toBe("wrote empty: 0 lines, 0 bytes");
  });

  test("write replaces a file in place and truncates it", async () => {
    writeFileSync(path, "a long old content\n");
    chmodSync(path, 0o640);
    const { ino } = statSync(path);
    expect((await write("f", "b\n")).display).toContain("-a long old content\n+b");
    expect([readFileSync(path, "utf8"), statSync(path).ino, statSync(path).mode & 0o777]).toEqual(["b\n", ino, 0o640]);
  });

  test("write explains why a path can't be written", async () => {
    expect((await write(".", "x")).text).toContain("is a directory");
    expect((await write("/dev/null", "x")).text).toContain("not a regular file");
    expect((await write("f/below", "x")).text).toContain("not a directory");
    expect((await write("/proc/nothing/here", "x")).isError).toBe(true);
    expect((await write("n".repeat(300), "x")).text).toContain("too long");
  });

  test("a full disk leaves no partial file and no changed file", async () => {
    const script = `const { writeInPlace } = await import(${JSON.stringify(join(import.meta.dir, "write-in-place.ts"))});
      const fs = await import("node:fs");
      const tries = [[${JSON.stringify(join(directory, "kept"))}, Buffer.from("old content\\n")], [${JSON.stringify(join(directory, "fresh"))}, null]];
      for (const [path, before] of tries) {
        if (before) fs.writeFileSync(path, before);
        try { writeInPlace(path, Buffer.alloc(200_000, 120), before); console.log("no error"); } catch (error) { console.log(error.code); }
      }`;
    const limited = Bun.spawnSync(["bash", "-c", 'ulimit -f 16; trap "" XFSZ; exec "$0" -e "$1"', process.execPath, script]);
    expect(limited.stdout.toString()).toBe("EFBIG\nEFBIG\n");
    expect(readFileSync(join(directory, "kept"), "utf8")).toBe("old content\n");
    expect(await Bun.file(join(directory, "fresh")).exists()).toBe(false);
  });
});
