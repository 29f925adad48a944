import { describe, expect, test } from "bun:test";
import type { TreeView } from "../api/api.ts";
import type { Node, Part } from "../tree/node.ts";
import { toTranscriptLines } from "./transcript-lines.ts";
import { nodeOfLines, partOfLine, treeHeader, treeLines, type TreeLine } from "./tree-lines.ts";
import type { Session } from "../tree/turn.ts";

const handle = { source: "bash", sourceVersion: "1", identifier: "s/1", metadata: { exitCode: 0, snake_key: 1, durationMs: 3 } };
const nodeFields = { id: "n1", parent: "n0", tree: "t", session: "s", turn: "u", at: Date.UTC(2026, 10, 16, 1, 2, 3, 456) };

const parts: Part[] = [
  { kind: "text", text: "größer \u0000 \ud83d\ude00 \ud800 \x1b[31mred\x1b[0m\n" },
  { kind: "text", text: "", opaque: { wire: "gemini", model: "y", data: [1, null] } },
  { kind: "thinking", text: "hm", opaque: { wire: "anthropic", model: "x", data: { signature: "abc" } } },
  { kind: "call", id: "c1", name: "bash", input: { command: "ls", nested: { deep: [1, 2] } } },
  { kind: "call", id: "c2", name: "read", input: {}, malformed: "{oops" },
  { kind: "call", id: "c3", name: "read", input: {}, malformed: '{"looks": "fine"}' },
  { kind: "result", call: "c1", name: "bash", text: "a\nb", isError: false, handle, images: [{ mime: "image/gif", base64: "R0k=" }] },
  { kind: "result", call: "c2", name: "read", text: "bad", isError: true, display: "-a\n+b" },
  { kind: "image", mime: "image/png", base64: "aGVsbG8=" },
  { kind: "handle", handle, excerpt: "1\n2" },
];

const nodes: Node[] = [
  { ...nodeFields, author: "user", parts: parts.slice(0, 2) },
  {
    ...nodeFields,
    author: "agent",
    parts,
    model: "a/b",
    usage: { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 },
    costUsd: null,
  },
  { ...nodeFields, author: "tool", parts },
  { ...nodeFields, author: "note", parts: [], note: { about: "compaction", keptFrom: "n9" } },
  { ...nodeFields, author: "note", parts: [{ kind: "thinking", text: "odd" }], note: { about: "interruption" }, parent: null, turn: null },
];

describe("a node as lines", () => {
  for (const node of nodes) {
    test(`the lines of a node parse to the same node: ${node.author} with ${node.parts.length} parts`, () => {
      const lines = treeLines(node).map((line) => JSON.parse(JSON.stringify(line)) as TreeLine);
      expect(nodeOfLines(lines, "t", "other")).toEqual(node);
    });
  }

  test("a part that fits into a transcript line needs no data field", () => {
    const [line] = treeLines({ ...nodeFields, author: "user", parts: [{ kind: "text", text: "hi" }] });
    expect(line).toEqual({
      id: "n1",
      part: 0,
      parent_id: "n0",
      timestamp: "2026-11-16T01:02:03.456Z",
      role: "user",
      content: "hi",
      node: { author: "user", session_id: "s", turn_id: "u" },
    });
  });

  test("a transcript line names the participant of a group", () => {
    const statement = {
      asked: "n0",
      phase: "validation",
      round: 2,
      who: "claude",
      status: "empty",
      tries: 3,
      sessionId: "s2",
      costUsd: null,
    } as const;
    const node = {
      ...nodeFields,
      author: "note",
      parts: [{ kind: "text", text: "nothing" }],
      note: { about: "group", said: statement },
    } as const;
    const [line] = toTranscriptLines({ ...node, parts: [...node.parts] });
    expect(line?.note?.said).toMatchObject({ who: "claude", session_id: "s2", cost_usd: null });
    expect(nodeOfLines([line!], "t", "s").note).toEqual(node.note);
  });

  test("a node can be read from a transcript without the additional fields", () => {
    const line = { id: "n", part: 0, parent_id: null, timestamp: "2026-11-16T01:02:03.456Z", content: "x" };
    expect(nodeOfLines([{ ...line, role: "assistant" }], "t", "s")).toMatchObject({ author: "agent", session: "s", turn: null });
    expect(partOfLine({ ...line, role: "tool_call", tool_id: "c", tool_name: "bash", content: '{"a":1}' })).toEqual({
      kind: "call",
      id: "c",
      name: "bash",
      input: { a: 1 },
    });
  });
});

test("the header has every session and turn of the tree", () => {
  const session: Session = {
    id: "s",
    name: "main",
    tree: "t",
    tip: "n1",
    agent: "native",
    model: "anthropic/x",
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
  const fork = { ...session, id: "f", forkedFrom: { session: "s", node: "n1" } };
  const view: TreeView = { nodes: [], sessions: [session, fork], turns: [] };
  expect(treeHeader(session, view)).toMatchObject({
    session_id: "s",
    provider: "anthropic",
    tree: {
      id: "t",
      sessions: [{ id: "s", forked_from: null }, { forked_from: { session_id: "s", node_id: "n1" } }],
      turns: [],
    },
  });
});
