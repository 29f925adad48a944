// Parses Codex's rollout files, which have one response item per line. The items of one response become one node. Items
// that Codex itself added (environment, instructions) are left out.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { countAt, listAt, numberAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { NewNode, Part } from "../../../protocol/tree/node.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import { addNode, type ParsedNode, findToolName, type ParsedTranscript, type TranscriptFormat } from "./parsed-node.ts";
import { callPart, compactionNode, contentParts, resultNode, thinkingParts } from "./parts.ts";

export const codex: TranscriptFormat = { recognises, slim, parse };

function recognises(entry: Json): boolean {
  return entry["type"] === "session_meta" && isRecord(entry["payload"]);
}

const entryTypes = new Set(["session_meta", "turn_context", "response_item", "event_msg", "token_usage_record", "compacted"]);

function slim(entry: Json): Json | null {
  return entryTypes.has(textAt(entry, "type")) ? entry : null;
}

type State = {
  nodes: ParsedNode[];
  tip: number | null;
  /** Index of the agent node that gets the next item of the same response; null between responses. */
  openAnswer: number | null;
  /** Index of the last agent node. Codex writes the usage after the items of a response. */
  lastAnswer: number | null;
  provider: string;
  model: string;
  /** Ids of calls that failed. */
  failedCalls: Set<string>;
};

function parse(entries: Json[]): ParsedTranscript {
  const meta = objectAt(entries.find(recognises), "payload");
  const provider = textAt(meta, "model_provider") || "openai";
  const state: State = { nodes: [], tip: null, openAnswer: null, lastAnswer: null, provider, model: "", failedCalls: new Set() };
  for (const [index, entry] of entries.entries()) readEntry(state, entry, index);
  return { nativeId: textAt(meta, "id"), nodes: state.nodes, tip: state.tip };
}

function readEntry(state: State, entry: Json, index: number): void {
  const payload = objectAt(entry, "payload") ?? {};
  switch (entry["type"]) {
    case "turn_context":
      state.model = textAt(payload, "model") || state.model;
      return;
    case "response_item":
      return readItem(state, entry, payload, textAt(payload, "id") || `${textAt(payload, "call_id")} line ${index}`);
    case "compacted":
      if (textAt(payload, "message") !== "") add(state, entry, `line ${index}`, compactionNode(contentParts(payload["message"])));
      return;
    case "token_usage_record":
      return addUsage(state, objectAt(payload, "usage"));
    case "event_msg":
      return readEvent(state, payload);
  }
}

function readEvent(state: State, payload: Json): void {
  const item = objectAt(payload, "item");
  switch (payload["type"]) {
    case "token_count":
      if (state.lastAnswer !== null && state.nodes[state.lastAnswer]!.node.usage === undefined)
        addUsage(state, objectAt(objectAt(payload, "info"), "last_token_usage"));
      return;
    case "item_completed":
      if (textAt(item, "status") === "failed") state.failedCalls.add(textAt(item, "id"));
      return;
    case "exec_command_end":
      if ((numberAt(payload, "exit_code") ?? 0) !== 0) state.failedCalls.add(textAt(payload, "call_id"));
      return;
    case "thread_rolled_back":
      return rollBack(state, numberAt(payload, "num_turns") ?? 0);
  }
}

function readItem(state: State, entry: Json, item: Json, key: string): void {
  const type = textAt(item, "type");
  if (type === "message" && item["role"] !== "assistant") {
    const parts = item["role"] === "user" ? contentParts(userContent(item)) : [];
    if (parts.length > 0) add(state, entry, key, { author: "user", parts });
    return;
  }
  if (type.endsWith("_call_output")) {
    const call = textAt(item, "call_id");
    const name = findToolName(state.nodes, state.tip, call);
    add(state, entry, key, resultNode({ call, name, ...outcomeOf(item["output"], state.failedCalls.has(call)) }));
    return;
  }
  const parts = answerParts(item, type);
  if (parts.length === 0) return;
  if (state.openAnswer === null) {
    const model = state.model === "" ? {} : { model: `${state.provider}/${state.model}` };
    state.openAnswer = state.lastAnswer = add(state, entry, key, { author: "agent", parts: [], ...model });
  } else state.nodes[state.openAnswer]!.key += ` ${key}`;
  state.nodes[state.openAnswer]!.node.parts.push(...parts);
}

function answerParts(item: Json, type: string): Part[] {
  const call = textAt(item, "call_id") || textAt(item, "id");
  switch (type) {
    case "message":
      return contentParts(item["content"]);
    case "reasoning": {
      const texts = [...listAt(item, "summary"), ...listAt(item, "content")].map((piece) => textAt(piece, "text"));
      return thinkingParts(texts.filter((line) => line !== "").join("\n\n"));
    }
    case "function_call":
      return [callPart(call, textAt(item, "name"), item["arguments"])];
    case "custom_tool_call":
      return [callPart(call, textAt(item, "name"), { input: item["input"] })];
    case "local_shell_call":
      return [callPart(call, "local_shell", item["action"])];
    default:
      return [];
  }
}

/** The content blocks that the user wrote. Newer versions store the origin of a block. In older ones its first words decide. */
function userContent(item: Json): Json[] {
  const origins = listAt(objectAt(item, "internal_chat_message_metadata_passthrough"), "content_item_metadata");
  return listAt(item, "content").filter((piece, index) => {
    const origin = textAt(objectAt(origins[index], "provenance"), "type");
    return origin === "" ? !programTextPattern.test(textAt(piece, "text")) : origin === "user";
  });
}

const programTextPattern =
  /^\s*(<(environment_context|user_instructions|permissions instructions|skills_instructions|turn_aborted)\b|# AGENTS\.md instructions)/;

function outcomeOf(output: unknown, isFailed: boolean): { content: unknown; isError: boolean } {
  if (!isRecord(output)) return { content: output, isError: isFailed };
  return { content: output["content"], isError: isFailed || output["success"] === false };
}

function addUsage(state: State, usage: Json | undefined): void {
  const node = state.lastAnswer === null ? undefined : state.nodes[state.lastAnswer]!.node;
  state.openAnswer = null;
  if (node === undefined || usage === undefined) return;
  node.usage = codexUsage(usage);
  node.costUsd = null;
}

/** Codex's input tokens include cached ones. */
export function codexUsage(usage: Json): Usage {
  const cacheRead = countAt(usage, "cached_input_tokens") ?? 0;
  const cacheWrite = countAt(usage, "cache_write_input_tokens") ?? 0;
  const input = Math.max(0, (countAt(usage, "input_tokens") ?? 0) - cacheRead - cacheWrite);
  return { input, output: countAt(usage, "output_tokens") ?? 0, cacheRead, cacheWrite };
}

/** Moves the tip back by `turns` prompts. The nodes after it stay in the tree as a branch. */
function rollBack(state: State, turns: number): void {
  for (let remaining = turns; remaining > 0 && state.tip !== null;) {
    const last: ParsedNode = state.nodes[state.tip]!;
    if (last.node.author === "user") remaining -= 1;
    state.tip = last.parent;
  }
  state.openAnswer = state.lastAnswer = null;
}

function add(state: State, entry: Json, key: string, node: NewNode): number {
  state.openAnswer = null;
  state.tip = addNode(state.nodes, entry, { key, parent: state.tip, node });
  return state.tip;
}
