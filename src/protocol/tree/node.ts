// Nodes of the tree. A node is immutable: it never changes after it was stored.
import { isRecord } from "../../kit/text/json.ts";
import type { CallPart, NewNode, Note, Part } from "../schema/tree.ts";

export type {
  Author,
  CallPart,
  HandlePart,
  ImageData,
  ImagePart,
  NewNode,
  Node,
  Note,
  Opaque,
  Part,
  ResultPart,
  TextPart,
  ThinkingPart,
} from "../schema/tree.ts";

/** Longest text of a tool result in a node. The full output of a longer one is stored behind a handle. */
export const maxResultBytes = 32 * 1024;

/** The short form of an id: its last eight hex digits (the first ones are a clock). */
export function shortId(id: string): string {
  return id.slice(-8);
}

/** The text of a node, without thinking, calls and results. */
export function textOf(node: { parts: Part[] }): string {
  return node.parts
    .filter((part) => part.kind === "text")
    .map((part) => part.text)
    .join("\n\n");
}

/** The task of a session that starts with this node: its text or its command; null if it is not a user node. */
export function taskOf(node: NewNode): string | null {
  if (node.author !== "user") return null;
  const [handle] = node.parts.filter((part) => part.kind === "handle");
  return textOf(node).trim() || (handle?.excerpt.split("\n", 1)[0] ?? null);
}

/** True for a note that users see and that is never sent to a model. */
export function isShownOnly({ about }: Note): boolean {
  return about === "below" || about === "group" || about === "team" || about === "race" || about === "check";
}

export function callsOf(node: { parts: Part[] }): CallPart[] {
  return node.parts.filter((part) => part.kind === "call");
}

/** The argument of a tool call that a person reads first. All of the input as JSON if there is no such argument. */
export function mainArgument(input: Record<string, unknown>): string {
  const main = firstText(input, mainArguments);
  if (main !== undefined) return main;
  return Object.keys(input).length === 0 ? "" : JSON.stringify(input);
}

/** The texts that a call of an edit tool replaces, and the texts after it. Empty for calls of other tools. */
export function replacementsOf(input: Record<string, unknown>): { before: string; after: string }[] {
  const edits = Array.isArray(input["edits"]) ? input["edits"].filter(isRecord) : [input];
  return edits.flatMap((edit) => {
    const before = firstText(edit, ["old_text", "old_string", "oldText", "oldString"]);
    const after = firstText(edit, ["new_text", "new_string", "newText", "newString"]);
    return before === undefined || after === undefined ? [] : [{ before, after }];
  });
}

/** The first of these fields that is a text. Tools of different agents name a field differently. */
export function firstText(input: Record<string, unknown>, names: readonly string[]): string | undefined {
  return names.map((name) => input[name]).find((value) => typeof value === "string");
}

/** In the order of importance. The later ones are from tools of external agents. */
const mainArguments = [
  "command",
  "path",
  "task",
  "question",
  "file_path",
  "filePath",
  "absolute_path",
  "notebook_path",
  "pattern",
  "query",
  "url",
];
