import { expect, test } from "bun:test";
import { styled, type Row } from "../layout/wrap.ts";
import { highlightSelection, selectedText } from "./selection.ts";

const rows: Row[] = [
  "  ▌ show it",
  "",
  "  Here is 日本:",
  "  ╭─ ts",
  "  │ const a = 1;",
  "  │   return a;",
  "  ╰─",
  "┃ > bash ls",
  "┃   │ a.ts",
].map((text) => [styled(text)]);

test("the selected text has no marks, and code has its indent", () => {
  const all = selectedText(rows, { from: { x: 0, y: 0 }, to: { x: 79, y: 8 } });
  expect(all).toBe("show it\n\nHere is 日本:\nconst a = 1;\n  return a;\n> bash ls\na.ts");
});

test("a selection has the cells between its ends, in any direction, and wide characters count with both cells", () => {
  const ends = [
    { x: 10, y: 2 },
    { x: 8, y: 4 },
  ] as const;
  expect(selectedText(rows, { from: ends[0], to: ends[1] })).toBe("日本:\nconst");
  expect(selectedText(rows, { from: ends[1], to: ends[0] })).toBe("日本:\nconst");
  expect(selectedText(rows, { from: { x: 12, y: 2 }, to: { x: 12, y: 2 } })).toBe("本");
});

test("selected cells are drawn inverse, and the others as before", () => {
  const [first] = highlightSelection(rows, { from: { x: 4, y: 0 }, to: { x: 7, y: 0 } });
  const inverse = first!.filter(({ style }) => style.inverse === true).map(({ text }) => text);
  expect([inverse.join(""), first!.map(({ text }) => text).join("")]).toEqual(["show", "  ▌ show it"]);
});
