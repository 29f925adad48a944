// The lines of a transcript: a header, then one line per part. Other programs depend on the field names.
import type { Handle } from "../tree/handle.ts";
import type { Author, ImageData, Node, Note, Part } from "../tree/node.ts";
import type { Session } from "../tree/turn.ts";
import type { TranscriptHeader, TranscriptLine } from "../schema/printed.ts";
import type { StatementJson } from "../schema/tree.ts";
import { metadataToJson } from "./field-names.ts";
import { toJsonCase } from "./json-case.ts";

export type { TranscriptHeader, TranscriptLine };
type TranscriptRole = TranscriptLine["role"];

/** A node without parts still has one line. */
export function toTranscriptLines(node: Node): TranscriptLine[] {
  const parts: (Part | null)[] = node.parts.length > 0 ? node.parts : [null];
  return parts.map((part, index) => ({
    id: node.id,
    part: index,
    parent_id: node.parent,
    timestamp: new Date(node.at).toISOString(),
    ...(part ? lineContent(part, node.author) : { role: roles[node.author], content: "" }),
    ...(node.note && index === 0 ? { note: noteOf(node.note) } : {}),
    ...(node.usage && index === parts.length - 1 ? { token_usage: toJsonCase(node.usage) as TranscriptLine["token_usage"] } : {}),
  }));
}

export function toTranscriptHeader(session: Session, provider: string): TranscriptHeader {
  return {
    session_id: session.id,
    started_at: new Date(session.createdAt).toISOString(),
    agent: session.agent,
    provider,
    model: session.model,
    task: session.task,
    parent_session_id: session.parentSession,
    is_sub_session: session.parentSession !== null && session.plan === undefined,
    tool_level: session.toolLevel,
    ...(session.forkedFrom ? { forked_from: forkOrigin(session.forkedFrom) } : {}),
  };
}

export function forkOrigin({ session, node }: NonNullable<Session["forkedFrom"]>): NonNullable<TranscriptHeader["forked_from"]> {
  return { session_id: session, node_id: node };
}

/** The vendor of the model; the agent's name without a model. */
export function providerOf(session: Session): string {
  return session.model?.split("/", 1)[0] ?? session.agent;
}

const roles: Record<Author, TranscriptRole> = { user: "user", agent: "assistant", tool: "tool_result", note: "note" };

type LineContent = Pick<TranscriptLine, "role" | "content"> & Partial<TranscriptLine>;

function lineContent(part: Part, author: Author): LineContent {
  const role = roles[author];
  switch (part.kind) {
    case "text":
      return { role, content: part.text };
    case "thinking":
      return { role: author === "agent" ? "thinking" : role, content: part.text };
    case "call":
      return { role: "tool_call", content: part.malformed ?? JSON.stringify(part.input), tool_name: part.name, tool_id: part.id };
    case "result":
      return {
        role: "tool_result",
        content: [part.text, ...(part.images ?? []).map(imageLine)].filter((text) => text !== "").join("\n"),
        tool_name: part.name,
        tool_id: part.call,
        is_error: part.isError,
        ...(part.handle ? { handle: handleOf(part.handle) } : {}),
      };
    case "image":
      return { role, content: imageLine(part) };
    case "handle":
      return { role, content: part.excerpt, handle: handleOf(part.handle) };
  }
}

function imageLine(image: ImageData): string {
  const padding = /=*$/.exec(image.base64.slice(-2))![0].length;
  return `[image ${image.mime}, ${Math.floor((image.base64.length * 3) / 4) - padding} bytes]`;
}

function handleOf({ source, sourceVersion, identifier, metadata }: Handle): TranscriptLine["handle"] {
  return { source, source_version: sourceVersion, identifier, metadata: metadataToJson(metadata) };
}

function noteOf(note: Note): TranscriptLine["note"] {
  if (note.about === "group") return { about: note.about, said: toJsonCase(note.said) as StatementJson };
  if (note.about === "team" || note.about === "race") return { about: note.about, happened: toJsonCase(note.happened) };
  if (note.about === "check") return { about: note.about, check: toJsonCase(note.check) };
  return note.about === "compaction" ? { about: note.about, kept_from: note.keptFrom } : { about: note.about };
}
