// Tests of the overlay with a longer text: its title and its wrapped lines on a narrow screen.
import { expect, test } from "bun:test";
import { viKeys } from "../fixtures/press-keys.ts";
import { checkBindings } from "../keys/bindings.ts";
import { good } from "../layout/styles.ts";
import { textOverlayView, type TextOverlay } from "./text-overlay.ts";

const bindings = checkBindings({ preset: "plain" });

function rowsOf(overlay: Pick<TextOverlay, "topic" | "lines">, columns: number, keys = bindings): string[] {
  const { rows } = textOverlayView({ kind: "text", top: 0, ...overlay }, { columns, height: 9, bindings: keys });
  return rows.map((row) => row.map(({ text }) => text).join(""));
}

test("the title says how to close the text, however narrow the screen is", () => {
  const long = { topic: "context", lines: Array.from({ length: 90 }, () => "line") } as const;
  expect(rowsOf(long, 80)[0]).toContain("─ what the model gets, 1-7 of 90: arrows scroll, Esc closes ─");
  expect(rowsOf(long, 80, viKeys)[0]).toContain(": j and k scroll, Esc closes ");
  expect(rowsOf(long, 52)[0]).toContain("─ what the model gets, 1-7 of 90: Esc closes ─");
  for (const columns of [20, 24, 40, 44]) expect(rowsOf(long, columns)[0]).toContain("Esc closes ─");
  expect(rowsOf({ ...long, lines: ["one"] }, 80)[0]).toContain("─ what the model gets: Esc closes ─");
});

test("long lines of changed files are wrapped in their colour, so that nothing is cut", () => {
  const line = { text: `+  const sum = ${"price * ".repeat(6)}1;`, style: good };
  const rows = rowsOf({ topic: "diff", lines: [line, "  src/a/very/long/path/of/a/file/in/the/project.ts +1 -1"] }, 40);
  const text = rows
    .slice(1, -1)
    .map((row) => row.slice(2, -2).trim())
    .join(" ");
  expect(text).toContain(line.text.trim());
  expect(text.replaceAll(" ", "")).toContain("src/a/very/long/path/of/a/file/in/the/project.ts+1-1");
  expect(rows.every((row) => row.length === 40)).toBe(true);
});
