// Parses skein's own transcripts and exported trees (`export --format jsonl`). Ids are preserved, so that an imported
// tree equals the exported one. The file is untrusted: malformed entries are left out.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { listAt, objectAt, textAt } from "../../../models/wire/json.ts";
import type { ImportedNode, ImportedSession, ImportedTurn } from "../../../protocol/tree/import.ts";
import type { Handle } from "../../../protocol/tree/handle.ts";
import { type Node, type Part, type ResultPart, textOf } from "../../../protocol/tree/node.ts";
import { toolLevels, type Policy, type EnforcedPolicy } from "../../../protocol/api/policy.ts";
import { turnStatuses, type TurnError } from "../../../protocol/api/error.ts";
import { nodeOfLines, type TreeLine } from "../../../protocol/json/tree-lines.ts";
import { type Usage, zeroUsage } from "../../../protocol/tree/usage.ts";
import { assignTurns, type ParsedTree, unknownPolicy } from "./assign-ids.ts";
import { timeOf } from "./parsed-node.ts";

export const skein = { recognises, parse };

function recognises(entry: Json): boolean {
  return isId(entry["session_id"]) && "started_at" in entry && "tool_level" in entry;
}

function parse(entries: Json[]): ParsedTree {
  const header = entries.find(recognises) ?? {};
  const main = textAt(header, "session_id");
  const { nodes, malformed } = nodesOf(entries, main);
  const tree = objectAt(header, "tree");
  const sessions = listAt(tree, "sessions").filter((session) => isId(session["id"]));
  const sessionIds = new Set([main, ...sessions.map((session) => textAt(session, "id"))]);
  for (const node of nodes) node.parts = node.parts.map((part) => withOwnHandle(part, sessionIds));
  if (!isId(tree?.["id"]) || !sessions.some((session) => session["id"] === main)) {
    for (const node of nodes) Object.assign(node, { turn: null, session: main });
    const turns = assignTurns(nodes, textAt(header, "agent") || "native");
    return { nativeId: main, tree: null, main, sessions: [plainSession(header, main, nodes)], turns, nodes, malformed };
  }
  const turns = listAt(tree, "turns").filter((turn) => isId(turn["id"]) && sessionIds.has(textAt(turn, "session_id")));
  const turnIds = new Map(turns.map((turn) => [textAt(turn, "id"), textAt(turn, "session_id")]));
  for (const node of nodes) {
    if (!sessionIds.has(node.session)) node.session = main;
    if (node.turn !== null && turnIds.get(node.turn) !== node.session) node.turn = null;
  }
  return { nativeId: main, tree: textAt(tree, "id"), main, sessions: sessions.map(sessionOf), turns: turns.map(turnOf), nodes, malformed };
}

function nodesOf(entries: Json[], main: string): { nodes: ImportedNode[]; malformed: number } {
  const body = entries.filter((entry) => !recognises(entry));
  const valid = body.filter(isLine);
  let malformed = body.length - valid.length;
  const nodes: ImportedNode[] = [];
  for (const lines of Map.groupBy(valid, (line) => textAt(line, "id")).values()) {
    const { tree: _tree, ...node } = withKnownFields(nodeOfLines(lines as TreeLine[], "", main));
    if (node.parts.every(isPart) && Number.isFinite(node.at)) nodes.push({ ...node, ...outputsOf(lines, node.parts) });
    else malformed += 1;
  }
  return { nodes, malformed };
}

/** Leaves out additional fields of another type. */
function withKnownFields({ note, model, costUsd, usage, ...node }: Node): Node {
  return {
    ...node,
    ...(isRecord(note) && typeof note["about"] === "string" ? { note } : {}),
    ...(typeof model === "string" ? { model } : {}),
    ...(isAmount(costUsd) || costUsd === null ? { costUsd } : {}),
    ...(isUsage(usage) ? { usage } : {}),
  };
}

function isUsage(value: unknown): value is Usage {
  return isRecord(value) && Object.keys(zeroUsage).every((name) => isAmount(value[name]));
}

/** A negative amount would be subtracted from what was really spent. */
function isAmount(value: unknown): boolean {
  return typeof value === "number" && Number.isFinite(value) && value >= 0;
}

function isLine(entry: Json): boolean {
  const isRole = ["user", "assistant", "thinking", "tool_call", "tool_result", "note"].includes(textAt(entry, "role"));
  return isRole && isId(entry["id"]) && (entry["parent_id"] === null || isId(entry["parent_id"])) && typeof entry["content"] === "string";
}

function isPart(part: Part): boolean {
  switch (part.kind) {
    case "text":
    case "thinking":
      return typeof part.text === "string";
    case "call":
      return typeof part.id === "string" && typeof part.name === "string" && isRecord(part.input);
    case "result":
      return typeof part.call === "string" && typeof part.name === "string" && typeof part.text === "string" && !isBadHandle(part.handle);
    case "image":
      return typeof part.mime === "string" && typeof part.base64 === "string";
    case "handle":
      return part.handle !== undefined && !isBadHandle(part.handle) && typeof part.excerpt === "string";
    default:
      return false;
  }
}

function isBadHandle(handle: unknown): boolean {
  return handle !== undefined && !(isRecord(handle) && typeof handle["identifier"] === "string" && isRecord(handle["metadata"]));
}

/** Removes handles to outputs of sessions that are not in the file. */
function withOwnHandle(part: Part, sessions: Set<string>): Part {
  const handle = "handle" in part ? part.handle : undefined;
  const [session = ""] = handle === undefined ? [] : storedName(handle).split("/", 1);
  if (handle === undefined || !isId(session) || sessions.has(session)) return part;
  if (part.kind === "handle") return { kind: "text", text: part.excerpt };
  const { handle: _handle, ...withoutHandle } = part as ResultPart;
  return withoutHandle;
}

function storedName(handle: Handle): string {
  return typeof handle.metadata["stored"] === "string" ? handle.metadata["stored"] : handle.identifier;
}

function outputsOf(lines: Json[], parts: Part[]): Pick<ImportedNode, "outputs"> {
  const outputs = lines.flatMap((line, index) => {
    const output = objectAt(line, "output");
    const part = parts[index];
    const handle = part !== undefined && "handle" in part ? part.handle : undefined;
    if (output === undefined || part === undefined || handle === undefined) return [];
    const bytes = Buffer.from(textAt(output, "text") || textAt(output, "base64"), "text" in output ? "utf8" : "base64");
    return [{ handle: { ...handle, identifier: storedName(handle) }, call: part.kind === "result" ? part.call : "", bytes }];
  });
  return outputs.length === 0 ? {} : { outputs };
}

/** The session of an ordinary transcript, from its header and the end of the file. */
function plainSession(header: Json, main: string, nodes: ImportedNode[]): ImportedSession {
  const first = nodes.find((node) => node.author === "user");
  return {
    ...sessionOf({ ...header, id: main, created_at: header["started_at"] }),
    task: textAt(header, "task") || (first === undefined ? null : textOf(first)),
    tip: nodes.at(-1)?.id ?? null,
  };
}

function sessionOf(line: Json): ImportedSession {
  const forked = objectAt(line, "forked_from");
  const level = toolLevels.find((known) => known === line["tool_level"]) ?? "orchestrator";
  return {
    id: textAt(line, "id"),
    name: textAt(line, "name") || null,
    agent: textAt(line, "agent") || "native",
    model: textAt(line, "model") || null,
    task: textAt(line, "task") || null,
    toolLevel: level,
    tip: isId(line["tip"]) ? textAt(line, "tip") : null,
    forkedFrom:
      isId(forked?.["session_id"]) && isId(forked?.["node_id"])
        ? { session: textAt(forked, "session_id"), node: textAt(forked, "node_id") }
        : null,
    createdAt: timeOf(line, "created_at", 0),
    ...(textAt(line, "plan") === "" ? {} : { plan: textAt(line, "plan") }),
  };
}

function turnOf(line: Json): ImportedTurn {
  const startedAt = timeOf(line, "started_at", 0);
  const policy = objectAt(line, "policy");
  return {
    id: textAt(line, "id"),
    session: textAt(line, "session_id"),
    parent: isId(line["parent"]) ? textAt(line, "parent") : null,
    agent: textAt(line, "agent"),
    model: textAt(line, "model") || null,
    ...(textAt(line, "role") === "" ? {} : { role: textAt(line, "role") }),
    nativeId: textAt(line, "native_id") || null,
    policy: policy === undefined ? unknownPolicy : ({ addDirs: [], ...policy } as unknown as Policy),
    enforced: (objectAt(line, "enforced") ?? null) as EnforcedPolicy | null,
    startedAt,
    endedAt: timeOf(line, "ended_at", startedAt),
    status: turnStatuses.find((status) => status === line["status"]) ?? "killed",
    error: (objectAt(line, "error") ?? null) as TurnError | null,
  };
}

function isId(value: unknown): boolean {
  return typeof value === "string" && /^[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}$/.test(value);
}
