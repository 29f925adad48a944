// What the transcript is made of, and how nodes become it. A block never changes: a changed one is another object, so
// that what was laid out for it can be kept with it. Texts are as they came; cards clean what they show.
import { pluralize, oneLine } from "../../kit/text/cut-text.ts";
import type { HandlePart, ImageData, Node, Part } from "../../protocol/tree/node.ts";
import type { SpawnedSession } from "../../protocol/tree/views.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import { tokensText } from "../../protocol/tree/usage-text.ts";

export type Block = { id: string } & (
  | { kind: "user" | "text" | "thinking" | "note"; text: string; isLive?: boolean }
  | { kind: "tool"; name: string; input: Record<string, unknown> | string; output: string; span: Span; result: ToolResult | null }
  | { kind: "diff"; text: string }
  | ({ kind: "session" } & SubSessionView)
  | { kind: "image"; image: ImageData }
  | { kind: "turn"; text: string }
  | { kind: "error"; text: string; hint: string | null }
);

/** When a call began and how long it took, where that is known. */
type Span = { startedAt: number | null; tookMs: number | null };
type ToolResult = { text: string; isError: boolean };
/** A session below this one, as far as it told. */
export type SubSessionView = Pick<SpawnedSession, "agent" | "task" | "state" | "spent" | "current"> & {
  /** What it wrote or did last. */
  doing: string;
};

export type ToolBlock = Extract<Block, { kind: "tool" }>;
export type SessionBlock = Extract<Block, { kind: "session" }>;

const pieceNodes = 250;

type Path = { nodes: readonly Node[]; turns: readonly Turn[]; spawned: readonly SpawnedSession[] };

/**
 * A path of nodes from the root, with the sub-sessions where they began and a line after each turn. It rests after every
 * piece: a long one takes longer than a frame.
 */
export function* blocksOfPath({ nodes, turns, spawned }: Path): Generator<undefined, Block[]> {
  const known = new Map(turns.map((turn) => [turn.id, turn]));
  const below = Map.groupBy(spawned, ({ turn }) => turn);
  const blocks: Block[] = [];
  for (const [at, node] of nodes.entries()) {
    if (at > 0 && at % pieceNodes === 0) yield;
    const begun = below.get(node.turn ?? "") ?? [];
    while (begun[0] !== undefined && begun[0].createdAt < node.at) blocks.push(sessionBlock(begun.shift()!));
    addParts(blocks, node, new Map());
    const turn = node.turn !== null && nodes[at + 1]?.turn !== node.turn ? known.get(node.turn) : undefined;
    if (turn === undefined) continue;
    // Where the path leaves the turn early, what came later is on another branch.
    if (turn.tip === node.id) blocks.push(...begun.map(sessionBlock));
    if (turn.endedAt !== null) blocks.push(...turnBlocks(turn));
  }
  return blocks;
}

function sessionBlock({ id, agent, task, state, spent, current, said }: SpawnedSession): SessionBlock {
  return { id, kind: "session", agent, task, state, spent, current, doing: `${said}\n` };
}

/** At the end of `blocks`; a result goes to its call, which may have changed since it was put there. */
export function addParts(blocks: Block[], node: Node, running: ReadonlyMap<string, Block>): void {
  node.parts.forEach((part, at) => place(blocks, `${node.id}.${at}`, node, part, running));
}

function place(blocks: Block[], id: string, node: Node, part: Part, running: ReadonlyMap<string, Block>): void {
  switch (part.kind) {
    case "text":
    case "thinking":
      if (part.text.trim() !== "") blocks.push({ id, kind: part.kind === "thinking" ? "thinking" : speaker(node), text: part.text });
      break;
    case "call":
      blocks.push(toolBlock(part.id, part.name, part.malformed ?? part.input));
      break;
    case "result": {
      const at = blocks.findLastIndex((block) => block.id === part.call && block.kind === "tool");
      const call = running.get(part.call) ?? blocks[at];
      const known = call?.kind === "tool" ? call : toolBlock(id, part.name, {});
      const { startedAt } = known.span;
      const tookMs = startedAt === null ? null : Math.max(0, node.at - startedAt);
      const ended: Block = { ...known, output: "", span: { startedAt, tookMs }, result: { text: part.text, isError: part.isError } };
      const shown: Block[] =
        part.display === undefined ? [] : [{ id: `${id}.diff`, kind: "diff", text: namedAs(known.input, part.display) }];
      const images = (part.images ?? []).map((image, index): Block => ({ id: `${id}.image${index}`, kind: "image", image }));
      if (at < 0) blocks.push(ended, ...shown, ...images);
      else blocks.splice(at, 1, ended, ...shown, ...images);
      break;
    }
    case "image":
      blocks.push({ id, kind: "image", image: { mime: part.mime, base64: part.base64 } });
      break;
    case "handle":
      if (part.handle.source === "bash" && part.handle.metadata.command !== undefined) blocks.push(commandBlock(id, part));
      else blocks.push({ id, kind: "note", text: `${part.handle.source}: ${oneLine(part.handle.identifier, 200)}` });
      break;
  }
}

/** The file of a diff by the name that the call had for it; what is recorded is the whole path. */
function namedAs(input: ToolBlock["input"], diff: string): string {
  const path = typeof input === "string" ? null : input["path"];
  if (typeof path !== "string" || path === "" || path.startsWith("/")) return diff;
  const inner = path.replace(/^(\.\/)+/, "");
  const shorter = (line: string) => (line.endsWith(`/${inner}`) ? `${line.slice(0, 4)}${inner}` : line);
  return diff.replace(/^--- .*\n\+\+\+ .*/, (head) => head.split("\n").map(shorter).join("\n"));
}

/** A command of the person's: what it printed is what the agent is sent, without the line that names it. */
function commandBlock(id: string, { handle, excerpt }: HandlePart): Block {
  const { command = "", exitCode, durationMs } = handle.metadata;
  const text = excerpt.slice(excerpt.indexOf(command) + command.length).replace(/^\n/, "");
  const span = { startedAt: null, tookMs: durationMs ?? null };
  return { ...toolBlock(id, "bash", { command }), span, result: { text, isError: exitCode !== 0 } };
}

export function toolBlock(id: string, name: string, input: Record<string, unknown> | string): ToolBlock {
  return { id, kind: "tool", name, input, output: "", span: { startedAt: null, tookMs: null }, result: null };
}

function speaker(node: Node): "user" | "text" | "note" {
  return node.author === "user" ? "user" : node.author === "agent" ? "text" : "note";
}

/** How a turn ended, and what it used. */
export function turnBlocks(turn: Turn): Block[] {
  // A command of the person's asked no model.
  if (turn.agent === "shell" && turn.status === "ok") return [];
  const cost = turn.costUsd === null ? "cost unknown" : `$${turn.costUsd.toFixed(4)}`;
  const line: Block = {
    id: `turn-${turn.id}`,
    kind: "turn",
    text: `${turn.status ?? "open"} · ${pluralize(turn.steps, "step")} · ${tokensText(turn.usage)} · ${cost}`,
  };
  if (turn.error === null || turn.status === "cancelled") return [line];
  return [{ id: `error-${turn.id}`, kind: "error", text: turn.error.message, hint: turn.error.hint ?? null }, line];
}
