import { describe, expect, test } from "bun:test";
import type { TreeView } from "../../protocol/api/api.ts";
import type { Author, Node, Part } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import type { Document } from "./document.ts";
import { htmlDocument } from "./html.ts";
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
      const tags = [...html.matchAll(/<[a-z][^>]*>/g)].map(([tag]) => tag);
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
    expect(html).toContain('<span style="color:#ff0000">a</span><span class="b2">b</span>');
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
