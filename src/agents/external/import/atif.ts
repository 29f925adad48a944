// Parses trajectories of the format ATIF, versions 1.0 to 1.7: one conversation with its sub-agents in one object.
// Steps that are no objects, or that no source took, are counted and left out.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { countAt, listAt, numberAt, objectAt, textAt } from "../../../models/wire/json.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { NewNode, Note, Part } from "../../../protocol/tree/node.ts";
import type { Usage } from "../../../protocol/tree/usage.ts";
import { addNode, findToolName, type ParsedNode, type ParsedTranscript, type TranscriptFormat } from "./parsed-node.ts";
import { callPart, compactionNode, contentParts, resultNode, thinkingParts } from "./parts.ts";

export const atif: TranscriptFormat = { recognises, parse: (entries) => parseTrajectory(entries.find(recognises) ?? {}, "") };

function recognises(entry: Json): boolean {
  return textAt(entry, "schema_version").startsWith("ATIF-v") && Array.isArray(entry["steps"]);
}

/** A chain of sub-agents that is longer is no conversation. */
const maxDepth = 16;

/** `fallbackId` names a sub-agent's trajectory that has no id. */
function parseTrajectory(root: Json, fallbackId: string, depth = 0): ParsedTranscript {
  requireVersion(textAt(root, "schema_version"));
  const nativeId = textAt(root, "trajectory_id") || textAt(root, "session_id") || fallbackId;
  const ownAgent = agentName(textAt(objectAt(root, "agent"), "name"));
  const steps = listAt(root, "steps");
  const state: ParseState = { nodes: [], indexByStep: new Map(), agent: ownAgent === "skein" ? "native" : ownAgent };
  let malformed = (root["steps"] as unknown[]).length - steps.length;
  let copied = 0;
  let isBeforeFork = true;
  for (const step of steps) {
    if (!addStep(state, step)) malformed += 1;
    isBeforeFork &&= step["is_copied_context"] === true;
    if (isBeforeFork) copied = state.nodes.length;
  }
  const below = depth < maxDepth ? listAt(root, "subagent_trajectories").filter(recognises) : [];
  return {
    nativeId,
    nodes: state.nodes,
    tip: state.nodes.length === 0 ? null : state.nodes.length - 1,
    copied,
    subSessions: below.map((child, index) => parseTrajectory(child, `${nativeId} ${index + 1}`, depth + 1)),
    malformed,
  };
}

type ParseState = {
  nodes: ParsedNode[];
  /** The first node of each step, by the step's id. */
  indexByStep: Map<number, number>;
  /** The agent of steps that name none. */
  agent: string | undefined;
};

function requireVersion(schemaVersion: string): void {
  if (/^ATIF-v1\.[0-7]$/.test(schemaVersion)) return;
  throw new Fault("file-unreadable", `${JSON.stringify(schemaVersion.slice(0, 40))} is not supported: skein reads ATIF-v1.0 to ATIF-v1.7`, {
    hint: "nothing was imported",
  });
}

/** The name comes from the file, and is shown in tables. */
function agentName(name: string): string | undefined {
  return /^[\w.-]{1,64}$/.test(name) ? name : undefined;
}

/** Adds the nodes of a step: the message with its calls, then each result. False if the step has no known source. */
function addStep(state: ParseState, step: Json): boolean {
  const node = nodeOf(step);
  if (node === null) return false;
  const { nodes, indexByStep } = state;
  const id = numberAt(step, "step_id") ?? nodes.length + 1;
  const extra = objectAt(step, "extra");
  const results = listAt(objectAt(step, "observation"), "results");
  const keptFrom = indexByStep.get(numberAt(extra, "kept_from_step") ?? -1);
  const named = step["source"] === "agent" ? (agentName(textAt(extra, "agent")) ?? state.agent) : undefined;
  const add = (key: string, added: NewNode) =>
    addNode(nodes, step, { key, parent: nodes.length === 0 ? null : nodes.length - 1, node: added, keptFrom, agent: named });
  indexByStep.set(id, add(`step ${id} with ${node.parts.length} parts`, node));
  const failed = new Set(Array.isArray(extra?.["failed_calls"]) ? (extra["failed_calls"] as unknown[]) : []);
  for (const [index, result] of results.entries()) {
    const call = textAt(result, "source_call_id") || (results.length === 1 ? onlyCall(node) : "");
    const name = findToolName(nodes, nodes.length - 1, call);
    add(`step ${id} result ${index}`, resultNode({ call, name, content: withDataUrls(result["content"]), isError: failed.has(call) }));
  }
  return true;
}

/** A step with one call and one result needs no id for the result. */
function onlyCall({ parts }: NewNode): string {
  const calls = parts.filter((part) => part.kind === "call");
  return calls.length === 1 ? calls[0]!.id : "";
}

function nodeOf(step: Json): NewNode | null {
  const content = contentParts(withDataUrls(step["message"]));
  switch (step["source"]) {
    case "user":
      return { author: "user", parts: content };
    case "system":
      return noteNode(content, textAt(objectAt(step, "extra"), "note"));
    case "agent":
      return answerNode(step, content);
    default:
      return null;
  }
}

function noteNode(parts: Part[], about: string): NewNode {
  if (about === "compaction") return compactionNode(parts);
  const topics: Partial<Record<string, Note>> = {
    interruption: { about: "interruption" },
    correction: { about: "correction" },
    "hand-over": { about: "hand-over" },
    warning: { about: "warning" },
  };
  const note = topics[about];
  return note === undefined ? { author: "note", parts } : { author: "note", parts, note };
}

function answerNode(step: Json, content: Part[]): NewNode {
  const metrics = objectAt(step, "metrics");
  const malformed = objectAt(objectAt(step, "extra"), "malformed_arguments");
  const calls = listAt(step, "tool_calls").map((call): Part => {
    const id = textAt(call, "tool_call_id");
    const part = callPart(id, textAt(call, "function_name") || "unknown", call["arguments"]);
    const text = textAt(malformed, id);
    return part.kind === "call" && text !== "" ? { ...part, malformed: text } : part;
  });
  return {
    author: "agent",
    parts: [...thinkingParts(textAt(step, "reasoning_content")), ...content, ...calls],
    ...(textAt(step, "model_name") === "" ? {} : { model: textAt(step, "model_name") }),
    ...(metrics === undefined ? {} : { usage: usageOf(metrics), costUsd: countAt(metrics, "cost_usd") ?? null }),
  };
}

/** `prompt_tokens` includes the cached ones. */
function usageOf(metrics: Json): Usage {
  const cacheRead = countAt(metrics, "cached_tokens") ?? 0;
  const cacheWrite = countAt(objectAt(metrics, "extra"), "cache_write_tokens") ?? 0;
  const input = Math.max(0, (countAt(metrics, "prompt_tokens") ?? 0) - cacheRead - cacheWrite);
  return { input, output: countAt(metrics, "completion_tokens") ?? 0, cacheRead, cacheWrite };
}

/** Pictures inside the file. A path or URL of a picture is never opened: the file is untrusted. */
function withDataUrls(content: unknown): unknown {
  if (!Array.isArray(content)) return content;
  return content.filter(isRecord).map((part) => {
    const path = textAt(objectAt(part, "source"), "path");
    if (part["type"] !== "image" || path === "") return part;
    return path.startsWith("data:") ? { image_url: path } : { text: `[picture that is not in the file: ${path}]` };
  });
}
