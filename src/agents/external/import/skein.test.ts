import { expect, test } from "bun:test";
import type { Json } from "../../../kit/text/json.ts";
import { skein } from "./skein.ts";

const [main = "", other = "", a = "", b = "", c = "", tree = ""] = Array.from({ length: 6 }, () => Bun.randomUUIDv7());
const timestamp = "2026-11-16T01:02:03.456Z";
const header = { session_id: main, started_at: timestamp, agent: "native", model: "x/y", tool_level: "minimal", task: null };
const line = (id: string, parent: string | null, more: Json = {}) => ({
  id,
  part: 0,
  parent_id: parent,
  timestamp,
  role: "user",
  content: "hi",
  ...more,
});

test("a transcript becomes a session with a turn for each prompt", () => {
  const parsed = skein.parse([
    header,
    line(a, null),
    line(b, a, { role: "thinking" }),
    line(b, a, { part: 1, role: "assistant" }),
    line(c, b),
  ]);
  expect(parsed).toMatchObject({ nativeId: main, tree: null, main, malformed: 0 });
  expect(parsed.sessions).toMatchObject([{ id: main, model: "x/y", toolLevel: "minimal", task: "hi", tip: c }]);
  expect(parsed.nodes.map((node) => node.parts.length)).toEqual([1, 2, 1]);
  expect(parsed.turns).toMatchObject([
    { parent: null, status: "ok" },
    { parent: b, status: "cancelled" },
  ]);
});

test("malformed nodes are counted and left out", () => {
  const bad: Json[] = [
    line("../../x", null),
    line(a, "y"),
    line(a, null, { role: "system" }),
    line(a, null, { content: 1 }),
    line(b, null, { data: { kind: "call", id: 1 } }),
    line(c, null, { timestamp: "never" }),
  ];
  expect(skein.parse([header, ...bad])).toMatchObject({ nodes: [], malformed: 6 });
});

test("handles to outputs of sessions outside of the file are removed", () => {
  const handle = (identifier: string, metadata: Json = {}) => ({ source: "bash", source_version: "1", identifier, metadata });
  const result = { role: "tool_result", tool_id: "c", tool_name: "bash" };
  const parsed = skein.parse([
    header,
    line(a, null, { ...result, handle: handle(`${main}/1`) }),
    line(b, a, { ...result, handle: handle(`${other}/1`) }),
    line(c, b, { handle: handle("/etc/passwd", { stored: `${other}/1` }) }),
  ]);
  expect(parsed.nodes.map((node) => node.parts.map((part) => "handle" in part))).toEqual([[true], [false], [false]]);
});

test("a tree that does not list the session of its header is imported as a plain transcript", () => {
  const parsed = skein.parse([{ ...header, tree: { id: tree, sessions: [{ id: other }], turns: [] } }, line(a, null)]);
  expect(parsed).toMatchObject({ tree: null, sessions: [{ id: main }], nodes: [{ session: main }] });
});

test("usage and cost that would be subtracted from other spending are left out", () => {
  const usage = { input: 1, output: 2, cache_read: 0, cache_write: 0 };
  const costs = [
    { token_usage: { ...usage, input: -1 }, node: { cost_usd: -5 } },
    { token_usage: "x" },
    { token_usage: usage, node: { cost_usd: 0.5 } },
  ];
  const parsed = skein.parse([header, ...[a, b, c].map((id, index) => line(id, null, costs[index]))]);
  const isCounted = parsed.nodes.map((node) => [node.usage, node.costUsd]);
  expect(isCounted).toEqual([
    [undefined, undefined],
    [undefined, undefined],
    [{ input: 1, output: 2, cacheRead: 0, cacheWrite: 0 }, 0.5],
  ]);
});
