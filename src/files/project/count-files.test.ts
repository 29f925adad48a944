// Lists and counts with real repositories and the real counting process.
import { expect, test } from "bun:test";
import { mkdirSync, symlinkSync } from "node:fs";
import { join } from "node:path";
import { countTokens } from "gpt-tokenizer/encoding/o200k_base";
import { countFiles } from "./count-files.ts";
import { countFile } from "./count-process.ts";
import { plainGit } from "../fixtures/plain-git.ts";
import { testProject, writeAll } from "../fixtures/project.ts";
import { listFiles } from "./list-files.ts";

const command = async () => ({ command: [process.execPath, join(import.meta.dir, "..", "..", "main.ts"), "__count"], env: {} });

test("ignored files are not listed, new files are, and a requested file always is", async () => {
  using temp = testProject();
  const { project, git } = temp;
  git("init", "-q", "-b", "main");
  writeAll(temp, {
    ".gitignore": "out/\n*.log\n",
    "a.ts": "1",
    "src/b.ts": "2",
    "out/c.js": "3",
    "d.log": "4",
    ".skein/sessions/x.jsonl": "5",
  });
  git("add", "a.ts");
  const list = (items: string[], directory = project) => listFiles({ items, directory, project, git: plainGit });
  expect((await list(["."])).toSorted()).toEqual([".gitignore", "a.ts", "src/b.ts"]);
  expect(await list(["src"])).toEqual(["src/b.ts"]);
  expect((await list(["b.ts", join(project, "d.log")], join(project, "src"))).toSorted()).toEqual(["d.log", "src/b.ts"]);
});

test("without a repository, directories of generated and fetched files are skipped", async () => {
  using temp = testProject();
  const { project } = temp;
  writeAll(temp, { "a.ts": "1", "src/b.ts": "2", "node_modules/x/i.js": "3", "src/__pycache__/y.pyc": "4" });
  expect((await listFiles({ items: ["."], directory: project, project, git: plainGit })).toSorted()).toEqual(["a.ts", "src/b.ts"]);
});

test("a path outside of the project is refused, also through a link", async () => {
  using temp = testProject();
  const { project } = temp;
  temp.git("init", "-q", "-b", "main");
  writeAll(temp, { "a.ts": "1" });
  symlinkSync("/etc", join(project, "etc"));
  for (const item of ["..", "/etc/passwd", "etc/passwd", "etc", `${project}-other`, "missing"])
    await expect(listFiles({ items: [item], directory: project, project, git: plainGit })).rejects.toThrow(
      item === "missing" || item.endsWith("-other") ? "there is no file or directory" : "is outside of the project",
    );
});

test("tokens are summed by file and directory, without binaries, links and missing files", async () => {
  using temp = testProject();
  const { project } = temp;
  temp.git("init", "-q", "-b", "main");
  const texts = { "a.ts": "const a = 1;\n", "src/b.ts": "export function b() {}\n".repeat(100), "src/deep/c.md": "Grüße <|endoftext|>\n" };
  writeAll(temp, { ...texts, "src/d.bin": new Uint8Array([1, 0, 2]) });
  symlinkSync("/etc/passwd", join(project, "link"));
  const files = [...Object.keys(texts), "src/d.bin", "link", "gone.ts"];
  const each = (path: keyof typeof texts) => countTokens(texts[path], { disallowedSpecial: new Set() });
  const [a, b, c] = [each("a.ts"), each("src/b.ts"), each("src/deep/c.md")];
  expect(await countFiles({ command, project, files, top: 2, limitMs: 60_000 })).toEqual({
    tokenizer: "o200k_base",
    totalTokens: a + b + c,
    totalFiles: 3,
    estimatedFiles: 0,
    largestFiles: [{ path: "src/b.ts", tokens: b }, c > a ? { path: "src/deep/c.md", tokens: c } : { path: "a.ts", tokens: a }],
    largestDirectories: [
      { path: "src", tokens: b + c, files: 2 },
      { path: "src/deep", tokens: c, files: 1 },
    ],
    skipped: { binary: 1, unreadable: 2 },
  });
});

test("a file of many chunks has the count of its whole text", () => {
  using temp = testProject();
  const { project } = temp;
  const text = "a line with some words in it, número 7\n".repeat(60_000);
  writeAll(temp, { "long.txt": text });
  expect(countFile(join(project, "long.txt"))).toBe(countTokens(text));
});

test("files that are not counted in time are estimated by their size", async () => {
  using temp = testProject();
  const { project } = temp;
  writeAll(temp, { "a.txt": "x".repeat(3_700), "empty.txt": "" });
  mkdirSync(join(project, "folder"));
  const counted = await countFiles({ command, project, files: ["a.txt", "empty.txt", "folder"], top: 1, limitMs: 1 });
  expect(counted).toMatchObject({ totalTokens: 1_000, totalFiles: 2, estimatedFiles: 2, skipped: { unreadable: 1 } });
});

test("a counting process that fails throws a fault with its reason", async () => {
  const wish = { project: "/", files: ["a"], top: 1, limitMs: 60_000 };
  await expect(
    countFiles({ ...wish, command: async () => ({ command: ["/bin/sh", "-c", "echo no table >&2; exit 3"], env: {} }) }),
  ).rejects.toThrow("no table");
});
