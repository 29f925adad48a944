// Reads messages from one entry of a transcript, for lists and search. It needs only texts, so it is much shorter than the
// parsers of `import`, which keep the whole tree. Entries are untrusted: an unknown shape is an entry without messages.
import { isRecord, type Json } from "../../../kit/text/json.ts";
import { listAt, objectAt, textAt } from "../../../models/wire/json.ts";

export type Author = "user" | "agent" | "tool";
export type Message = { author: Author; at: number; text: string };

/** Facts about the session that an entry has. */
export type EntryFacts = { nativeId?: string; directory?: string; projectHash?: string; model?: string };

/** The first bytes of a result say what it was about. The rest would make the index as large as the transcripts. */
const maxChars: Record<Author, number> = { user: 8_192, agent: 8_192, tool: 1_024 };

export function messagesOf(entry: Json): Message[] {
  if (entry["isSidechain"] === true || entry["isMeta"] === true) return [];
  const at = Date.parse(textAt(entry, "timestamp"));
  const body = objectAt(entry, "payload") ?? objectAt(entry, "message") ?? entry;
  const author = authorOf(entry, body);
  if (author === null) return [];
  return textsOf(body, author).flatMap(({ author: writer, text }): Message[] => {
    const clean = text.slice(0, maxChars[writer]).trim();
    return clean === "" || (writer === "user" && isProgramText(clean))
      ? []
      : [{ author: writer, at: Number.isFinite(at) ? at : 0, text: clean }];
  });
}

function authorOf(entry: Json, body: Json): Author | null {
  const type = textAt(body, "type");
  // Codex: one line per item of a response. Its events repeat the items.
  if (entry["type"] === "response_item") {
    if (type.endsWith("_call_output")) return "tool";
    if (type === "message") return body["role"] === "user" ? "user" : body["role"] === "assistant" ? "agent" : null;
    return type.endsWith("_call") ? "agent" : null;
  }
  if ("payload" in entry) return null;
  const role = textAt(body, "role") || textAt(entry, "type");
  if (role === "user") return "user";
  if (role === "assistant" || role === "gemini") return "agent";
  return role === "toolResult" || role === "tool" ? "tool" : null;
}

function textsOf(body: Json, author: Author): { author: Author; text: string }[] {
  const texts: { author: Author; text: string }[] = [];
  if (author === "tool") texts.push({ author, text: plainText(body["output"] ?? body["content"]) });
  else {
    texts.push({ author, text: plainText(body["content"]) });
    for (const block of [body, ...listAt(body, "content"), ...listAt(body, "toolCalls")]) {
      if (block["type"] === "tool_result") texts.push({ author: "tool", text: plainText(block["content"]) });
      else if (isCall(block)) texts.push({ author: "tool", text: callText(block) });
      if (Array.isArray(block["result"])) texts.push({ author: "tool", text: plainText(block["result"]) });
    }
  }
  return texts;
}

function isCall(block: Json): boolean {
  return textAt(block, "name") !== "" && ["input", "arguments", "args", "action"].some((key) => key in block);
}

function callText(block: Json): string {
  const input = block["input"] ?? block["arguments"] ?? block["args"] ?? block["action"];
  return `${textAt(block, "name")} ${typeof input === "string" ? input : JSON.stringify(input)}`;
}

/** The text of a string, of a block, or of a list of blocks. */
function plainText(content: unknown): string {
  if (typeof content === "string") return content;
  if (Array.isArray(content))
    return content
      .map(blockText)
      .filter((text) => text !== "")
      .join("\n");
  return isRecord(content) ? plainText(content["content"] ?? content["output"]) : "";
}

function blockText(block: unknown): string {
  if (typeof block === "string") return block;
  if (!isRecord(block) || block["type"] === "tool_result") return "";
  const response = objectAt(objectAt(block, "functionResponse"), "response");
  return textAt(block, "text") || textAt(response, "output");
}

/** Context that a program added to the user's messages. */
function isProgramText(text: string): boolean {
  return /^(<[a-z_-]+[\s>]|# AGENTS\.md instructions|Caveat: The messages below)/i.test(text);
}

export function factsOf(entry: Json): EntryFacts {
  const payload = objectAt(entry, "payload");
  const message = objectAt(entry, "message");
  const isCodexMeta = entry["type"] === "session_meta";
  const isSession = entry["type"] === "session";
  // Claude Code has its session in every line of the conversation, Gemini CLI in the first one.
  const hasSessionId = "uuid" in entry || "projectHash" in entry;
  return defined({
    nativeId: isCodexMeta ? textAt(payload, "id") : isSession ? textAt(entry, "id") : hasSessionId ? textAt(entry, "sessionId") : "",
    directory: textAt(entry, "cwd") || textAt(payload, "cwd"),
    projectHash: textAt(entry, "projectHash"),
    model: modelOf(textAt(message, "model") || textAt(payload, "model") || textAt(entry, "model")),
  });
}

/** Claude Code writes messages of its own with the model `<synthetic>`. */
function modelOf(model: string): string {
  return model.startsWith("<") ? "" : model;
}

function defined(facts: Record<keyof EntryFacts, string>): EntryFacts {
  return Object.fromEntries(Object.entries(facts).filter(([, value]) => value !== ""));
}
