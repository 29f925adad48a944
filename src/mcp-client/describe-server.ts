// The text that lists a server's tools for the model. Full lines if they fit, else short ones: a server may have hundreds
// of tools with long descriptions.
import type { Tool } from "@modelcontextprotocol/client";
import { isRecord } from "../kit/text/json.ts";
import { byteLength, cutText, oneLine } from "../kit/text/cut-text.ts";
import { nearestWord } from "../kit/text/nearest-word.ts";

const maxListBytes = 16 << 10;
const maxInstructionBytes = 2 << 10;

export type ServerFacts = {
  name: string;
  tools: readonly Tool[];
  instructions: string | undefined;
  hasResources: boolean;
  hasPrompts: boolean;
  /** Lists only tools whose name or description contains it. */
  filter: string | null;
};

export function listText({ name, tools, instructions, hasResources, hasPrompts, filter }: ServerFacts): string {
  const shown = filter === null ? tools : tools.filter((tool) => matches(tool, filter));
  const full = shown.map(toolText).join("\n");
  const isShort = byteLength(full) > maxListBytes;
  const lines = [
    tools.length === 0 ? `${name} has no tools` : countText(name, tools.length, filter === null ? null : shown.length),
    isShort ? shown.map(shortText).join("\n") : full,
    ...(isShort ? ['[shortened; to see some in full, list with arguments {"filter": "<word>"}]'] : []),
    ...(hasResources ? ['It has resources: tool "resources/list", and "resources/read" with {"uri"}'] : []),
    ...(hasPrompts ? ['It has prompts: tool "prompts/list", and "prompts/get" with {"name", "arguments"}'] : []),
    ...(instructions === undefined
      ? []
      : [`Instructions of the server: ${cutText(instructions, maxInstructionBytes, { keep: "head" }).text}`]),
  ];
  return lines.filter((line) => line !== "").join("\n");
}

/** A line for a call that names no tool of the server. */
export function unknownToolText(name: string, tool: string, tools: readonly Tool[]): string {
  const nearest = nearestWord(
    tool,
    tools.map((candidate) => candidate.name),
  );
  const hint = nearest === null ? "; without tool, mcp lists its tools" : `; did you mean ${nearest}?`;
  return `${name} has no tool ${oneLine(tool, 80)}${hint}`;
}

/** A tool with its parameters, as `name(path: string, limit?: number): description`. */
export function toolText(tool: Tool): string {
  return `- ${tool.name}(${parametersText(tool.inputSchema)})${tool.description ? `: ${cutText(tool.description.trim(), 600, { keep: "head" }).text}` : ""}`;
}

function shortText({ name, description, inputSchema }: Tool): string {
  const names = isRecord(inputSchema.properties) ? Object.keys(inputSchema.properties) : [];
  return oneLine(`- ${name}(${names.join(", ")})${description ? `: ${description}` : ""}`, 120);
}

function countText(name: string, total: number, shown: number | null): string {
  const count = total === 1 ? "1 tool" : `${total} tools`;
  return shown === null ? `${name} has ${count}:` : `${shown} of the ${count} of ${name} match:`;
}

function matches({ name, description = "" }: Tool, filter: string): boolean {
  const word = filter.toLowerCase();
  return name.toLowerCase().includes(word) || description.toLowerCase().includes(word);
}

function parametersText(schema: Tool["inputSchema"]): string {
  const { properties, required } = schema;
  if (!isRecord(properties)) return "";
  const requiredNames: readonly unknown[] = Array.isArray(required) ? required : [];
  return Object.entries(properties)
    .map(([name, value]) => `${name}${requiredNames.includes(name) ? "" : "?"}: ${typeText(value, 0)}${remark(value)}`)
    .join(", ");
}

const maxDepth = 3;

/** The type of a property, in the notation of TypeScript. */
function typeText(value: unknown, depth: number): string {
  if (!isRecord(value) || depth > maxDepth) return "any";
  const { type, enum: choices, items, properties, anyOf, oneOf, required } = value;
  if (Array.isArray(choices)) return choices.map((choice) => JSON.stringify(choice)).join(" | ");
  const variants = anyOf ?? oneOf;
  if (Array.isArray(variants)) return variants.map((variant) => typeText(variant, depth + 1)).join(" | ");
  if (type === "array") return `${typeText(items, depth + 1)}[]`;
  if (type === "object" && isRecord(properties)) {
    const requiredNames: readonly unknown[] = Array.isArray(required) ? required : [];
    const fields = Object.entries(properties).map(
      ([name, property]) => `${name}${requiredNames.includes(name) ? "" : "?"}: ${typeText(property, depth + 1)}`,
    );
    return `{${fields.join(", ")}}`;
  }
  return Array.isArray(type) ? type.join(" | ") : typeof type === "string" ? type : "any";
}

function remark(value: unknown): string {
  const text = isRecord(value) && typeof value["description"] === "string" ? value["description"].trim() : "";
  return text === "" ? "" : ` (${oneLine(text, 160)})`;
}
