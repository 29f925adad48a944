// A path rendered for an agent that was not there. Made when it is sent and never stored; the newest messages stay
// whole, older ones are left out first, and tool outputs are excerpts that name where the rest is.
import type { Message } from "../../../models/model.ts";
import { byteLength, cutText, groupDigits } from "../../../kit/text/cut-text.ts";
import type { Node, Part } from "../../../protocol/tree/node.ts";
import { renderMessages } from "../../native/request/messages.ts";

/** About 30,000 tokens. */
const briefBytes = 30_000 * 4;
const resultBytes = 2_000;
const inputBytes = 600;

export type BriefKind = "whole" | "rest";

const openings: Record<BriefKind, string> = {
  whole:
    "Below is the conversation so far between the user and other assistants, in this project. It is context, not a task: " +
    "files may have changed since, and tool results are excerpts. Your task follows after it.",
  rest: "Below is what was recorded of the last attempt, which ended early; some of it may be missing from your own history. Your task follows after it.",
};

/** The prompt as the agent is sent it. Without an earlier conversation it is the user's own words. */
export function promptWithBrief(path: Node[], prompt: string, kind: BriefKind = "whole", maxBytes = briefBytes): string {
  const text = renderBrief(path, maxBytes);
  if (text === "") return prompt;
  return `${openings[kind]}\n\n${encloseText(text, "conversation")}\n\n${prompt}`;
}

/** What was said or printed must not be able to end it: what follows would be taken for the task. */
export function encloseText(text: string, name: string): string {
  let tag = name;
  while (text.includes(`</${tag}`)) tag += "-";
  return `<${tag}>\n${text}\n</${tag}>`;
}

export function renderBrief(path: Node[], maxBytes = briefBytes): string {
  const blocks = renderMessages(path)
    .map(blockOf)
    .filter((block) => block !== "");
  const kept: string[] = [];
  let room = maxBytes;
  for (const block of blocks.toReversed()) {
    const size = byteLength(block) + 2;
    if (size > room && kept.length > 0) break;
    kept.unshift(size > room ? cutText(block, room, { keep: "both" }).text : block);
    room -= size;
  }
  const missing = blocks.length - kept.length;
  if (missing > 0) kept.unshift(`[${groupDigits(missing)} earlier ${missing === 1 ? "message is" : "messages are"} left out]`);
  return kept.join("\n\n");
}

const titles: Record<Message["role"], string> = { user: "User", assistant: "Assistant", tool: "Tools" };

function blockOf(message: Message): string {
  const lines = message.parts.map(lineOf).filter((line) => line !== "");
  return lines.length === 0 ? "" : `## ${titles[message.role]}\n${lines.join("\n")}`;
}

/** Thinking stays with whoever thought it. */
function lineOf(part: Part): string {
  switch (part.kind) {
    case "text":
      return part.text;
    case "call":
      return `[${part.name} ${cutText(JSON.stringify(part.input), inputBytes, { keep: "both" }).text}]`;
    case "result": {
      const whole = part.handle === undefined ? "" : ` (whole output: ${part.handle.source}:${part.handle.identifier})`;
      return `[result of ${part.name}${part.isError ? ", failed" : ""}${whole}]\n${quoted(cutText(part.text, resultBytes, { keep: "both" }).text)}`;
    }
    case "handle":
      return part.excerpt;
    case "image":
      return `[an image, ${part.mime}]`;
    default:
      return "";
  }
}

/** No line of a tool's output looks like the beginning of a message. */
function quoted(text: string): string {
  return text.replaceAll(/^(?=## )/gm, " ");
}
