import { afterAll, expect, test } from "bun:test";
import { mkdirSync, mkdtempSync, rmSync, symlinkSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { byteLength } from "../../kit/text/cut-text.ts";
import { fileProblem } from "./file-problem.ts";
import { runRead } from "./read.ts";

const directory = mkdtempSync(join(tmpdir(), "read-"));
afterAll(() => rmSync(directory, { recursive: true }));

const file = (name: string, content: string | Uint8Array) => writeFileSync(join(directory, name), content);
const read = (input: Record<string, unknown>, cwd = directory) =>
  runRead(input, {
    cwd,
    home: directory,
    env: {},
    envTag: "",
    sandbox: null,
    limits: null,
    signal: new AbortController().signal,
    onOutput: () => {},
  });

test("read numbers lines, and resolves relative paths and ~", async () => {
  file("a.txt", "one\ntwo\n\nfour");
  const expected = { text: "1\tone\n2\ttwo\n3\t\n4\tfour", isError: false };
  for (const path of ["a.txt", "./a.txt", "~/a.txt", join(directory, "a.txt")]) expect(await read({ path })).toEqual(expected);
});

test("offset and limit select lines, and the notice says how to read more", async () => {
  file("n.txt", Array.from({ length: 10 }, (_, index) => `l${index + 1}\n`).join(""));
  expect((await read({ path: "n.txt", offset: 3, limit: 2 })).text).toBe(
    "3\tl3\n4\tl4\n[stopped at line 4; there is more (31 bytes in all): use offset=5]",
  );
  expect((await read({ path: "n.txt", offset: 9, limit: 2 })).text).toBe("9\tl9\n10\tl10");
  expect((await read({ path: "n.txt", offset: -4, limit: 1 })).text).toStartWith("1\tl1\n");
});

test("an offset past the end is an error that names the number of lines", async () => {
  file("two.txt", "a\nb");
  file("three.txt", "a\nb\nc\n");
  expect(await read({ path: "two.txt", offset: 9 })).toEqual({ text: "offset 9 is past the end: the file has 2 lines", isError: true });
  expect((await read({ path: "three.txt", offset: 4 })).text).toBe("offset 4 is past the end: the file has 3 lines");
  expect((await read({ path: "two.txt", offset: 2 })).text).toBe("2\tb");
});

test("an empty file is reported as empty", async () => {
  file("empty", "");
  expect(await read({ path: "empty" })).toEqual({ text: "(empty file)", isError: false });
});

test("read returns 2000 lines by default", async () => {
  file("long.txt", "x\n".repeat(2500));
  const { text } = await read({ path: "long.txt" });
  expect(text.split("\n").length).toBe(2001);
  expect(text).toEndWith("use offset=2001]");
});

test("the byte limit ends at a complete line, and following the notices returns every line once", async () => {
  const lines = Array.from({ length: 3000 }, (_, index) => `${index} ${"漢字".repeat(index % 20)}`);
  file("wide.txt", lines.join("\n"));
  const seen: string[] = [];
  for (let offset: number | null = 1; offset !== null;) {
    const { text } = await read({ path: "wide.txt", offset });
    expect(byteLength(text)).toBeLessThan(32_000);
    const [next] = [...text.matchAll(/use offset=(\d+)\]$/g)];
    seen.push(
      ...text
        .split("\n")
        .filter((line) => !line.startsWith("["))
        .map((line) => line.slice(line.indexOf("\t") + 1)),
    );
    offset = next ? Number(next[1]) : null;
  }
  expect(seen).toEqual(lines);
});

test("a long line is cut between characters, with the number of missing bytes", async () => {
  file("minified.js", `${"👨‍👩‍👧‍👦".repeat(100_000)}\nshort\n`);
  const { text } = await read({ path: "minified.js" });
  const [first, second, notice] = text.split("\n") as [string, string, string];
  expect(first.replaceAll("👨‍👩‍👧‍👦", "")).toMatch(/^1\t \[\.\.\. [\d,]+ bytes of this line not shown \.\.\.\]$/);
  expect(second).toBe("2\tshort");
  expect(notice).toContain("cut at 2,000 characters");
});

test("a line that fills a file of ten gigabytes is not read to its end", async () => {
  const path = join(directory, "huge.log");
  writeFileSync(path, `first\n${"y".repeat(1 << 20)}\nthird\n`);
  truncateSync(path, 10 * 2 ** 30);
  expect((await read({ path, offset: 3, limit: 1 })).text).toBe(
    "3\tthird\n[stopped at line 3; there is more (10,737,418,240 bytes in all): use offset=4]",
  );
  expect((await read({ path, offset: 3 })).text).toContain(
    "[stopped inside line 4, which is longer than 16,777,216 bytes; use bash to read more]",
  );
});

test("read removes CR and BOM, and replaces invalid UTF-8", async () => {
  file("win.txt", "\ufeffa\r\nb\r\n");
  expect((await read({ path: "win.txt" })).text).toBe("1\ta\n2\tb");
  file("latin.txt", new Uint8Array([0x61, 0xe9, 0x62, 0x0a]));
  expect((await read({ path: "latin.txt" })).text).toBe("1\ta\ufffdb");
});

test("images are recognised by content, not by name", async () => {
  const samples: [string, number[]][] = [
    ["image/png", [0x89, 0x50, 0x4e, 0x47, 0x0d, 0x0a, 0x1a, 0x0a, 0, 0]],
    ["image/jpeg", [0xff, 0xd8, 0xff, 0xe0, 0, 0]],
    ["image/gif", [...Buffer.from("GIF89a"), 0, 0]],
    ["image/webp", [...Buffer.from("RIFF"), 1, 0, 0, 0, ...Buffer.from("WEBPVP8 ")]],
  ];
  for (const [mime, bytes] of samples) {
    file("picture.bin", new Uint8Array(bytes));
    expect(await read({ path: "picture.bin" })).toEqual({
      text: `${mime}, ${bytes.length} bytes`,
      isError: false,
      images: [{ mime, base64: Buffer.from(bytes).toString("base64") }],
    });
  }
  truncateSync(join(directory, "picture.bin"), 6 << 20);
  expect((await read({ path: "picture.bin" })).text).toContain("is an image of 6,291,456 bytes; at most 5,242,880");
});

test("read explains why a path can't be read, and what exists there", async () => {
  file("settings.json", "{}");
  expect(await read({ path: "setings.json" })).toEqual({
    text: `${directory}/setings.json does not exist; did you mean ${directory}/settings.json?`,
    isError: true,
  });
  expect((await read({ path: "no/where" })).text).toBe(`${directory}/no/where does not exist`);
  expect((await read({ path: "settings.json/x" })).text).toContain("not a directory");
  mkdirSync(join(directory, "sub"));
  expect((await read({ path: "sub" })).text).toBe(`${directory}/sub is a directory (empty)`);
  file("sub/x.ts", "");
  file("sub/y.ts", "");
  expect((await read({ path: "sub" })).text).toBe(`${directory}/sub is a directory: x.ts, y.ts`);
  file("program", new Uint8Array([0x7f, 0x45, 0x4c, 0x46, 0, 0, 1]));
  expect((await read({ path: "program" })).text).toContain("is a binary file (7 bytes)");
  file("utf16", new Uint8Array([0xff, 0xfe, 0x61, 0]));
  expect((await read({ path: "utf16" })).text).toContain("UTF-16");
  symlinkSync("loop", join(directory, "loop"));
  expect((await read({ path: "loop" })).text).toContain("symbolic links");
  expect((await read({ path: "a\0b" })).isError).toBe(true);
  expect(fileProblem({ code: "EACCES" }, "read", "/x", { sandbox: null, home: "/" }).text).toBe("can't read /x: permission denied");
});

test("pipes and devices are refused without blocking", async () => {
  Bun.spawnSync(["mkfifo", join(directory, "fifo")]);
  for (const path of ["fifo", "/dev/zero", "/dev/tty"]) expect((await read({ path })).text).toContain("not a regular file");
});

test("files of the kernel are read, though their size is 0", async () => {
  expect((await read({ path: "/proc/self/status" })).text).toStartWith("1\tName:");
});
