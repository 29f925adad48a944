import { describe, expect, test } from "bun:test";
import { findMethod, methodNames } from "../schema/check-params.ts";
import type { Ask } from "../api/control.ts";
import type { Event, DurableEventBody, TransientEventBody } from "../tree/event.ts";
import type { Node, Note, Part } from "../tree/node.ts";
import { defaultPolicy } from "../api/policy.ts";
import { askRecord, eventRecord, nodeRecord, sessionRecord, turnRecord, turnInfoRecord } from "./records.ts";
import type { BranchComparison, FoundNode } from "../tree/views.ts";
import type { Session, Turn } from "../tree/turn.ts";
import { snakeCase } from "./field-names.ts";
import { fromJsonCase, toJsonCase, toPrintedJson } from "./json-case.ts";

const at = Date.UTC(2026, 10, 16, 1, 2, 3, 456);
const usage = { input: 1, output: 2, cacheRead: 3, cacheWrite: 4 };
/** Names as other programs choose them. */
const foreign = { old_text: "a", oldText: "b", at: 5, startedAt: 5, nested: [{ endedAt: 1, forkedFrom: { session: 1 } }], _x: 1, __a: 2 };
const handle = { source: "bash", sourceVersion: "1", identifier: "s/1", metadata: { exitCode: 0, keptBytes: 1, takenAt: 7 } };
const opaque = { wire: "anthropic", model: "x", data: { a_b: 1, aB: 2, at: 3 } };

const session: Session = {
  id: "s",
  name: "main",
  tree: "t",
  tip: null,
  agent: "native",
  model: "anthropic/x",
  directory: "/d",
  project: "/d",
  task: "the task",
  toolLevel: "minimal",
  parentSession: null,
  forkedFrom: null,
  transcript: "/d/.skein/sessions/x.jsonl",
  createdAt: at,
  updatedAt: at + 1,
  archivedAt: null,
};
const sessions: Session[] = [
  session,
  {
    ...session,
    parentSession: "p",
    forkedFrom: { session: "q", node: "n" },
    plan: "first this",
    archivedAt: at,
    source: { agent: "claude", nativeId: "x", path: null, sha256: "00", tip: "n" },
  },
];

const turn: Turn = {
  id: "u",
  session: "s",
  parent: null,
  tip: "n",
  agent: "claude",
  model: null,
  nativeId: "native",
  policy: { ...defaultPolicy, allowWrite: ["/a_b"], addDirs: ["/aB"] },
  enforced: null,
  usage,
  costUsd: null,
  steps: 3,
  startedAt: at,
  endedAt: null,
  status: null,
  error: null,
};
const turns: Turn[] = [
  turn,
  {
    ...turn,
    endedAt: at,
    status: "budget",
    error: { kind: "budget", message: "no more", hint: "raise it", limit: "tokens" },
    enforced: {
      policy: "workspace",
      tier: "namespaces",
      fs: true,
      net: "gateway",
      secrets: true,
      processes: true,
      missing: ["a_b"],
    },
    cli: { version: "1", argv: ["--a_b", "--aB"], started: "fork", exitCode: 0, signal: null, bytes: 5, firstEventMs: 12 },
    source: { agent: "pi", nativeId: "y", path: "/p", sha256: "00", tip: null },
  },
];

const parts: Part[] = [
  { kind: "text", text: "größer \u0000 \ud83d\ude00 \ud800 2026-11-16T01:02:03.456Z\n", opaque },
  { kind: "thinking", text: "hm", opaque },
  { kind: "call", id: "c", name: "edit", input: foreign, opaque },
  { kind: "call", id: "d", name: "edit", input: {}, malformed: "{oops" },
  {
    kind: "result",
    call: "c",
    name: "edit",
    text: "",
    isError: true,
    images: [{ mime: "image/gif", base64: "R0k=" }],
    handle,
    display: "-a",
  },
  { kind: "image", mime: "image/png", base64: "aGVsbG8=" },
  { kind: "handle", handle, excerpt: "1\n2" },
];
const notes: (Note | undefined)[] = [
  undefined,
  { about: "compaction", keptFrom: null },
  { about: "compaction", keptFrom: "n" },
  { about: "interruption" },
  { about: "correction" },
  { about: "warning" },
  { about: "below", call: "c" },
  { about: "graft", from: { session: "s", node: "n" } },
  {
    about: "group",
    said: { asked: "n0", phase: "validation", round: 2, who: "openai/gpt-5.2", status: "empty", tries: 3, sessionId: null, costUsd: 0.5 },
  },
];
const nodes: Node[] = notes.map((note, index) => ({
  id: `n${index}`,
  parent: index === 0 ? null : "n0",
  tree: "t",
  session: "s",
  turn: index % 2 === 0 ? null : "u",
  at: at + index,
  author: note === undefined ? "agent" : "note",
  parts,
  ...(note === undefined ? {} : { note }),
  ...(index % 2 === 0 ? { model: "a/b", usage, costUsd: null } : {}),
}));

const ask: Ask = {
  id: "a",
  session: "s",
  turn: "u",
  call: null,
  question: "which?",
  options: ["a_b", "aB"],
  openedAt: at,
  expiresAt: null,
  closedAt: at,
  outcome: "answered",
  answer: "a_b",
};

const durable: { [Type in DurableEventBody["type"]]: Extract<DurableEventBody, { type: Type }> } = {
  "turn.started": { type: "turn.started", turn, session },
  "node.added": { type: "node.added", node: nodes[2]! },
  "ask.opened": { type: "ask.opened", ask: { ...ask, closedAt: null, outcome: null, answer: null, expiresAt: at } },
  "ask.closed": { type: "ask.closed", ask },
  "queue.changed": { type: "queue.changed", queue: [{ id: "q", text: "also this", queuedAt: at }] },
  "turn.ended": { type: "turn.ended", turn: turns[1]!, session: sessions[1]!, answer: "done", below: { usage, costUsd: 1.5 } },
};
const transient: { [Type in TransientEventBody["type"]]: Extract<TransientEventBody, { type: Type }> } = {
  "text.delta": { type: "text.delta", text: "a_b" },
  "thinking.delta": { type: "thinking.delta", text: "aB" },
  "call.started": { type: "call.started", call: "c", name: "edit" },
  "tool.started": { type: "tool.started", call: "c", name: "edit", input: foreign },
  "tool.output": { type: "tool.output", call: "c", text: "x", stream: "stderr" },
  "tool.exited": { type: "tool.exited", call: "c", exitCode: null, signal: "SIGKILL", durationMs: 5 },
  "snapshot.started": { type: "snapshot.started" },
  "snapshot.ended": { type: "snapshot.ended" },
  "tool.denied": { type: "tool.denied", call: "c", what: "net", text: "no" },
  "model.retried": { type: "model.retried", attempt: 1, waitMs: 250, error: { kind: "overloaded", message: "busy" } },
  "warning.raised": { type: "warning.raised", message: "careful" },
  "turn.paused": { type: "turn.paused" },
  "turn.resumed": { type: "turn.resumed" },
  "session.spawned": { type: "session.spawned", call: "c", session: "child", agent: "native", task: "dig" },
  "draft.shown": { type: "draft.shown", key: "text", text: "so far" },
};
const head = { seq: 7, sessionId: "s", turnId: "u", at };
const events: Event[] = [
  ...Object.values(durable).map((body) => ({ ...head, ...body })),
  ...Object.values(transient).map((body) => ({ ...head, n: 2, ...body })),
];

const side = {
  session,
  tip: "n",
  nodes: 1,
  messages: 1,
  toolCalls: 2,
  failedCalls: 0,
  turns: 1,
  steps: 1,
  usage,
  costUsd: 0.5,
  startedAt: at,
  endedAt: null,
  status: null,
  firstMessage: null,
  answer: "yes",
  files: [{ path: "a_b/aB", kind: "added" as const, added: 1, removed: 0, binary: true as const }],
  otherFiles: [{ path: "a_b/aC", kind: "added" as const, added: 1, removed: 0, by: [{ id: "a", name: "a_b" }, null] }],
  unknownFiles: 0,
};
const comparison: BranchComparison = {
  fork: nodes[0]!,
  sharedNodes: 3,
  shared: { messages: 2, toolCalls: 1 },
  a: side,
  b: { ...side, session: null, startedAt: null },
};
const found: FoundNode = { node: nodes[0]!, session, snippet: "a_b", marks: [[0, 1]], rank: 0.5, before: null, after: nodes[1]! };

function sent(value: unknown): unknown {
  return JSON.parse(JSON.stringify(toJsonCase(value)));
}

describe("JSON that leaves the process", () => {
  test("JSON converts back to the same value", () => {
    for (const value of [...sessions, ...turns, ...nodes, ask, ...events, comparison, found])
      expect(fromJsonCase(sent(value))).toEqual(value);
    const tree = { nodes, sessions, turns, rows: turns.map((item) => ({ session, turn: item, state: "asking", pid: 5 })) };
    expect(fromJsonCase(sent(tree))).toEqual(tree);
  });

  test("JSON of the hub has all fields of the printed record", () => {
    for (const event of events) expect(sent(event)).toMatchObject(eventRecord(event));
    for (const item of sessions) expect(sent(item)).toMatchObject(sessionRecord(item));
    for (const item of turns) expect(sent(item)).toMatchObject(turnRecord(item));
    for (const item of nodes) expect(sent(item)).toMatchObject(nodeRecord(item));
    expect(sent(ask)).toEqual(askRecord(ask));
    expect(sent(comparison)).toMatchObject(toPrintedJson(comparison) as object);
    expect(sent(found)).toMatchObject(toPrintedJson(found) as object);
    const info = { session, turn, state: "paused" as const, pid: null };
    expect(sent(info)).toMatchObject(turnInfoRecord(info));
  });

  test("JSON has no camelCase key of skein and no time as a number", () => {
    const text = JSON.stringify(sent([sessions, turns, events.filter(({ type }) => type !== "node.added" && type !== "tool.started")]));
    expect(text.match(/"[a-z]+[A-Z]\w*":/g)).toBeNull();
    expect(text.match(/"(at|\w+_at)":\d/g)).toBeNull();
    expect(text).toContain('"at":"2026-11-16T01:02:03.456Z"');
  });

  test("names from other programs stay unchanged", () => {
    const node = sent(nodes[0]) as { parts: { input?: unknown; opaque?: unknown; handle?: { metadata: unknown } }[] };
    expect(JSON.stringify(node.parts[2]!.input)).toBe(JSON.stringify(foreign));
    expect(node.parts[1]!.opaque).toEqual(opaque);
    const rows = [{ key: "providers", value: foreign, written: [foreign], origin: "user", description: "" }];
    expect(sent(rows)).toEqual(rows);
    const schema = { $schema: "x", properties: { max_steps: { minItems: 1 } }, additionalProperties: false };
    expect(sent(schema)).toEqual(schema);
    expect(fromJsonCase(schema)).toEqual(schema);
    const tools = { tools: [{ name: "edit", description: "", parameters: { type: "object", properties: { oldText: {} } } }] };
    expect(sent(tools)).toEqual(tools);
  });

  test("the names of a handle's metadata are snake_case, and its values stay unchanged", () => {
    const { parts } = sent(nodes[0]) as { parts: { handle?: { metadata: unknown } }[] };
    expect(parts[6]!.handle!.metadata).toEqual({ exit_code: 0, kept_bytes: 1, taken_at: 7 });
  });

  test("params are encoded with their documented names", () => {
    expect(toJsonCase({ session: "s", node: "n" })).toEqual({ session: "s", node: "n" });
    expect(toJsonCase({ session: "s", at: "n", name: null })).toEqual({ session: "s", at: "n", name: null });
    expect(toJsonCase({ endedSince: at })).toEqual({ ended_since: "2026-11-16T01:02:03.456Z" });
    expect(toJsonCase({ since: at })).toEqual({ since: "2026-11-16T01:02:03.456Z" });
    expect(toJsonCase({ answerSchema: foreign, env: { A_b: "c" } })).toEqual({ answer_schema: foreign, env: { A_b: "c" } });
  });
});

describe("times", () => {
  test("times of every size convert back to the millisecond", () => {
    for (const time of [0, 1, -1, at, 8.64e15, -8.64e15, 253_402_300_800_000, 8.65e15, 1.5, null])
      expect(fromJsonCase(sent({ at: time, createdAt: time }))).toEqual({ at: time, createdAt: time });
  });

  test("only fields with the name of a time and the ISO form are times", () => {
    const text = { at: "2026-11-16", startedAt: "1", endedAt: "2026-11-16T01:02:03Z", text: "2026-11-16T01:02:03.456Z" };
    expect(fromJsonCase(sent(text))).toEqual(text);
  });
});

test("a method has exactly one JSON name", () => {
  for (const method of methodNames) {
    expect(snakeCase(method)).toMatch(/^[a-z]+\.[a-z_]+$/);
    expect(findMethod(snakeCase(method))).toBe(method);
  }
  expect(snakeCase("node.addSession")).toBe("node.add_session");
  for (const other of ["node.addSession", "toString", "session", "", "session.close"]) expect(findMethod(other)).toBeNull();
});
