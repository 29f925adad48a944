// Markdown of models, which is hostile input: everything that is not known Markdown stays text.
import { describe, expect, test } from "bun:test";
import { colorLine, findHighlighter } from "../../../kit/highlight/syntax.ts";
import { parseInline, safeAddress } from "./inline.ts";
import { parseMarkdown } from "./markdown.ts";
import { plainText, showDirections } from "./plain-text.ts";

const text = (value: string) => ({ kind: "text" as const, text: value });

describe("blocks", () => {
  test("headings, lists, quotes, tables, rules and fences are found", () => {
    const kinds = parseMarkdown(
      "# A\n\ntext\n\n- one\n- two\n\n> quote\n\n| a | b |\n|---|---|\n| 1 | 2 |\n\n---\n\n```ts\nlet a;\n```",
    ).map(({ kind }) => kind);
    expect(kinds).toEqual(["heading", "paragraph", "list", "quote", "table", "rule", "code"]);
  });

  test("a fence that still streams is code, and its content is no Markdown", () => {
    expect(parseMarkdown("```sh\n# not a heading\n- no list")).toEqual([
      { kind: "code", language: "sh", text: "# not a heading\n- no list" },
    ]);
  });

  test("lists nest by their indent and have checkboxes", () => {
    const [list] = parseMarkdown("- one\n  - inner\n  - more\n- [x] done\n- [ ] open");
    expect(list).toMatchObject({ kind: "list", isOrdered: false, items: [{ check: null }, { check: true }, { check: false }] });
    expect(list?.kind === "list" && list.items[0]?.blocks.map(({ kind }) => kind)).toEqual(["paragraph", "list"]);
  });

  test("an ordered list keeps its first number", () => {
    expect(parseMarkdown("3. three\n4. four")).toMatchObject([{ kind: "list", isOrdered: true, start: 3, items: [{}, {}] }]);
  });

  test("HTML stays text", () => {
    const html = "<script>alert(1)</script><img src=x onerror=alert(1)>";
    expect(parseMarkdown(html)).toEqual([{ kind: "paragraph", items: [text(html)] }]);
  });

  test("long hostile texts are parsed without blocking the page", () => {
    const units = ["*", "[", "`", "> ", "- ", "**a", "|", "_a_", "[a](", "<http://", "  - a\n", "\\", "- a\n\n"];
    for (const unit of units) expect(parseMarkdown(unit.repeat(20_000)).length).toBeGreaterThan(0);
  });
});

describe("inline", () => {
  test("code, emphasis and links nest", () => {
    expect(parseInline("a **b `c`** _d_ ~~e~~")).toEqual([
      text("a "),
      { kind: "strong", items: [text("b "), { kind: "code", text: "c" }] },
      text(" "),
      { kind: "emphasis", items: [text("d")] },
      text(" "),
      { kind: "strike", items: [text("e")] },
    ]);
  });

  test("names with underscores and stars of a product stay text", () => {
    for (const plain of ["snake_case_name", "2 * 3 * 4", "a ** b"]) expect(parseInline(plain)).toEqual([text(plain)]);
  });

  test("only links to http, https and mailto are links", () => {
    expect(parseInline("[x](https://example.org/a_(b))")).toEqual([
      { kind: "link", href: "https://example.org/a_(b)", items: [text("x")] },
    ]);
    for (const bad of [
      "javascript:alert(1)",
      "JaVaScRiPt:alert(1)",
      "data:text/html,x",
      "vbscript:x",
      "file:///etc/passwd",
      "//evil.example",
      "blob:x",
      "java\tscript:x",
    ]) {
      expect(safeAddress(bad)).toBeNull();
      expect(JSON.stringify(parseInline(`[x](${bad})`))).not.toContain('"link"');
    }
  });

  test("a picture becomes a link, because nothing is loaded from another place", () => {
    expect(parseInline("![alt](https://example.org/a.png)")).toEqual([
      { kind: "link", href: "https://example.org/a.png", items: [text("alt")] },
    ]);
  });

  test("a bare address ends before the punctuation of its sentence", () => {
    expect(parseInline("see https://example.org/a.")).toEqual([
      text("see "),
      { kind: "link", href: "https://example.org/a", items: [text("https://example.org/a")] },
      text("."),
    ]);
  });
});

test("output of programs loses colours and control characters, and reversed text is shown", () => {
  expect(plainText("\u001b[31mred\u001b[0m \u001b]8;;http://x\u0007link\u0007 a\u0000b\r\nold\rnew\n")).toBe("red link ab\nnew\n");
  expect(showDirections("a\u202Eb")).toBe("a[U+202E]b");
});

test("hostile output of programs and hostile code are read in bounded time", () => {
  const limitMs = 2_000;
  const begin = performance.now();
  expect(plainText(`${"\r".repeat(200_000)}end`)).toBe("end");
  expect(plainText("done\r\r\n50 %\r")).toBe("done\n50 %");
  for (const language of ["ts", "css", "sh", "json", "html"])
    for (const unit of ['"\\', "-", "\\", "<"])
      expect(colorLine(unit.repeat(100_000 / unit.length), { highlighter: findHighlighter(language), openSpan: null }).runs.length).toBe(1);
  expect(performance.now() - begin).toBeLessThan(limitMs);
});
