// What a reader sees of a node: blocks, with a tool's call and result as one, and handles resolved.
import { mainArgument } from "../../protocol/tree/node.ts";
import type { Handle } from "../../protocol/tree/handle.ts";
import type { CallPart, ImageData, Node, ResultPart } from "../../protocol/tree/node.ts";

export type ExportBlock =
  | { kind: "text" | "thinking"; text: string }
  | { kind: "tool"; name: string; argument: string; input: string | null; result: ToolResult | null }
  | { kind: "image"; image: ImageData }
  | { kind: "data"; title: string; text: string };

export type ToolResult = { text: string; isError: boolean; images: ImageData[]; display: string | null };

/** The text behind a handle, or null when it can't be had. */
export type ResolveHandle = (handle: Handle) => Promise<string | null>;

/** The blocks of each node of a run. A call whose result comes later in the run is shown there, in one block. */
export async function* blocksOf(nodes: Node[], resolve: ResolveHandle): AsyncGenerator<{ node: Node; blocks: ExportBlock[] }> {
  const answered = new Set(nodes.flatMap((node) => node.parts).flatMap((part) => (part.kind === "result" ? [part.call] : [])));
  const calls = new Map<string, CallPart>();
  for (const node of nodes) {
    const blocks: ExportBlock[] = [];
    for (const part of node.parts) {
      switch (part.kind) {
        case "text":
        case "thinking":
          if (part.text.trim() !== "") blocks.push({ kind: part.kind, text: part.text });
          break;
        case "call":
          calls.set(part.id, part);
          if (!answered.has(part.id)) blocks.push(toolBlock(part.name, part, null));
          break;
        case "result":
          blocks.push(toolBlock(part.name, calls.get(part.call) ?? null, await resultOf(part, resolve)));
          break;
        case "image":
          blocks.push({ kind: "image", image: part });
          break;
        case "handle":
          blocks.push({ kind: "data", title: titleOf(part.handle), text: (await resolve(part.handle)) ?? part.excerpt });
          break;
      }
    }
    yield { node, blocks };
  }
}

function toolBlock(name: string, call: CallPart | null, result: ToolResult | null): ExportBlock {
  if (call === null) return { kind: "tool", name, argument: "", input: null, result };
  if (call.malformed !== undefined) return { kind: "tool", name, argument: call.malformed, input: null, result };
  const argument = Object.keys(call.input).length === 0 ? "" : mainArgument(call.input);
  const isAll = Object.values(call.input).length <= 1 && !argument.includes("\n");
  return { kind: "tool", name, argument, input: isAll ? null : JSON.stringify(call.input, null, 2), result };
}

async function resultOf(part: ResultPart, resolve: ResolveHandle): Promise<ToolResult> {
  const whole = part.handle === undefined ? null : await resolve(part.handle);
  return { text: whole ?? part.text, isError: part.isError, images: part.images ?? [], display: part.display ?? null };
}

function titleOf(handle: Handle): string {
  const { command, exitCode } = handle.metadata;
  const what = typeof command === "string" ? command : handle.identifier;
  return `${handle.source}: ${what}${typeof exitCode === "number" ? ` (exit ${exitCode})` : ""}`;
}
