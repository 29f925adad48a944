// A node as text for one line of a list. Callers shorten it and remove control characters.
import { callsOf, mainArgument, textOf, type Node } from "./node.ts";

/** Every part of the node, with the main argument of each call. Thinking is only a summary of a node without other parts. */
export function nodeSummary(node: Pick<Node, "parts">): string {
  const parts = node.parts.filter((part) => part.kind !== "thinking");
  const texts = (parts.length === 0 ? node.parts : parts).map((part) => {
    switch (part.kind) {
      case "text":
        return plainMarkdown(part.text);
      case "thinking":
        return `(${part.text})`;
      case "call":
        return `→ ${part.name} ${mainArgument(part.input)}`;
      case "result":
        return `${part.isError ? "✗" : "✓"} ${part.name}: ${part.text}`;
      case "image":
        return `[${part.mime}]`;
      case "handle":
        return `[${part.handle.source}: ${part.handle.metadata.command ?? part.handle.identifier}]`;
    }
  });
  return texts.join("  ");
}

/** The text of the node. Without text, its first call or result in brackets. */
export function nodeExcerpt(node: Pick<Node, "parts">): string {
  const text = plainMarkdown(textOf(node)).trim();
  if (text !== "") return text;
  const [call] = callsOf(node);
  if (call !== undefined) return `[${call.name}: ${mainArgument(call.input)}]`;
  const result = node.parts.find((part) => part.kind === "result");
  return result === undefined ? "(no text)" : `[${result.name}] ${result.text}`;
}

const blockMarks = /^[ \t]*(?:#{1,6}[ \t]+|>[ \t]?|[-*+][ \t]+|(?:```|~~~)[^\n]*(?:\n|$)|(?:[-*_][ \t]*){3,}$)/gm;
const links = /!?\[([^\]\n]+)\]\([^)\s]+\)/g;
const pairs = /(\*\*\*|\*\*|__|~~|`+)(?=\S)(.+?)(?<=\S)\1/g;

/** A text without the marks of Markdown, for a label in one line. */
export function plainMarkdown(text: string): string {
  return text.replace(blockMarks, "").replace(links, "$1").replace(pairs, "$2");
}
