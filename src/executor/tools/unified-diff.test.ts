import { expect, test } from "bun:test";
import { unifiedDiff } from "./unified-diff.ts";

const numbered = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);
const text = (lines: string[]) => `${lines.join("\n")}\n`;

test("a change has three lines of context", () => {
  const before = numbered(20);
  const after = before.with(9, "changed");
  expect(unifiedDiff(text(before), text(after), "f").split("\n")).toEqual([
    "--- f",
    "+++ f",
    "@@ -7,7 +7,7 @@",
    " line 7",
    " line 8",
    " line 9",
    "-line 10",
    "+changed",
    " line 11",
    " line 12",
    " line 13",
  ]);
});

test("distant changes are separate hunks, near ones share a hunk", () => {
  const before = numbered(60);
  const far = unifiedDiff(text(before), text(before.with(4, "x").with(40, "y")), "f");
  expect(far.match(/^@@.*@@$/gm)).toEqual(["@@ -2,7 +2,7 @@", "@@ -38,7 +38,7 @@"]);
  const near = unifiedDiff(text(before), text(before.with(4, "x").with(10, "y")), "f");
  expect(near.match(/^@@.*@@$/gm)).toEqual(["@@ -2,13 +2,13 @@"]);
});

test("a new file, an emptied file and an unchanged file have the expected diff", () => {
  expect(unifiedDiff(null, "a\nb\n", "f")).toBe("--- /dev/null\n+++ f\n@@ -0,0 +1,2 @@\n+a\n+b");
  expect(unifiedDiff("a\n", "", "f")).toBe("--- f\n+++ f\n@@ -1 +0,0 @@\n-a");
  expect(unifiedDiff("a\n", "a\n", "f")).toBe("");
});

test("a missing newline at the end of the file is marked", () => {
  expect(unifiedDiff("a\nb\n", "a\nb", "f")).toContain("\\ No newline at end of file");
});

test("git apply accepts the diff", async () => {
  const before = numbered(200);
  const after = before.toSpliced(150, 3).toSpliced(80, 0, "p", "q").with(3, "r").toSpliced(0, 0, "first");
  const directory = (await Bun.$`mktemp -d`.text()).trim();
  await Bun.write(`${directory}/f`, text(before));
  await Bun.write(`${directory}/p`, `${unifiedDiff(text(before), text(after), "f")}\n`);
  const done = await Bun.$`git apply p`
    .cwd(directory)
    .env({ ...process.env, GIT_CEILING_DIRECTORIES: directory })
    .nothrow()
    .quiet();
  expect(done.stderr.toString()).toBe("");
  expect(await Bun.file(`${directory}/f`).text()).toBe(text(after));
  await Bun.$`rm -r ${directory}`;
});

test("a long line is cut between characters", () => {
  for (const pad of ["", "a"]) {
    const diff = unifiedDiff(null, `${pad}${"🧶".repeat(400)}\n`, "f");
    expect(diff.isWellFormed()).toBe(true);
    expect(diff).toEndWith("🧶…");
  }
});

test("the diff of a huge change is bounded", () => {
  const before = text(numbered(50_000));
  const after = text(numbered(50_000).map((line) => `${line}${"!".repeat(1000)}`));
  const diff = unifiedDiff(before, after, "f");
  expect(diff.split("\n").length).toBe(403);
  expect(diff.length).toBeLessThan(250_000);
  expect(diff).toEndWith("more lines of the diff ...]");
});
