// Converts nodes to blocks for readable formats. A tool's call and result are one block, and handles are resolved.
import type { Handle } from "../../protocol/tree/handle.ts";
import { mainArgument, type CallPart, type ImageData, type Node, type ResultPart } from "../../protocol/tree/node.ts";

export type ExportBlock =
  | { kind: "text" | "thinking"; text: string }
  | ToolBlock
  | { kind: "image"; image: ImageData }
  | { kind: "data"; title: string; text: string };

export type ToolBlock = {
  kind: "tool";
  name: string;
  argument: string;
  /** Null if the call is unknown or malformed. */
  input: Record<string, unknown> | null;
  /** The input as JSON. Null if the argument shows all of it. */
  inputText: string | null;
  result: ToolResult | null;
};

type ToolResult = { text: string; isError: boolean; images: ImageData[]; display: string | null };

/** Resolves with the text of a handle, or null if it can't be read. */
export type ResolveHandle = (handle: Handle) => Promise<string | null>;

/** Yields the blocks of each node. A call whose result comes later in `nodes` is in the block of the result. */
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
          blocks.push(toolBlock(part.name, calls.get(part.call) ?? null, await loadResult(part, resolve)));
          break;
        case "image":
          blocks.push({ kind: "image", image: part });
          break;
        case "handle":
          blocks.push({ kind: "data", title: handleTitle(part.handle), text: (await resolve(part.handle)) ?? part.excerpt });
          break;
      }
    }
    yield { node, blocks };
  }
}

function toolBlock(name: string, call: CallPart | null, result: ToolResult | null): ToolBlock {
  const unknown = { kind: "tool", name, input: null, inputText: null, result } as const;
  if (call === null) return { ...unknown, argument: "" };
  if (call.malformed !== undefined) return { ...unknown, argument: call.malformed };
  const argument = Object.keys(call.input).length === 0 ? "" : mainArgument(call.input);
  const isComplete = Object.values(call.input).length <= 1 && !argument.includes("\n");
  return { kind: "tool", name, argument, input: call.input, inputText: isComplete ? null : JSON.stringify(call.input, null, 2), result };
}

async function loadResult(part: ResultPart, resolve: ResolveHandle): Promise<ToolResult> {
  const fullText = part.handle === undefined ? null : await resolve(part.handle);
  return { text: fullText ?? part.text, isError: part.isError, images: part.images ?? [], display: part.display ?? null };
}

function handleTitle(handle: Handle): string {
  const { command, exitCode } = handle.metadata;
  const subject = typeof command === "string" ? command : handle.identifier;
  return `${handle.source}: ${subject}${typeof exitCode === "number" ? ` (exit ${exitCode})` : ""}`;
}

/** The texts below the head: input (unless the argument shows it), display text and result. Empty ones are omitted. */
export function toolTexts({ inputText, result }: ToolBlock): string[] {
  return [inputText ?? "", result?.display ?? "", result?.text ?? ""].filter((text) => text.trim() !== "");
}

export function toolSign({ result }: ToolBlock): "→" | "✗" | "✓" {
  if (result === null) return "→";
  return result.isError ? "✗" : "✓";
}

/** Null for data that is not an image. */
export function imageUrl({ mime, base64 }: ImageData): string | null {
  return /^image\/[\w.+-]{1,40}$/.test(mime) && /^[A-Za-z0-9+/=]*$/.test(base64) ? `data:${mime};base64,${base64}` : null;
}
