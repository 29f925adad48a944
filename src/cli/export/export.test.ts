import { describe, expect, test } from "bun:test";
import type { TreeView } from "../../protocol/api/api.ts";
import type { Author, Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Document } from "./document.ts";
import { htmlDocument } from "./html.ts";
import { patchHtml } from "./html-diff.ts";
import { pageScript } from "./html-script.ts";
import { segmentsOf } from "./segments.ts";
import { markdownDocument, textDocument } from "./text.ts";

const node = (id: string, parent: string | null, parts: Part[] = [], author: Author = "user"): Node => ({
  id,
  parent,
  author,
  parts,
  tree: "t",
  session: "s",
  turn: null,
  at: 0,
});
const text = (words: string): Part => ({ kind: "text", text: words });

const session: Session = {
  id: "00000000-0000-7000-8000-0000000000aa",
  name: "main",
  tree: "t",
  tip: null,
  agent: "native",
  model: null,
  directory: "/d",
  project: "/d",
  task: null,
  toolLevel: "minimal",
  parentSession: null,
  forkedFrom: null,
  transcript: null,
  createdAt: 0,
  updatedAt: 0,
  archivedAt: null,
};

const documentOf = (nodes: Node[], change: Partial<Session> = {}, resolve: Document["resolve"] = async () => null): Document => {
  const changed = { ...session, ...change };
  const view: TreeView = { nodes, sessions: [changed], turns: [] };
  return { session: changed, view, resolve, files: null };
};
const joinPieces = async (pieces: AsyncIterable<string>) => (await Array.fromAsync(pieces)).join("");

describe("segments", () => {
  test("a segment ends at a fork, and its branches follow in order", () => {
    const nodes = [node("a", null), node("b", "a"), node("c", "b"), node("d", "b"), node("e", "c"), node("f", "d"), node("g", "d")];
    expect(
      segmentsOf({ nodes }).map(({ number, depth, from, nodes: segmentNodes, next }) => [
        number,
        depth,
        from?.id,
        segmentNodes.map(({ id }) => id).join(""),
        next,
      ]),
    ).toEqual([
      [1, 0, undefined, "ab", [2, 3]],
      [2, 1, "b", "ce", []],
      [3, 1, "b", "d", [4, 5]],
      [4, 2, "d", "f", []],
      [5, 2, "d", "g", []],
    ]);
  });

  test("five thousand nested forks can be exported", async () => {
    const nodes: Node[] = [node("0", null)];
    for (let index = 1; index <= 5_000; index += 1)
      nodes.push(node(`x${index}`, String(index - 1)), node(String(index), String(index - 1), [text("hi")]));
    expect(segmentsOf({ nodes })).toHaveLength(10_001);
    expect((await joinPieces(htmlDocument(documentOf(nodes)))).endsWith("</html>\n")).toBe(true);
  });
});

describe("a page", () => {
  const evil = '"><script>alert(1)</script><img src=x onerror=alert(1)>';
  const parts: Part[] = [
    text(
      `${evil} [a](javascript:alert(1)) [b](data:text/html,x) [c](https://example.org/?a="b") <a href="x" onclick="y">z</a> ![p](http://example.org/p.png "t")`,
    ),
    { kind: "thinking", text: evil },
    { kind: "call", id: evil, name: evil, input: { [evil]: evil } },
    {
      kind: "result",
      call: "x",
      name: evil,
      text: evil,
      isError: false,
      display: evil,
      images: [{ mime: `image/png${evil}`, base64: evil }],
    },
    { kind: "image", mime: "text/html", base64: "PHNjcmlwdD4=" },
    { kind: "handle", handle: { source: evil, sourceVersion: "1", identifier: evil, metadata: { command: evil } }, excerpt: evil },
  ];
  for (const author of ["user", "agent", "tool", "note"] as const) {
    test(`a page shows text of the author "${author}" and executes none of it`, async () => {
      const html = await joinPieces(
        htmlDocument(documentOf([node("n", null, parts, author)], { name: evil, tip: "n", project: evil, model: evil })),
      );
      const own = `<script>${pageScript}</script>`;
      expect(html.split(own)).toHaveLength(2);
      const tags = [...html.replace(own, "").matchAll(/<[a-z][^>]*>/g)].map(([tag]) => tag);
      expect(tags.filter((tag) => /^<(script|iframe|object|link|base|form)|\son\w+=|javascript:|src="(?!data:image\/)/.test(tag))).toEqual(
        [],
      );
      expect(html).toContain("default-src 'none'");
    });
  }

  test("a page keeps web links and colours of every kind", async () => {
    const linkText = text("see [c](https://example.org/x)");
    const output: Part = { kind: "result", call: "c", name: "bash", text: "\x1b[38;5;196ma\x1b[0;42mb", isError: true };
    const html = await joinPieces(htmlDocument(documentOf([node("n", null, [linkText], "agent"), node("m", "n", [output], "tool")])));
    expect(html).toContain('<a rel="noreferrer" href="https://example.org/x">c</a>');
    expect(html).toContain('<template>[{"runs":[["a","","color:#ff0000"],["b","b2",""]]}]</template>');
  });

  test("an edit is an open, coloured diff, whether the tool shows one or its input has the texts", async () => {
    const pairs: [Record<string, unknown>, string | undefined][] = [
      [{ path: "a.ts", old_text: "1", new_text: "2" }, "--- a/a.ts\n+++ b/a.ts\n@@ -1,2 +1,2 @@\n let x;\n-const a = 1;\n+const a = 2;\n"],
      [{ file_path: "a.ts", old_string: "const a = 1;", new_string: "const a = 2;" }, undefined],
      [{ path: "a.ts", edits: [{ oldText: "const a = 1;", newText: "const a = 2;" }] }, undefined],
    ];
    for (const [input, display] of pairs) {
      const call: Part = { kind: "call", id: "c", name: "edit", input };
      const result: Part = {
        kind: "result",
        call: "c",
        name: "edit",
        text: "edited",
        isError: false,
        ...(display === undefined ? {} : { display }),
      };
      const html = await joinPieces(htmlDocument(documentOf([node("n", null, [call], "agent"), node("m", "n", [result], "tool")])));
      expect(html).toContain('<details open><summary><span class="ok">✓</span> <b>edit</b>');
      expect(html).toContain('<span class="del">-<span class="c5">const</span> a = <span class="c6">1</span>;\n</span>');
      expect(html).toContain('<span class="add">+<span class="c5">const</span> a = <span class="c6">2</span>;\n</span>');
    }
  });

  test("the files of a branch are coloured diffs, and a binary file is named", () => {
    const html = patchHtml(
      "diff --git a/a.ts b/a.ts\n--- a/a.ts\n+++ b/a.ts\n@@ -1 +1 @@\n-old\n+new\ndiff --git a/b.bin b/b.bin\nBinary files a/b.bin and b/b.bin differ\n",
    );
    expect(html).toContain("<details open><summary><code>a.ts</code></summary>");
    expect(html).toContain('<span class="add">+<span class="c5">new</span>\n</span>');
    expect(html).toContain("<pre>diff --git a/b.bin b/b.bin\nBinary files a/b.bin and b/b.bin differ</pre>");
  });

  test("the map has a row for every message of the user, with branches indented and sessions at their tips", async () => {
    const nodes = [
      node("a", null, [text("first")]),
      node("b", "a", [text("answer")], "agent"),
      node("c", "b", [text("left")]),
      node("d", "b", [text("right")]),
    ];
    const html = await joinPieces(htmlDocument(documentOf(nodes, { tip: "d" })));
    const map = html.slice(html.indexOf("<ol>"), html.indexOf("</ol>"));
    expect(map.match(/<li>/g)).toHaveLength(3);
    expect(map).toContain('<span class="guide">├─</span><span class="dot a0">●</span><a href="#n-c">left</a>');
    expect(map).toContain('<a href="#n-d">right</a><small></small><a class="label" href="#n-d">main</a>');
  });

  test("the map of a long tree has at most 400 rows", async () => {
    const nodes = Array.from({ length: 5_000 }, (_, index) =>
      node(`n${index}`, index === 0 ? null : `n${index - 1}`, [text(`message ${index}`)]),
    );
    const html = await joinPieces(htmlDocument(documentOf(nodes)));
    expect(html.match(/<li>/g)!.length).toBeLessThanOrEqual(400);
    expect(html).toContain("1 branch, every 13th message");
    expect(html.match(/<div class="chunk">/g)).toHaveLength(50);
  });
});

describe("text", () => {
  const calls: Node[] = [
    node("a", null, [{ kind: "call", id: "c", name: "bash", input: { command: "echo hi" } }], "agent"),
    node(
      "b",
      "a",
      [
        {
          kind: "result",
          call: "c",
          name: "bash",
          text: "short",
          isError: false,
          handle: { source: "odd", sourceVersion: "9", identifier: "x", metadata: {} },
        },
      ],
      "tool",
    ),
  ];

  test("a call and its result are one block, with the excerpt of a handle that can't be resolved", async () => {
    const out = await joinPieces(textDocument(documentOf(calls)));
    expect(out).toContain("  ✓ bash echo hi\n    short\n");
    expect(await joinPieces(textDocument(documentOf(calls, {}, async () => "all of it")))).toContain("    all of it\n");
  });

  test("no output can close its code fence in Markdown", async () => {
    const out = await joinPieces(markdownDocument(documentOf(calls, {}, async () => "```\n````\n# not a title")));
    expect(out).toContain("`````\n```\n````\n# not a title\n`````");
  });
});
