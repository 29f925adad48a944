// Writes a tree as the lines of a transcript, and reads it back. Additional fields hold the data that a transcript lacks: `tree`
// in the header, `node` on the first line of a node, `data` for a part that the other fields can't hold, and `output` for
// the full output of a handle.
import { parseJson } from "../../kit/text/json.ts";
import type { TreeView } from "../api/api.ts";
import type { TreeHeader, TreeLine } from "../schema/printed.ts";
import type { CheckOutcome, StatementInfo } from "../schema/tree.ts";
import type { Handle } from "../tree/handle.ts";
import type { Author, Node, Note, Part } from "../tree/node.ts";
import { interruptedRecord, sessionRecord, turnRecord } from "./records.ts";
import { forkOrigin, toTranscriptHeader, toTranscriptLines, type TranscriptLine } from "./transcript-lines.ts";
import type { Session } from "../tree/turn.ts";
import { type Usage, roundUsd } from "../tree/usage.ts";
import { metadataFromJson } from "./field-names.ts";
import { fromJsonCase } from "./json-case.ts";

export type { TreeHeader, TreeLine };
export type NodeLine = NonNullable<TreeLine["node"]>;
/** `text` for UTF-8 bytes, else `base64`. */
export type OutputLine = NonNullable<TreeLine["output"]>;

/** The header describes `session`, its `tree` all sessions and turns. */
export function treeHeader(session: Session, view: TreeView): TreeHeader {
  const sessions = view.sessions.map((listed) => ({
    ...sessionRecord(listed),
    forked_from: listed.forkedFrom ? forkOrigin(listed.forkedFrom) : null,
    ...(listed.plan === undefined ? {} : { plan: listed.plan }),
  }));
  const turns = view.turns.map((turn) => ({ ...turnRecord(turn), native_id: turn.nativeId, policy: turn.policy }));
  const interrupted = (view.interrupted ?? []).map(interruptedRecord);
  const tree = { id: session.tree, sessions, turns, ...(interrupted.length > 0 && { interrupted }) };
  return { ...toTranscriptHeader(session, providerOf(session)), tree } as TreeHeader;
}

/** The lines of one node. With the oldest nodes first, parents precede their children. */
export function treeLines(node: Node): TreeLine[] {
  return toTranscriptLines(node).map((line, index) => {
    const part = node.parts[index];
    const data = part === undefined ? null : dataOf(line, part);
    return { ...line, ...(index === 0 ? { node: nodeLine(node) } : {}), ...(data === undefined ? {} : { data }) };
  });
}

/** The node of the lines with one id. Without the additional fields it has only the data of a transcript. The lines are untrusted. */
export function nodeOfLines(lines: TreeLine[], tree: string, session: string): Node {
  const first = lines[0]!;
  const extra = first.node;
  const usage = lines.at(-1)?.token_usage;
  const note = extra === undefined ? noteOf(first) : extra.note;
  const costUsd = extra?.cost_usd;
  return {
    id: first.id,
    parent: first.parent_id,
    tree,
    session: extra?.session_id ?? session,
    turn: extra?.turn_id ?? null,
    at: Date.parse(first.timestamp),
    author: isAuthor(extra?.author) ? extra.author : authors[first.role],
    parts: lines.filter((line) => line.data !== null).map((line) => partOfLine(line)),
    ...(note === undefined ? {} : { note }),
    ...(extra?.model === undefined ? {} : { model: extra.model }),
    ...(usage === undefined ? {} : { usage: fromJsonCase(usage) as Usage }),
    ...(costUsd === undefined ? {} : { costUsd }),
    ...(extra?.cost_is_partial === undefined ? {} : { costIsPartial: extra.cost_is_partial }),
  };
}

function isAuthor(author: unknown): author is Author {
  return Object.values(authors).some((known) => known === author);
}

export function partOfLine(line: TreeLine): Part {
  if (line.data === undefined || line.data === null) return plainPart(line);
  return ("kind" in line.data && textKinds.has(String(line.data["kind"])) ? { text: line.content, ...line.data } : line.data) as Part;
}

const textKinds = new Set(["text", "thinking", "result"]);

const authors: Record<TranscriptLine["role"], Author> = {
  user: "user",
  assistant: "agent",
  thinking: "agent",
  tool_call: "agent",
  tool_result: "tool",
  note: "note",
};

/** A part from the fields of an ordinary transcript. */
function plainPart(line: TranscriptLine): Part {
  const { role, content, tool_id: id = "", tool_name: name = "" } = line;
  if (role === "thinking") return { kind: "thinking", text: content };
  if (role === "tool_call") return callPart(id, name, content);
  if (role === "tool_result")
    return {
      kind: "result",
      call: id,
      name,
      text: content,
      isError: line.is_error ?? false,
      ...(line.handle === undefined ? {} : { handle: handleOf(line.handle) }),
    };
  if (line.handle !== undefined) return { kind: "handle", handle: handleOf(line.handle), excerpt: content };
  return { kind: "text", text: content };
}

/** Other text is stored as the model sent it. */
function callPart(id: string, name: string, content: string): Part {
  const input = parseJson(content);
  return { kind: "call", id, name, ...(input === null ? { input: {}, malformed: content } : { input }) };
}

function handleOf(handle: NonNullable<TranscriptLine["handle"]>): Handle {
  const { source, source_version: sourceVersion, identifier, metadata } = handle;
  return { source, sourceVersion, identifier, metadata: metadataFromJson(metadata) };
}

function noteOf(line: TranscriptLine): Note | undefined {
  if (line.note === undefined) return undefined;
  if (line.note.said !== undefined) return { about: "group", said: fromJsonCase(line.note.said) as StatementInfo };
  if (line.note.happened !== undefined) return { about: line.note.about, happened: fromJsonCase(line.note.happened) } as Note;
  if (line.note.check !== undefined) return { about: "check", check: fromJsonCase(line.note.check) as CheckOutcome };
  return (line.note.about === "compaction" ? { about: "compaction", keptFrom: line.note.kept_from ?? null } : line.note) as Note;
}

/** Undefined if the line's own fields hold the part. */
function dataOf(line: TranscriptLine, part: Part): Record<string, unknown> | undefined {
  if (Bun.deepEquals(plainPart(line), part, true)) return undefined;
  if (!("text" in part) || part.text !== line.content) return part;
  const { text: _text, ...otherFields } = part;
  return otherFields;
}

function nodeLine(node: Node): NodeLine {
  return {
    author: node.author,
    session_id: node.session,
    turn_id: node.turn,
    ...(node.note === undefined ? {} : { note: node.note }),
    ...(node.model === undefined ? {} : { model: node.model }),
    ...(node.costUsd === undefined ? {} : { cost_usd: node.costUsd === null ? null : roundUsd(node.costUsd) }),
    ...(node.costIsPartial === undefined ? {} : { cost_is_partial: node.costIsPartial }),
  };
}

function providerOf(session: Session): string {
  const vendor = session.model?.split("/", 1)[0];
  return session.agent === "native" && vendor !== undefined ? vendor : session.agent;
}
