// Nodes for readers that get them in one frame, such as the web page: the end of a long path, and nodes with short texts.
import type { Node, Part } from "../../protocol/tree/node.ts";

/** Longer texts of a node in the overview of a tree are cut. */
const briefChars = 400;

/** The last nodes of a path whose JSON has at most `maxChars` together. At least one node; its long texts are cut to fit. */
export function endOfPath(path: readonly Node[], maxChars: number): Node[] {
  let left = maxChars;
  let first = path.length;
  const end: Node[] = [];
  while (first > 0) {
    const node = withShortTexts(path[first - 1]!, Math.ceil(maxChars / 8));
    left -= JSON.stringify(node).length;
    if (left < 0 && end.length > 0) break;
    end.push(node);
    first -= 1;
  }
  return end.toReversed();
}

/** Nodes for the picture of a tree. */
export function briefNodes(nodes: readonly Node[]): Node[] {
  return nodes.map((node) => withShortTexts(node, briefChars));
}

/** Vendor data and images that are too long are left out. */
function withShortTexts(node: Node, maxChars: number): Node {
  return { ...node, parts: node.parts.map((part) => shortPart(part, Math.max(maxChars, briefChars))) };
}

function shortPart(part: Part, maxChars: number): Part {
  const short = (text: string) => shortText(text, maxChars);
  switch (part.kind) {
    case "text":
    case "thinking":
      return { kind: part.kind, text: short(part.text) };
    case "image":
      return part.base64.length <= maxChars ? part : { kind: "text", text: `[image of type ${part.mime}, not shown]` };
    case "handle":
      return { ...part, excerpt: short(part.excerpt) };
    case "call": {
      const { opaque: _, malformed, ...call } = part;
      const input = shortTexts(call.input, maxChars) as typeof call.input;
      return { ...call, input, ...(malformed === undefined ? {} : { malformed: short(malformed) }) };
    }
    case "result": {
      const { images, display, ...result } = part;
      const shown = images?.filter(({ base64 }) => base64.length <= maxChars);
      return {
        ...result,
        text: short(result.text),
        ...(display === undefined ? {} : { display: short(display) }),
        ...(shown === undefined ? {} : { images: shown }),
      };
    }
  }
}

function shortText(text: string, maxChars: number): string {
  return text.length <= maxChars ? text : `${text.slice(0, maxChars)}\n[${text.length - maxChars} more characters are not shown]`;
}

/** Shortens the texts of a call's input at any depth. */
function shortTexts(value: unknown, maxChars: number): unknown {
  if (typeof value === "string") return shortText(value, maxChars);
  if (Array.isArray(value)) return value.map((item) => shortTexts(item, maxChars));
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(Object.entries(value).map(([name, field]) => [name, shortTexts(field, maxChars)]));
}
