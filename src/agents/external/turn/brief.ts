// Renders a path as a brief for an agent whose own session lacks it. A brief is made when it is sent and never stored.
// It drops the oldest messages first, and shortens tool outputs to excerpts that name the full output.
import type { Message } from "../../../models/model.ts";
import { byteLength, cutText, groupDigits } from "../../../kit/text/cut-text.ts";
import type { Node, Part } from "../../../protocol/tree/node.ts";
import { renderMessages } from "../../native/request/messages.ts";

/** About 30,000 tokens. */
const maxBriefBytes = 30_000 * 4;
const maxExcerptBytes = 2_000;
const maxInputBytes = 600;

/** `last-attempt` is for a CLI whose own session may lack the nodes of the last attempt. */
export type BriefKind = "whole" | "last-attempt";

type BriefOptions = { kind?: BriefKind; maxBytes?: number };

const openings: Record<BriefKind, string> = {
  whole:
    "Below is the conversation so far between the user and other assistants, in this project. It is context, not a task: " +
    "files may have changed since, and tool results are excerpts. Your task follows after it.",
  "last-attempt":
    "Below is what was recorded of the last attempt, which ended early; some of it may be missing from your own history. Your task follows after it.",
};

/** The prompt with a brief of `path` before it. For an empty path it is the prompt alone. */
export function promptWithBrief(path: Node[], prompt: string, { kind = "whole", maxBytes = maxBriefBytes }: BriefOptions = {}): string {
  const text = renderBrief(path, maxBytes);
  if (text === "") return prompt;
  return `${openings[kind]}\n\n${encloseText(text, "conversation")}\n\n${prompt}`;
}

/** Extends the tag until the text can't close it. Otherwise text of the conversation could pass for the task. */
export function encloseText(text: string, name: string): string {
  let tag = name;
  while (text.includes(`</${tag}`)) tag += "-";
  return `<${tag}>\n${text}\n</${tag}>`;
}

export function renderBrief(path: Node[], maxBytes = maxBriefBytes): string {
  const blocks = renderMessages(path).flatMap(blocksOf);
  const included: string[] = [];
  let remainingBytes = maxBytes;
  for (const block of blocks.toReversed()) {
    const size = byteLength(block) + 2;
    if (size > remainingBytes && included.length > 0) break;
    included.unshift(size > remainingBytes ? cutText(block, remainingBytes, { keep: "both" }).text : block);
    remainingBytes -= size;
  }
  const missing = blocks.length - included.length;
  if (missing > 0) included.unshift(`[${groupDigits(missing)} earlier ${missing === 1 ? "message is" : "messages are"} left out]`);
  return included.join("\n\n");
}

const titles: Record<Message["role"], string> = { user: "User", assistant: "Assistant", tool: "Tools" };

/** One block, or none for a message without any line. */
function blocksOf(message: Message): string[] {
  const lines = message.parts.map(lineOf).filter((line) => line !== "");
  return lines.length === 0 ? [] : [`## ${titles[message.role]}\n${lines.join("\n")}`];
}

/** Leaves out thinking, which is of no use to another agent. */
function lineOf(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "call":
      return `[${part.name} ${cutText(JSON.stringify(part.input), maxInputBytes, { keep: "both" }).text}]`;
    case "result": {
      const source = part.handle === undefined ? "" : ` (whole output: ${part.handle.source}:${part.handle.identifier})`;
      return `[result of ${part.name}${part.isError ? ", failed" : ""}${source}]\n${indentHeadings(cutText(part.text, maxExcerptBytes, { keep: "both" }).text)}`;
    }
    case "handle":
      return part.excerpt;
    case "image":
      return `[an image, ${part.mime}]`;
    default:
      return "";
  }
}

/** Indents headings, so that no line of a tool's output looks like the start of a message. */
function indentHeadings(text: string): string {
  return text.replaceAll(/^(?=## )/gm, " ");
}
