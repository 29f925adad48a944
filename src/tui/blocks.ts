// What the transcript is made of, and how nodes become it. A block never changes: a changed one is another object, so
// that what was laid out for it can be kept with it.
import { plainText } from "../kit/ansi.ts";
import { oneLine } from "../kit/text.ts";
import type { Node, Part } from "../protocol/node.ts";
import type { Turn } from "../protocol/turn.ts";
import { tokensText } from "./tokens.ts";

export type Block = { id: string } & (
  | { kind: "user" | "text" | "thinking" | "note"; text: string; isLive?: boolean }
  | { kind: "tool"; name: string; argument: string; input: string; output: string; result: { text: string; isError: boolean } | null }
  | { kind: "diff"; text: string }
  | { kind: "session"; agent: string; task: string }
  | { kind: "turn"; text: string }
  | { kind: "error"; text: string; hint: string | null }
);

export type ToolBlock = Extract<Block, { kind: "tool" }>;

/** A path of nodes from the root, with a line after each turn. */
export function blocksOfPath(nodes: readonly Node[], turns: readonly Turn[]): Block[] {
  const known = new Map(turns.map((turn) => [turn.id, turn]));
  const blocks: Block[] = [];
  nodes.forEach((node, at) => {
    placeParts(blocks, node);
    const turn = node.turn !== null && nodes[at + 1]?.turn !== node.turn ? known.get(node.turn) : undefined;
    if (turn !== undefined && turn.endedAt !== null) blocks.push(...turnBlocks(turn));
  });
  return blocks;
}

/** What streamed becomes what was recorded; a result goes to its call. */
export function withNode(blocks: readonly Block[], node: Node): Block[] {
  const kept = node.author === "agent" ? blocks.filter((block) => !isLive(block)) : [...blocks];
  placeParts(kept, node);
  return kept;
}

function placeParts(blocks: Block[], node: Node): void {
  node.parts.forEach((part, at) => place(blocks, `${node.id}.${at}`, node, part));
}

function place(blocks: Block[], id: string, node: Node, part: Part): void {
  switch (part.kind) {
    case "text":
    case "thinking":
      if (part.text.trim() !== "")
        blocks.push({ id, kind: part.kind === "thinking" ? "thinking" : speaker(node), text: plainText(part.text) });
      break;
    case "call":
      blocks.push({ id: part.id, kind: "tool", name: part.name, ...argumentsOf(part.input, part.malformed), output: "", result: null });
      break;
    case "result": {
      const result = { text: plainText(part.text), isError: part.isError };
      const at = blocks.findLastIndex((block) => block.id === part.call && block.kind === "tool");
      const call = blocks[at];
      if (call?.kind === "tool") blocks[at] = { ...call, output: "", result };
      else blocks.push({ id, kind: "tool", name: part.name, argument: "", input: "", output: "", result });
      if (part.display !== undefined) blocks.push({ id: `${id}.diff`, kind: "diff", text: plainText(part.display) });
      break;
    }
    case "image":
      blocks.push({ id, kind: "note", text: `an image (${part.mime})` });
      break;
    case "handle":
      blocks.push({ id, kind: "note", text: `${part.handle.source}: ${oneLine(part.handle.identifier, 200)}` });
      break;
  }
}

function speaker(node: Node): "user" | "text" | "note" {
  return node.author === "user" ? "user" : node.author === "agent" ? "text" : "note";
}

function argumentsOf(input: Record<string, unknown>, malformed: string | undefined): { argument: string; input: string } {
  if (malformed !== undefined) return { argument: oneLine(malformed, 300), input: plainText(malformed) };
  const main = input["command"] ?? input["path"] ?? input["task"] ?? input["question"];
  const argument = typeof main === "string" ? main : Object.keys(input).length === 0 ? "" : JSON.stringify(input);
  return { argument: oneLine(argument, 300), input: plainText(JSON.stringify(input, null, 2)) };
}

/** How a turn ended, and what it used. */
export function turnBlocks(turn: Turn): Block[] {
  const steps = `${turn.steps} ${turn.steps === 1 ? "step" : "steps"}`;
  const cost = turn.costUsd === null ? "cost unknown" : `$${turn.costUsd.toFixed(4)}`;
  const line: Block = {
    id: `turn-${turn.id}`,
    kind: "turn",
    text: `${turn.status ?? "open"} · ${steps} · ${tokensText(turn.usage)} · ${cost}`,
  };
  if (turn.error === null || turn.status === "cancelled") return [line];
  const error: Block = { id: `error-${turn.id}`, kind: "error", text: plainText(turn.error.message), hint: turn.error.hint ?? null };
  return [error, line];
}

/** A piece of text that is just being written goes to the block that it belongs to. */
export function withDelta(blocks: readonly Block[], kind: "text" | "thinking", text: string): Block[] {
  const last = blocks.at(-1);
  if (last !== undefined && last.kind === kind && last.isLive === true)
    return [...blocks.slice(0, -1), { ...last, text: last.text + plainText(text) }];
  return [...blocks, { id: `live-${blocks.length}`, kind, text: plainText(text), isLive: true }];
}

/** What a request that failed had begun is not part of the answer. */
export function withoutLive(blocks: readonly Block[]): Block[] {
  return blocks.filter((block) => !isLive(block));
}

const tailChars = 4000;

export function withOutput(blocks: readonly Block[], call: string, text: string): Block[] {
  return blocks.map((block) =>
    block.kind === "tool" && block.id === call ? { ...block, output: (block.output + plainText(text)).slice(-tailChars) } : block,
  );
}

function isLive(block: Block): boolean {
  return "isLive" in block && block.isLive === true;
}
