import { expect, test } from "bun:test";
import type { Node } from "../../protocol/tree/node.ts";
import { briefNodes, endOfPath } from "./bounded-nodes.ts";

const node = (id: string, parts: Node["parts"]) =>
  ({ id, parent: null, session: "s", turn: null, author: "agent", at: 1, parts }) as unknown as Node;
const textNode = (id: string, text: string) => node(id, [{ kind: "text", text }]);

test("the end of a long path fits into the limit, and nodes stay whole where they fit", () => {
  const path = Array.from({ length: 100 }, (_, index) => textNode(`n${index}`, "x".repeat(1_000)));
  const end = endOfPath(path, 20_000);
  expect(end.at(-1)).toEqual(path.at(-1));
  expect(end.length).toBeGreaterThan(10);
  expect(JSON.stringify(end).length).toBeLessThan(20_500);
  expect(end).toEqual(path.slice(-end.length));
  expect(endOfPath(path, 10_000_000)).toEqual(path);
  expect(endOfPath([], 10)).toEqual([]);
});

test("a node that is longer than the limit is cut, with images and vendor data left out", () => {
  const big = "y".repeat(50_000);
  const opaque = { wire: "w", model: "m", data: big };
  const cut = endOfPath(
    [
      textNode("old", "old"),
      node("big", [
        { kind: "text", text: big, opaque },
        { kind: "image", mime: "image/png", base64: big },
        { kind: "call", id: "c", name: "write", input: { content: big } },
        { kind: "result", call: "c", name: "write", text: "ok", isError: false, images: [{ mime: "image/png", base64: big }] },
      ] as Node["parts"]),
    ],
    8_000,
  ).at(-1);
  expect(cut?.id).toBe("big");
  expect(JSON.stringify(cut).length).toBeLessThan(4_000);
  expect(cut?.parts.map(({ kind }) => kind)).toEqual(["text", "text", "call", "result"]);
  expect(cut?.parts[0]).toMatchObject({ text: expect.stringContaining("49000 more characters are not shown") });
});

test("nodes of an overview have short texts and keep their places", () => {
  const [brief] = briefNodes([{ ...textNode("a", "z".repeat(9_000)), parent: "p" }]);
  expect(brief).toMatchObject({ id: "a", parent: "p", session: "s" });
  expect(JSON.stringify(brief).length).toBeLessThan(700);
});
