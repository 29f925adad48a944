// Tool calls of every agent as tool calls of the protocol: title, kind, files and content. The names of the tools are those
// of skein and of the CLIs that it drives.
import type { ToolCallContent, ToolCallLocation, ToolKind } from "@agentclientprotocol/sdk";
import { isAbsolute, join } from "node:path";
import { cutText, oneLine } from "../../kit/text/cut-text.ts";
import { isRecord, type Json } from "../../kit/text/json.ts";
import { mainArgument, shortId, type CallPart, type ResultPart } from "../../protocol/tree/node.ts";
import { diffsOfInput, diffsOfPatch, type FileDiff } from "./diff-content.ts";

/** The longest text of one result; editors show the text, and the session has all of it. */
const maxResultBytes = 64 * 1024;
const maxTitle = 120;

/** The first match counts. `execute` comes first: a command may contain every other word. */
const kinds: readonly [RegExp, ToolKind][] = [
  [/bash|shell|command|exec|terminal/i, "execute"],
  [/todo|plan|ask_user|question|think|report/i, "think"],
  [/edit|write|replace|patch|file_change|create_file/i, "edit"],
  [/delete|remove/i, "delete"],
  [/move|rename/i, "move"],
  [/fetch|web/i, "fetch"],
  [/grep|glob|search|find|list|^ls$/i, "search"],
  [/read|view|^cat$/i, "read"],
];

export function kindOf(name: string): ToolKind {
  return kinds.find(([pattern]) => pattern.test(name))?.[1] ?? "other";
}

/** Ids of calls may repeat in another turn of the session, so the turn is part of the id. */
export function toolCallId(turn: string | null, call: string): string {
  return turn === null ? call : `${shortId(turn)}-${call}`;
}

export function titleOf(name: string, input: Json): string {
  const main = oneLine(mainArgument(input), maxTitle);
  if (main === "") return name;
  return kindOf(name) === "execute" ? main : `${name} ${main}`;
}

/** The files of a call, absolute. */
export function locationsOf(input: Json, directory: string): ToolCallLocation[] {
  const line = typeof input["offset"] === "number" && input["offset"] > 0 ? { line: input["offset"] } : {};
  return pathsOf(input).map((path) => ({ path: absolute(path, directory), ...line }));
}

/** Content and files of a call that has ended. */
export function resultContent(
  call: Pick<CallPart, "name" | "input"> | undefined,
  result: ResultPart,
  directory: string,
): { content: ToolCallContent[]; locations?: ToolCallLocation[] } {
  const diffs = result.isError ? [] : diffsOf(call, result).map((diff) => ({ ...diff, path: absolute(diff.path, directory) }));
  const images = (result.images ?? []).map(({ mime, base64 }): ToolCallContent => ({
    type: "content",
    content: { type: "image", mimeType: mime, data: base64 },
  }));
  if (diffs.length === 0) return { content: [...textContent(result.name, result.text), ...images] };
  const locations = diffs.map(({ path, line }) => (line === undefined ? { path } : { path, line }));
  return { content: [...diffs.map(({ line: _, ...diff }): ToolCallContent => ({ type: "diff", ...diff })), ...images], locations };
}

/** Output of commands and files is fenced: editors show content as Markdown. */
export function textContent(name: string, text: string): ToolCallContent[] {
  if (text === "") return [];
  const bounded = cutText(text, maxResultBytes, { keep: "both" }).text;
  const isPlain = kindOf(name) === "think" || kindOf(name) === "other";
  return [{ type: "content", content: { type: "text", text: isPlain ? bounded : fenced(bounded) } }];
}

function fenced(text: string): string {
  const longest = Math.max(2, ...[...text.matchAll(/`{3,}/g)].map(([ticks]) => ticks.length));
  const fence = "`".repeat(longest + 1);
  return `${fence}\n${text.replace(/\n$/, "")}\n${fence}`;
}

function diffsOf(call: Pick<CallPart, "name" | "input"> | undefined, result: ResultPart): FileDiff[] {
  // skein's own tools show a diff, unless nothing changed.
  if (result.display !== undefined) return diffsOfPatch(result.display);
  if (call === undefined || kindOf(call.name) !== "edit") return [];
  const [path] = pathsOf(call.input);
  return path === undefined ? [] : diffsOfInput(call.input, path);
}

const pathFields = ["path", "file_path", "filePath", "absolute_path", "notebook_path"];

function pathsOf(input: Json): string[] {
  const paths = pathFields.map((name) => input[name]).filter((value) => typeof value === "string" && value !== "") as string[];
  const changes = Array.isArray(input["changes"]) ? input["changes"].filter(isRecord) : [];
  const changed = changes.map(({ path }) => path).filter((path) => typeof path === "string");
  return [...paths.slice(0, 1), ...changed];
}

function absolute(path: string, directory: string): string {
  return isAbsolute(path) ? path : join(directory, path);
}
