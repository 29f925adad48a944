import { afterAll, beforeAll, expect, test } from "bun:test";
import { appendFileSync, mkdirSync, mkdtempSync, readFileSync, rmSync, statSync, truncateSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { Node } from "../protocol/tree/node.ts";
import type { Session } from "../protocol/tree/turn.ts";
import { sampleNodes, newSession } from "./fixtures/samples.ts";
import { readTranscript } from "./fixtures/read-transcript.ts";
import { catchUp, Transcript } from "./transcript.ts";
import { transcriptPath } from "./transcript-path.ts";
import { toTranscriptLines } from "../protocol/json/transcript-lines.ts";

let root = "";
beforeAll(() => {
  root = mkdtempSync(join(tmpdir(), "skein-transcript-"));
});
afterAll(() => rmSync(root, { recursive: true, force: true }));

const session: Session = {
  ...newSession({ parentSession: "parent" }),
  id: "01900000-0000-7000-8000-0000deadbeef",
  tree: "t",
  tip: null,
  forkedFrom: { session: "s0", node: "n0" },
  createdAt: Date.UTC(2026, 10, 16, 1, 2, 3, 456),
  updatedAt: 0,
  archivedAt: null,
};

const nodes: Node[] = sampleNodes.map((node, index) => ({
  ...node,
  id: `n${index}`,
  parent: index === 0 ? null : `n${index - 1}`,
  tree: "t",
  session: session.id,
  turn: null,
  at: session.createdAt + index,
}));

function newPath(): string {
  const project = join(root, Bun.randomUUIDv7());
  mkdirSync(project);
  return transcriptPath(join(project, ".skein", "sessions"), session);
}

function writeTranscript(count = nodes.length): string {
  const path = newPath();
  const transcript = Transcript.open(path, session);
  for (const node of nodes.slice(0, count)) transcript.append(node);
  transcript.close();
  return path;
}

test("a transcript begins with a header about the session", async () => {
  const path = writeTranscript(0);
  expect(path).toEndWith(join(".skein", "sessions", "2026-11-16-01-02-03-deadbeef.jsonl"));
  expect((await readTranscript(path)).header).toEqual({
    session_id: session.id,
    started_at: "2026-11-16T01:02:03.456Z",
    agent: "native",
    provider: "replay",
    model: "replay/one",
    task: "do it",
    parent_session_id: "parent",
    is_sub_session: true,
    tool_level: "orchestrator",
    forked_from: { session_id: "s0", node_id: "n0" },
  });
});

test("each part of a node is one line with fields for role, tool and error", async () => {
  const { lines, torn } = await readTranscript(writeTranscript());
  expect(torn).toBe(false);
  expect(lines.map((line) => `${line.id}.${line.part} ${line.role}`)).toEqual([
    "n0.0 user",
    "n0.1 user",
    "n1.0 thinking",
    "n1.1 assistant",
    "n1.2 tool_call",
    "n1.3 tool_call",
    "n2.0 tool_result",
    "n2.1 tool_result",
    "n3.0 note",
    "n4.0 note",
    "n5.0 user",
  ]);
  expect(lines[1]!.content).toBe("[image image/png, 5 bytes]");
  expect(lines[4]).toEqual({
    id: "n1",
    part: 2,
    parent_id: "n0",
    timestamp: "2026-11-16T01:02:03.457Z",
    role: "tool_call",
    content: '{"command":"ls","nested":{"deep":[1,2]}}',
    tool_name: "bash",
    tool_id: "c1",
  });
  expect(lines[5]).toMatchObject({ content: "{oops", token_usage: { input: 100, output: 20, cache_read: 5, cache_write: 7 } });
  expect(lines[6]).toMatchObject({
    content: "a\nb\n[image image/gif, 2 bytes]",
    tool_id: "c1",
    is_error: false,
    handle: { source: "bash", source_version: "1", identifier: "a/1", metadata: { exit_code: 0, duration_ms: 12 } },
  });
  expect(lines[7]).toMatchObject({ is_error: true });
  expect(lines[8]!.note).toEqual({ about: "compaction", kept_from: null });
  expect(lines.filter((line) => line.token_usage)).toHaveLength(1);
});

test("a transcript is private and ignored by git", () => {
  const path = writeTranscript(1);
  expect(statSync(path).mode & 0o777).toBe(0o600);
  expect(statSync(join(path, "..")).mode & 0o777).toBe(0o700);
  expect(readFileSync(join(path, "..", "..", ".gitignore"), "utf8")).toBe(".gitignore\nplan.md\nsessions/\nteams/\nworktrees/\n");
});

test("a torn last line is skipped by readers, and removed when the session continues", async () => {
  const text = readFileSync(writeTranscript(), "utf8");
  for (const lost of [1, 5, 60, 200, text.length - text.indexOf("\n") - 2]) {
    const path = writeTranscript();
    truncateSync(path, Buffer.byteLength(text) - lost);
    const before = await readTranscript(path);
    expect(before.torn).toBe(true);
    const transcript = Transcript.open(path, session);
    expect(transcript.last?.id ?? null).toBe(before.lines.at(-1)?.id ?? null);
    expect((await readTranscript(path)).torn).toBe(false);
    await catchUp(transcript, nodes);
    transcript.close();
    expect(readFileSync(path, "utf8")).toBe(text);
  }
});

test("nodes that are missing after a crash are added", async () => {
  const path = writeTranscript(2);
  const transcript = Transcript.open(path, session);
  expect(await catchUp(transcript, nodes)).toBe(nodes.slice(2).flatMap(toTranscriptLines).length);
  expect(await catchUp(transcript, nodes)).toBe(0);
  transcript.close();
  expect(readFileSync(path, "utf8")).toBe(readFileSync(writeTranscript(), "utf8"));
});

test("a last line that is not JSON does not cause duplicate lines", async () => {
  const path = writeTranscript(2);
  appendFileSync(path, "garbage\n");
  const transcript = Transcript.open(path, session);
  expect(await catchUp(transcript, nodes)).toBe(nodes.slice(2).flatMap(toTranscriptLines).length);
  transcript.close();
});

test("a file without its header gets it again", async () => {
  const path = writeTranscript();
  writeFileSync(path, '{"session_id":"01');
  const transcript = Transcript.open(path, session);
  await catchUp(transcript, nodes);
  transcript.close();
  expect(readFileSync(path, "utf8")).toBe(readFileSync(writeTranscript(), "utf8"));
});

test("a very long last line is read correctly", async () => {
  const path = writeTranscript(1);
  const long: Node = { ...nodes[0]!, id: "long", parts: [{ kind: "text", text: "y".repeat(3 << 20) }] };
  const first = Transcript.open(path, session);
  first.append(long);
  first.close();
  appendFileSync(path, "z".repeat(200_000));
  const second = Transcript.open(path, session);
  expect(second.last).toEqual({ id: "long", part: 0 });
  second.close();
  expect((await readTranscript(path)).lines).toHaveLength(3);
});
