// Tests of blocks as rows: their layout, their width at any text, and streamed text compared with complete text.
import { describe, expect, test } from "bun:test";
import type { TextStyle } from "../../kit/text/ansi.ts";
import { zeroSpent } from "../../protocol/tree/usage.ts";
import type { Block, DiffBlock, SessionBlock, ToolBlock } from "../model/blocks.ts";
import { cardStrips, opensByDefault } from "./card.ts";
import { bad, good } from "../layout/styles.ts";
import type { Row } from "../layout/wrap.ts";

describe("Markdown", () => {
  const cases: [construct: string, text: string, rows: string[]][] = [
    ["headings", "# One\n### Two ###", ["One", "Two"]],
    ["emphasis", "**a** *b* __c__ _d_ ***e*** ~~f~~ `g*h*` a_b_c 2*3*4", ["a b c d e f g*h* a_b_c 2*3*4"]],
    ["links", "[docs](http://x.y/z) ![b](c.png) \\*\\*", ["docs (http://x.y/z) image: b (c.png) **"]],
    ["half-written marks", "**so far `and [this](http://", ["**so far `and [this](http://"]],
    ["lists in lists", "- one\n  1. two\n     - [x] three\n     - [ ] four", ["• one", "  1. two", "     • [x] three", "     • [ ] four"]],
    ["long items", `- ${"word ".repeat(9)}`, ["• word word word word word word word", "  word word"]],
    ["quotes", "> said\n> - item\n> > twice", ["│ said", "│ • item", "│ │ twice"]],
    ["fences", "```ts\nlet a;\n  b;\n```\nafter", ["╭─ ts", "│ let a;", "│   b;", "╰─", "after"]],
    ["fences that hold fences", "````\n```\n````\nout", ["╭─", "│ ```", "╰─", "out"]],
    ["fences that are still open", "~~~\n- no list", ["╭─", "│ - no list"]],
    ["rules", "---", ["─".repeat(40)]],
    ["tables", "| a | b |\n|:--|--:|\n| one | `x|y` |\n| two | 日本 |", ["a   │    b", "────┼─────", "one │  x|y", "two │ 日本"]],
    [
      "tables that are too wide",
      `| a | b |\n|---|---|\n| key | ${"word ".repeat(10)} |`,
      ["a   │ b", `────┼─${"─".repeat(34)}`, "key │ word word word word word word word", "    │ word word word"],
    ],
    ["bars that make no table", "| just a line\nmore", ["| just a line", "more"]],
    ["tabs", "\tx\ny\tz", ["    x", "y   z"]],
  ];
  test.each(cases)("Markdown shows %s", (_, text, rows) => {
    expect(textRows({ id: "t", kind: "text", text }, 40)).toEqual(rows);
  });
  test("a long table keeps its column widths", () => {
    const body = Array.from({ length: 120 }, (_, index) => `| ${index + 100} | ${"x".repeat(index % 7)} |`);
    const rows = textRows({ id: "t", kind: "text", text: ["| n | x |", "|---|---|", ...body].join("\n") }, 40);
    expect(rows).toHaveLength(122);
    expect(new Set(rows.map((row) => row.search(/[│┼]/)))).toEqual(new Set([4]));
  });
});

describe("code", () => {
  const coloredRuns = (language: string, code: string) =>
    rowsOf({ id: "t", kind: "text", text: `\`\`\`${language}\n${code}` }, 80)
      .slice(1)
      .flatMap((row) => row.map(({ text, style }) => `${styleName(style)} ${text.replace(/^│ /, "")}`))
      .filter((run) => !/^(plain|comment) ?$|^plain/.test(run));
  const cases: [language: string, code: string, styles: string[]][] = [
    ["ts", 'const a = "x\\"y" + 0x1f; // end', ["word const", 'text "x\\"y"', "number 0x1f", "comment // end"]],
    ["typescript", "/* one\ntwo */ return `a\nb`;", ["comment /* one", "comment two */", "word return", "text `a", "text b`"]],
    ["python", 'def f(x): # note\n  """a\n  b"""', ["word def", "comment # note", 'text """a', 'text   b"""']],
    ["go", "func main() { x := 1 }", ["word func", "number 1"]],
    ["rust", "fn main() { let x = 'a'; }", ["word fn", "word let"]],
    ["c", "int a = 3; /* b */", ["word int", "number 3", "comment /* b */"]],
    ["bash", 'echo "$HOME" $1 # c', ["word echo", 'text "$HOME"', "number $1", "comment # c"]],
    ["json", '{"a": [1, "b", null]}', ['number "a"', "number 1", 'text "b"', "word null"]],
    ["yaml", "a-b: true # c", ["number a-b", "word true", "comment # c"]],
    ["html", '<a href="x"><!-- c', ["number <a", 'text "x"', "number >", "comment <!-- c"]],
    ["css", ".a { color: red; }", ["number .a", "number color"]],
    ["sql", "SELECT a FROM b -- c", ["word SELECT", "word FROM", "comment -- c"]],
    ["diff", "+a\n-b\n c", ["text +a", "gone -b"]],
    ["klingon", "let a = 1", []],
  ];
  test.each(cases)("code in %s is coloured", (language, code, styles) => {
    expect(coloredRuns(language, code)).toEqual(styles);
  });
});

describe("a diff", () => {
  const text = "--- a/x.ts\n+++ b/x.ts\n@@ -9,3 +9,3 @@ f()\n a\n-b\n+c\n d\n\\ No newline at end of file";
  const diff = (id: string, change: string, fields: Partial<DiffBlock> = {}): DiffBlock => {
    return { id, kind: "diff", tool: "edit", path: "x.ts", text: change, tookMs: null, ...fields };
  };
  test("a diff shows its call once, with line numbers, and only the call when it is folded", () => {
    expect(textRows(diff("d", text), 40)).toEqual([
      "v edit x.ts · +1 -1",
      "      @@ f()",
      "   9   a",
      "  10 - b",
      "  10 + c",
      "  11   d",
      "       \\ No newline at end of file",
    ]);
    expect(textRows(diff("d1", text.replace(" f()", "")), 40)).not.toContain("      @@");
    const deleted = diff("d2", text.replace("b/x.ts", "/dev/null"), { path: "", tookMs: 1500 });
    expect(textRows(deleted, 60, "folded")).toEqual(["> edit x.ts · deleted · +1 -1 · 1.5 s"]);
  });
  test("removed lines are red and added lines are green", () => {
    const styleOf = (line: string) =>
      rowsOf(diff("d4", text), 40)
        .flat()
        .find((run) => run.text === line)?.style;
    expect([styleOf("- b"), styleOf("+ c")]).toEqual([bad, good]);
  });
  test("a new file of many lines is folded after its first lines", () => {
    const added = Array.from({ length: 400 }, (_, index) => `+line ${index + 1}`).join("\n");
    const created = diff("d5", `--- /dev/null\n+++ new.ts\n@@ -0,0 +1,401 @@\n${added}`, { tool: "write", path: "new.ts" });
    expect(opensByDefault(created)).toBe(false);
    const rows = textRows(created, 60, "folded");
    expect([rows.length, rows[0], rows[10], rows[11]]).toEqual([
      12,
      "> write new.ts · new file · +400",
      "  10 + line 10",
      "  … 390 more lines (Ctrl+O shows all)",
    ]);
  });
  test("lines that the tool left out are counted, and are no line of the file", () => {
    const rowOf = (line: string) => textRows(diff(line, `${text}\n${line}`), 60).at(-1);
    expect(rowOf("[... 1 more lines of the diff ...]")).toBe("      … 1 more line");
    expect(rowOf("[... 23 more lines of the diff ...]")).toBe("      … 23 more lines");
  });
});

test("a long message of the user is folded after its first lines", () => {
  const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`).join("\n");
  const message = (count: number): Block => ({ id: `m${count}`, kind: "user", text: lines(count) });
  expect([opensByDefault(message(20)), opensByDefault(message(500))]).toEqual([true, false]);
  expect(textRows(message(500), 60, "folded")).toEqual([
    ...[1, 2, 3, 4, 5].map((line) => `▌ line ${line}`),
    "  … 495 more lines (Ctrl+O shows all)",
  ]);
  expect(textRows(message(500), 60)).toHaveLength(500);
});

describe("a call", () => {
  const call: ToolBlock = {
    id: "c",
    kind: "tool",
    name: "bash",
    input: { command: "make\nall", cwd: "/x" },
    output: "",
    span: { startedAt: null, tookMs: null },
    result: null,
  };
  const folded = (fields: Partial<ToolBlock>) => textRows({ ...call, id: JSON.stringify(fields), ...fields }, 80, "folded");
  test("a call shows on one line what matters", () => {
    const ended = (name: string, input: ToolBlock["input"], text: string, isError = false) =>
      folded({ name, input, result: { text, isError } });
    expect(ended("read", { path: "lib/hooks.js" }, "1\t'use strict'\n2\t\n3\tx")).toEqual(["> read lib/hooks.js · 3 lines"]);
    expect(ended("Read", { file_path: "lib/hooks.js" }, "     1→a\n     2→b")).toEqual(["> Read lib/hooks.js · 2 lines"]);
    expect(ended("write", { path: "a.bin", content: "" }, "wrote a.bin: 1 line, 9 bytes")).toEqual(["> write a.bin · 1 line, 9 bytes"]);
    expect(ended("bash", { command: "ls" }, "a\nb")).toEqual(["> bash ls · 2 lines"]);
    expect(ended("bash", { command: "pwd" }, "/x")).toEqual(["> bash pwd · /x"]);
    expect(ended("bash", { command: "true" }, "(no output)")).toEqual(["> bash true · no output"]);
    expect(ended("bash", { command: "false" }, "(no output)\nexit code 1", true)).toEqual(["> bash false · exit 1"]);
    expect(ended("ask_user", { question: "Which?", options: ["a"] }, "a")).toEqual(["> ask_user Which? · a"]);
    expect(ended("write", { path: "/x" }, "can't write /x: denied", true)).toEqual(["> write /x · can't write /x: denied"]);
    expect(folded({ input: { command: "sleep 9" } })).toEqual(["> bash sleep 9 …"]);
  });
  test("a failed command shows its exit code, its duration and its last lines", () => {
    const result = { text: "cc a.c\nno\nexit code 2", isError: true };
    const ended = { ...call, result, span: { startedAt: 0, tookMs: 2300 } };
    expect(textRows(ended, 80, "folded")).toEqual(["> bash make all · exit 2 · 2.3 s", "  │ cc a.c", "  │ no"]);
    expect(textRows(ended, 80)).toEqual([
      "v bash make all · 2.3 s",
      "  command: make",
      "  all",
      "  cwd: /x",
      "  │ cc a.c",
      "  │ no",
      "  │ exit code 2",
    ]);
    const long = Array.from({ length: 40 }, (_, index) => `line ${index + 1}`);
    const text = [...long, "[network is off: use --net on]", "exit code 6", '[whole output, 9 bytes: read path "bash:x"]'].join("\n");
    expect(folded({ result: { text, isError: true } })).toEqual([
      "> bash make all · exit 6",
      "  │ … 35 earlier lines (Ctrl+O shows all)",
      ...[36, 37, 38, 39, 40].map((line) => `  │ line ${line}`),
      "  │ [network is off: use --net on]",
    ]);
  });
  test("an open call shows its input once if the head has all of it", () => {
    const short = { ...call, id: "s", input: { command: "make all" }, result: { text: "done", isError: false } };
    expect(textRows(short, 80)).toEqual(["v bash make all", "  │ done"]);
    expect(textRows(short, 14).slice(0, 2)).toEqual(["v bash make a…", "  command:"]);
  });
  test("a call is shown without the colours of its output, folded and open", () => {
    const result = { text: "\x1b[31mbad\x1b[0m 10%\r99%", isError: false };
    expect(textRows({ ...call, id: "e", result }, 80, "folded")).toEqual(["> bash make all · 99%"]);
    expect(textRows({ ...call, id: "e", result }, 80).slice(-1)).toEqual(["  │ 99%"]);
  });
  test("a folded command of the user shows its output, at most 20 lines, and how a failed one ended", () => {
    const lines = (count: number) => Array.from({ length: count }, (_, index) => `line ${index + 1}`);
    const shown = (text: string, isError = false) =>
      folded({ id: text, input: { command: "ls" }, result: { text, isError }, isUserCommand: true });
    expect(shown("only one")).toEqual(["> bash ls · only one"]);
    expect(shown("a\nb\n")).toEqual(["> bash ls", "  │ a", "  │ b"]);
    const long = shown(lines(23).join("\n"));
    expect([long.length, long[20], long[21]]).toEqual([22, "  │ line 20", "  │ … 3 more lines (Ctrl+O shows all)"]);
    const failed = shown([...lines(23), "exit code 1", '[whole output, 9 bytes: read path "bash:x"]'].join("\n"), true);
    expect([failed[0], failed[1], failed.at(-1)]).toEqual([
      "> bash ls · exit 1",
      "  │ … 3 earlier lines (Ctrl+O shows all)",
      "  │ line 23",
    ]);
  });
  test("a folded call takes one row, however wide its text is", () => {
    const wide = { ...call, id: "w", input: { command: "日本語".repeat(100) }, result: { text: "👩‍👩‍👧".repeat(100), isError: false } };
    expect(textRows(wide, 40, "folded")).toEqual([expect.stringMatching(/^> bash 日本語.*… · 👩‍👩‍👧.*…$/u)]);
  });
});

test("a sub-session shows its agent, task, state, usage and last output", () => {
  const spent = { usage: { ...zeroSpent.usage, input: 1200, output: 30 }, costUsd: 0.01 };
  const block: SessionBlock = {
    id: "s",
    kind: "session",
    agent: "codex",
    task: "Look\nat it",
    state: "asking",
    spent: zeroSpent,
    current: spent,
    lastOutput: "first\nnow this\n",
  };
  expect(textRows(block, 80, "folded")).toEqual(["◆ codex: Look at it", "  asking · in 1.2k out 30 · $0.0100 · now this"]);
  expect(textRows({ ...block, state: "ok", answer: "It is fine.\n\n[session s, ok, spent $0.01]" }, 80)).toEqual([
    "◆ codex: Look",
    "◆ at it",
    "  ok · in 1.2k out 30 · $0.0100 · now this",
    "  │ It is fine.",
  ]);
});

test("an image is described by type and size", () => {
  const png = Buffer.from("\x89PNG\r\n\x1a\n\0\0\0\rIHDR\0\0\x02\x80\0\0\x01\xe0", "latin1").toString("base64");
  const gif = Buffer.from("GIF89a\x10\x00\x20\x00", "latin1").toString("base64");
  const jpeg = Buffer.from("\xff\xd8\xff\xe0\0\x04ab\xff\xc0\0\x11\x08\x00\x20\x00\x10", "latin1").toString("base64");
  const shown = (mime: string, base64: string) => textRows({ id: base64, kind: "image", image: { mime, base64 } }, 80);
  expect([shown("image/png", png), shown("image/gif", gif), shown("image/jpeg", jpeg), shown("image/webp", "AAAA")]).toEqual([
    ["▣ image (image/png) · 640 × 480 · 24 bytes"],
    ["▣ image (image/gif) · 16 × 32 · 10 bytes"],
    ["▣ image (image/jpeg) · 16 × 32 · 17 bytes"],
    ["▣ image (image/webp) · 3 bytes"],
  ]);
});

describe("hard text", () => {
  const texts = [
    "日本語テキスト".repeat(20),
    "👩‍👩‍👧 👍🏽 🇩🇪 ⚠️ ❤️ 1️⃣ ".repeat(10),
    "e\u0301a\u0308\u0323 ".repeat(30),
    "\u0301\u0302 lonely marks",
    "שלום עולם \u202eevil\u202c \u2066x\u2069 نص عربي ".repeat(5),
    "zero\u200bwidth\u00ad\ufeff\u2060 joined\u200d",
    "\ttabs\t\tin\tit\t",
    "\x00\x01\x07bell\x1b[31mred\x1b[0m\x1b]0;title\x07\x9b31m\x7f",
    "torn \ud800 pair \udc00",
    "ﷺ ﷽ 𒐫 ｶﾞ क्षि ก็ำ 각 ㅤ \u1160 \u0600 ",
    "a".repeat(500),
    `| 日本 | ${"👩‍👩‍👧".repeat(30)} |\n|-|-|\n| \t | \x1b[1mx |`,
    "- > ".repeat(40),
    `> ${"> ".repeat(50)}deep`,
    `\`\`\`ts\n${"const 日本 = `x\t`; ".repeat(20)}\n\`\`\``,
    "overwritten 10%\roverwritten 99%\r\nnext",
    "",
  ];
  const kinds = ["user", "text", "thinking", "note"] as const;
  test("text never exceeds its columns and contains no control characters", () => {
    const badRows: unknown[] = [];
    for (const [index, text] of texts.entries())
      for (const columns of [4, 7, 20, 78, 198])
        for (const open of ["open", "folded"] as const) {
          const blocks: Block[] = kinds.map((kind) => ({ id: `${kind}${index}`, kind, text }));
          for (const block of [...blocks, ...otherBlocks(index, text)])
            for (const row of textRows(block, columns, open))
              if (Bun.stringWidth(row) > columns || /[^\P{Cc}]|[\u200b\u00ad\u202a-\u202e\u2066-\u2069\ud800-\udfff]/u.test(row))
                badRows.push([block.kind, columns, open, row]);
        }
    expect(badRows).toEqual([]);
  });
  test("streamed text looks the same as complete text", () => {
    for (const [index, text] of texts.entries()) {
      const longText = `${text}\n\n${texts.join("\n")}`;
      let grown: Row[] = [];
      for (let end = 1; end <= longText.length; end += 1 + ((end * 7) % 97))
        grown = rowsOf({ id: `g${index}`, kind: "text", text: longText.slice(0, end) }, 60);
      grown = rowsOf({ id: `g${index}`, kind: "text", text: longText }, 60);
      rowsOf({ id: "another", kind: "text", text: "something else\n" }, 61);
      expect(grown).toEqual(rowsOf({ id: `complete${index}`, kind: "text", text: longText }, 60));
    }
  });
});

// --- helpers ----------------------------------------------------------------------------------------------

function rowsOf(block: Block, columns: number, folding: "open" | "folded" = "open"): Row[] {
  return cardStrips(block, columns, folding === "open").flatMap((strip) => strip());
}

function textRows(block: Block, columns: number, folding: "open" | "folded" = "open"): string[] {
  return rowsOf(block, columns, folding).map((row) =>
    row
      .map((run) => run.text)
      .join("")
      .trimEnd(),
  );
}

function otherBlocks(index: number, text: string): Block[] {
  const span = { startedAt: null, tookMs: null };
  const spent = zeroSpent;
  return [
    {
      id: `tool${index}`,
      kind: "tool",
      name: text,
      input: { command: text, other: text },
      output: "",
      span,
      result: { text, isError: true },
    },
    { id: `run${index}`, kind: "tool", name: "bash", input: text, output: text, span, result: null },
    {
      id: `diff${index}`,
      kind: "diff",
      tool: text,
      path: text,
      tookMs: 2000,
      text: `--- ${text.split("\n")[0]}\n+++ y.ts\n@@ -1 +1 @@\n-${text}\n+${text}\n ${text}`,
    },
    { id: `session${index}`, kind: "session", agent: text, task: text, state: "running", spent, current: spent, lastOutput: text },
    { id: `error${index}`, kind: "error", text, hint: text },
    { id: `turn${index}`, kind: "turn", text },
  ];
}

test("on a narrow screen the line after a turn keeps its status and its cost", () => {
  const block: Block = { id: "t", kind: "turn", text: "ok · 5 steps · in 4.0k out 114 · $0.0137" };
  expect(textRows(block, 80, "folded")[0]).toContain("── ok · 5 steps · in 4.0k out 114 · $0.0137 ──");
  expect(textRows(block, 38, "folded")[0]).toMatch(/^── ok · 5 steps · \$0\.0137 ─+$/);
  expect(textRows(block, 20, "folded")[0]).toMatch(/^── ok · \$0\.0137 ─+$/);
});

function styleName({ color, dim }: TextStyle): string {
  if (dim !== true && color === undefined) return "plain";
  return dim === true ? "comment" : ({ 1: "gone", 2: "text", 5: "word", 6: "number" }[color as number] ?? "?");
}
