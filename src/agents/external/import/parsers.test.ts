// Cases that the recorded transcripts do not contain. The entries have the formats that the programs document or use.
import { describe, expect, test } from "bun:test";
import { join } from "node:path";
import type { Json } from "../../../kit/text/json.ts";
import { claude } from "./claude.ts";
import { codex } from "./codex.ts";
import type { ParsedTranscript } from "./parsed-node.ts";
import { gemini } from "./gemini.ts";
import { opencode } from "./opencode.ts";
import { pi } from "./pi.ts";
import { assignIds } from "./assign-ids.ts";

const timestamp = "2026-11-16T01:02:03.456Z";

/** Each node as `text of the parent → text of the node`. */
function links({ nodes }: ParsedTranscript): string[] {
  const textAt = (index: number | null): string => {
    if (index === null) return "";
    const [part] = nodes[index]!.node.parts;
    return part === undefined ? "-" : "text" in part ? part.text : part.kind === "call" ? part.id : part.kind;
  };
  return nodes.map(({ parent }, index) => `${textAt(parent)} → ${textAt(index)}`);
}

describe("claude", () => {
  const line = (uuid: string, parentUuid: string | null, message: Json, more: Json = {}) => ({
    uuid,
    parentUuid,
    sessionId: "s",
    timestamp,
    type: message["role"] as string,
    message,
    ...more,
  });
  const user = (uuid: string, parent: string | null, text: string, more: Json = {}) =>
    line(uuid, parent, { role: "user", content: text }, more);
  const answer = (uuid: string, parent: string, id: string, block: Json) => line(uuid, parent, { role: "assistant", id, content: [block] });
  const result = (uuid: string, parent: string, call: string) =>
    line(uuid, parent, {
      role: "user",
      content: [{ type: "tool_result", tool_use_id: call, content: [{ type: "text", text: `of ${call}` }] }],
    });

  test("the results of parallel calls become a sequence, although they have different parents", () => {
    const parsed = claude.parse([
      user("u", null, "do"),
      answer("a1", "u", "m", { type: "tool_use", id: "c1", name: "Bash", input: {} }),
      result("r1", "a1", "c1"),
      answer("a2", "a1", "m", { type: "tool_use", id: "c2", name: "Read", input: {} }),
      result("r2", "a2", "c2"),
      answer("a3", "r1", "n", { type: "text", text: "done" }),
    ]);
    expect(links(parsed)).toEqual([" → do", "do → c1", "c1 → of c1", "of c1 → of c2", "of c2 → done"]);
    expect(parsed.nodes[3]!.node.parts[0]).toMatchObject({ name: "Read" });
  });

  test("side chains, meta messages and empty thoughts are left out, and a compaction becomes a note", () => {
    const parsed = claude.parse([
      user("u", null, "do"),
      user("x", "u", "of a sub-agent", { isSidechain: true }),
      user("y", "u", "of the program", { isMeta: true }),
      answer("a", "y", "m", { type: "thinking", thinking: "", signature: "s" }),
      answer("b", "a", "m", { type: "text", text: "done" }),
      { uuid: "k", parentUuid: null, logicalParentUuid: "b", sessionId: "s" },
      user("l", "k", "so far", { isCompactSummary: true }),
      user("z", "lost", "goes on"),
    ]);
    expect(links(parsed)).toEqual([" → do", "do → done", "done → so far", "so far → goes on"]);
    expect(parsed.nodes[2]!.node).toMatchObject({ author: "note", note: { about: "compaction" } });
  });

  test("images in prompts and results are imported", () => {
    const image = { type: "image", source: { type: "base64", media_type: "image/png", data: "aGk=" } };
    const parsed = claude.parse([
      line("u", null, { role: "user", content: [{ type: "text", text: "see" }, image] }),
      answer("a", "u", "m", { type: "tool_use", id: "c", name: "Read", input: { path: "x" } }),
      line("r", "a", { role: "user", content: [{ type: "tool_result", tool_use_id: "c", content: [image] }] }),
    ]);
    expect(parsed.nodes[0]!.node.parts[1]).toEqual({ kind: "image", mime: "image/png", base64: "aGk=" });
    expect(parsed.nodes[2]!.node.parts[0]).toMatchObject({ images: [{ mime: "image/png", base64: "aGk=" }] });
  });
});

describe("codex", () => {
  const item = (payload: Json) => ({ timestamp, type: "response_item", payload });
  const event = (payload: Json) => ({ timestamp, type: "event_msg", payload });
  const user = (text: string) => item({ type: "message", role: "user", content: [{ type: "input_text", text }] });
  const answer = (text: string) => item({ type: "message", role: "assistant", content: [{ type: "output_text", text }] });
  const meta = { timestamp, type: "session_meta", payload: { id: "s" } };

  test("text that Codex added is left out even if its origin is not stored", () => {
    const parsed = codex.parse([
      meta,
      user("<environment_context>\n</environment_context>"),
      user("# AGENTS.md instructions for /"),
      user("do"),
    ]);
    expect(links(parsed)).toEqual([" → do"]);
  });

  test("turns that were rolled back stay in the tree as a branch", () => {
    const parsed = codex.parse([
      meta,
      user("one"),
      answer("1"),
      user("two"),
      answer("2"),
      event({ type: "thread_rolled_back", num_turns: 1 }),
      user("three"),
    ]);
    expect(links(parsed)).toEqual([" → one", "one → 1", "1 → two", "two → 2", "1 → three"]);
  });

  test("free-form and shell calls, failures, late usage and compaction of older versions are imported", () => {
    const parsed = codex.parse([
      meta,
      user("do"),
      item({ type: "custom_tool_call", call_id: "c", name: "apply_patch", input: "*** Begin" }),
      event({ type: "exec_command_end", call_id: "c", exit_code: 2 }),
      item({ type: "custom_tool_call_output", call_id: "c", output: { content: "bad" } }),
      event({ type: "token_count", info: { last_token_usage: { input_tokens: 10, cached_input_tokens: 4, output_tokens: 1 } } }),
      item({ type: "function_call", call_id: "d", name: "shell", arguments: "{oops" }),
      { timestamp, type: "compacted", payload: { message: "so far" } },
    ]);
    expect(parsed.nodes.map(({ node }) => node)).toMatchObject([
      { author: "user" },
      { parts: [{ name: "apply_patch", input: { input: "*** Begin" } }], usage: { input: 6, output: 1, cacheRead: 4 } },
      { parts: [{ call: "c", name: "apply_patch", text: "bad", isError: true }] },
      { parts: [{ name: "shell", malformed: "{oops" }] },
      { author: "note", note: { about: "compaction" } },
    ]);
  });
});

describe("gemini", () => {
  const header = { sessionId: "s", projectHash: "p" };
  const user = (id: string, text: string) => ({ id, timestamp, type: "user", content: [{ text }] });
  const answer = (id: string, content: string) => ({ id, timestamp, type: "gemini", content });

  test("a single object of an older version is imported", () => {
    const parsed = gemini.parse([{ ...header, messages: [user("a", "one"), answer("b", "1"), { id: "c", type: "info", content: "x" }] }]);
    expect(links(parsed)).toEqual([" → one", "one → 1"]);
    expect(parsed.tip).toBe(1);
  });

  test("messages that were rewound stay in the tree as a branch", () => {
    const parsed = gemini.parse([
      header,
      user("a", "one"),
      answer("b", "1"),
      user("c", "two"),
      answer("d", "2"),
      { $rewindTo: "c" },
      user("e", "three"),
    ]);
    expect(links(parsed)).toEqual([" → one", "one → 1", "1 → two", "two → 2", "1 → three"]);
  });

  test("a failed call and a call that only appears in a later list are imported", () => {
    const failed = {
      id: "c",
      name: "t",
      args: {},
      status: "error",
      result: [{ functionResponse: { id: "c", response: { error: "no" } } }],
    };
    const listed = { id: "d", timestamp, type: "gemini", content: [{ functionCall: { id: "e", name: "u", args: { a: 1 } } }] };
    const response = { id: "f", timestamp, type: "user", content: [{ functionResponse: { id: "e", response: { output: "yes" } } }] };
    const parsed = gemini.parse([
      header,
      user("a", "one"),
      { ...answer("b", ""), toolCalls: [failed] },
      { $set: { messages: [user("a", "one"), listed, response] } },
    ]);
    expect(parsed.nodes.flatMap(({ node }) => node.parts)).toMatchObject([
      { text: "one" },
      { kind: "call", id: "c" },
      { call: "c", name: "t", text: "no", isError: true },
      { kind: "call", id: "e", input: { a: 1 } },
      { call: "e", name: "u", text: "yes", isError: false },
    ]);
  });
});

describe("pi", () => {
  const header = { type: "session", id: "s", cwd: "/" };
  const user = (id: string, parentId: string | null, text: string) => ({
    type: "message",
    id,
    parentId,
    timestamp,
    message: { role: "user", content: text },
  });

  test("branches, summaries, compactions and commands of the user keep their positions", () => {
    const parsed = pi.parse([
      header,
      user("a", null, "one"),
      user("b", "a", "two"),
      { type: "model_change", id: "m", parentId: "a", timestamp },
      { type: "branch_summary", id: "c", parentId: "m", timestamp, summary: "left" },
      { type: "compaction", id: "d", parentId: "b", timestamp, summary: "so far", firstKeptEntryId: "b" },
      { type: "message", id: "e", parentId: "d", timestamp, message: { role: "bashExecution", command: "ls", output: "x" } },
    ]);
    expect(links(parsed)).toEqual([
      " → one",
      "one → two",
      "one → Summary of a branch that was left: left",
      "two → so far",
      "so far → The user ran: ls\nx",
    ]);
    const tree = assignIds(parsed, "pi");
    expect(tree.nodes[3]!.note).toEqual({ about: "compaction", keptFrom: tree.nodes[1]!.id });
    expect(new Set(tree.nodes.map((node) => node.id)).size).toBe(5);
  });

  test("entries of the first version, which had no links, form a sequence", () => {
    const message = (text: string) => ({ type: "message", timestamp, message: { role: "user", content: text } });
    expect(links(pi.parse([header, message("one"), message("two")]))).toEqual([" → one", "one → two"]);
  });
});

describe("opencode", () => {
  test("a recorded session becomes prompts, answers with thinking and calls, and results with their tokens and cost", async () => {
    const file = join(import.meta.dir, "../../../../test/fixtures/transcripts/opencode/session.json");
    const parsed = opencode.parse([(await Bun.file(file).json()) as Json]);
    expect(parsed.nativeId).toStartWith("ses_");
    expect(parsed.nodes.map(({ node }) => `${node.author} ${node.parts.map(({ kind }) => kind).join("+")}`)).toEqual([
      "user text",
      "agent thinking+text+call",
      "tool result",
      "agent text",
      "user text",
      "agent thinking+text+call",
      "tool result",
      "agent text",
    ]);
    expect(parsed.nodes[1]!.node).toMatchObject({
      model: "anthropic/claude-sonnet-4-5",
      costUsd: 0.019008,
      usage: { input: 6276, output: 12 },
    });
    expect(parsed.nodes[2]!.node.parts).toMatchObject([{ kind: "result", name: "bash", text: "seen\n", isError: false }]);
  });

  test("a time that no calendar has counts as missing", () => {
    const message = (created: number) => ({ info: { id: "m", role: "user", time: { created } }, parts: [{ type: "text", text: "hi" }] });
    const { nodes } = opencode.parse([{ info: { id: "ses_1" }, messages: [message(5), message(1e300), message(-1e16)] }]);
    expect(nodes.map(({ at }) => at)).toEqual([5, 5, 5]);
  });

  test("a running call has no result yet, and entries of wrong types are left out", () => {
    const running = { id: "p", type: "tool", tool: "bash", callID: "c", state: { status: "running", input: { command: "ls" } } };
    const messages = [
      { info: { id: "m", role: "assistant" }, parts: [running, 7, { type: "text", text: 8 }] },
      "no",
      { info: 1, parts: {} },
    ];
    const { nodes } = opencode.parse([{ info: { id: "ses_1" }, messages }]);
    expect(nodes.map(({ node }) => node.parts.map(({ kind }) => kind))).toEqual([["call"], []]);
    expect(opencode.recognises({ info: { id: "msg_1" }, messages: [] })).toBe(false);
  });
});
