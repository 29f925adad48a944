// A patch becomes rows with the right line numbers, and comments become one message.
import { expect, test } from "bun:test";
import { patchFiles, sideBySide } from "./patch-files.ts";
import { reviewMessage } from "./review.ts";

const patch = `diff --git a/src/a.ts b/src/a.ts
index 1111111..2222222 100644
--- a/src/a.ts
+++ b/src/a.ts
@@ -1,4 +1,4 @@
 one
-two
+zwei
+drei
-three
 four
diff --git a/gone.txt b/gone.txt
deleted file mode 100644
index 3333333..0000000
--- a/gone.txt
+++ /dev/null
@@ -1 +0,0 @@
-last
\\ No newline at end of file
diff --git a/new.txt b/new.txt
new file mode 100644
index 0000000..4444444
--- /dev/null
+++ b/new.txt
@@ -0,0 +1,2 @@
+alpha
+beta
`;

test("each row of a patch has its line in the old and in the new file", () => {
  const [first, gone, added] = patchFiles(patch);
  expect(first).toEqual({
    path: "src/a.ts",
    rows: [
      { kind: "hunk", text: "lines 1 to 4" },
      { kind: "same", oldLine: 1, newLine: 1, text: "one" },
      { kind: "removed", oldLine: 2, newLine: null, text: "two" },
      { kind: "added", oldLine: null, newLine: 2, text: "zwei" },
      { kind: "added", oldLine: null, newLine: 3, text: "drei" },
      { kind: "removed", oldLine: 3, newLine: null, text: "three" },
      { kind: "same", oldLine: 4, newLine: 4, text: "four" },
    ],
  });
  expect(gone).toMatchObject({ path: "gone.txt", rows: [{ kind: "hunk" }, { kind: "removed", oldLine: 1, text: "last" }] });
  expect(added?.rows.slice(1)).toEqual([
    { kind: "added", oldLine: null, newLine: 1, text: "alpha" },
    { kind: "added", oldLine: null, newLine: 2, text: "beta" },
  ]);
});

test("a patch that was cut keeps its whole files, also with lines that look like the head of another file", () => {
  const sneaky = "diff --git a/x.sql b/x.sql\n--- a/x.sql\n+++ b/x.sql\n@@ -1,2 +1,2 @@\n one\n--- a/other\n+++ b/other\n";
  const cut = `${patch}${sneaky}${patch.replaceAll("a.ts", "c.ts").slice(0, 130)}\n[the diff is longer; only its first 16 MB are shown]\n`;
  expect(patchFiles(cut).map(({ path }) => path)).toEqual(["src/a.ts", "gone.txt", "new.txt", "x.sql"]);
  expect(patchFiles("[the diff is longer]\n")).toEqual([]);
});

test("side by side, removed lines stand beside the added lines that follow them", () => {
  const texts = sideBySide(patchFiles(patch)[0]!.rows).map((pair) => pair.map((row) => row?.text ?? null));
  expect(texts.slice(1)).toEqual([
    ["one", "one"],
    ["two", "zwei"],
    [null, "drei"],
    ["three", null],
    ["four", "four"],
  ]);
});

test("all comments are one message with file, line, side and text of each line", () => {
  const message = reviewMessage([
    { path: "b.ts", side: "new", line: 7, text: "  return 1;", comment: "why 1?" },
    { path: "a.ts", side: "old", line: 3, text: "", comment: "keep this\nplease " },
  ]);
  expect(message).toBe(
    "Review of your changes. Please address each comment.\n\n" +
      "1. a.ts, line 3 of the old version:\n   > (empty line)\n   keep this\n   please\n\n" +
      "2. b.ts, line 7 of the new version:\n   >   return 1;\n   why 1?",
  );
});
