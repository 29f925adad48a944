// The blocks of the transcript, and their construction from nodes. A block is immutable: a change makes a new object,
// so that cards can cache its layout. Texts are raw here; cards strip control characters.
import { pluralize, oneLine } from "../../kit/text/cut-text.ts";
import { mainArgument, type HandlePart, type ImageData, type Node, type Part } from "../../protocol/tree/node.ts";
import type { SpawnedSession } from "../../protocol/tree/views.ts";
import type { Turn } from "../../protocol/tree/turn.ts";
import { withSubSessions } from "../../protocol/tree/usage.ts";
import { costText, tokensText } from "../../protocol/tree/usage-text.ts";
import { screenHint } from "./screen-hint.ts";

export type Block = {
  id: string;
  /** The speaker, on the first block of an agent in a turn. Shown if the transcript has several speakers. */
  by?: string;
} & (
  | { kind: "user" | "text" | "thinking" | "note"; text: string; isLive?: boolean }
  | {
      kind: "tool";
      name: string;
      input: Record<string, unknown> | string;
      output: string;
      span: Span;
      result: ToolResult | null;
      /** The user ran the command to see its output, so it is shown without opening the block. */
      isUserCommand?: true;
    }
  /** A call that changed a file, with the change. `path` is the one that the call used. */
  | { kind: "diff"; tool: string; path: string; text: string; tookMs: number | null }
  /** A sub-session, as far as its events were received. `lastOutput` is the end of its text and tool output. */
  | ({
      kind: "session";
      lastOutput: string;
      /** The call that started it, and its result. The block replaces that of the call. */
      call?: string;
      answer?: string;
    } & Pick<SpawnedSession, "agent" | "task" | "state" | "spent" | "current">)
  | { kind: "image"; image: ImageData }
  | { kind: "turn"; text: string }
  /** The plan after a turn that planned. */
  | { kind: "plan"; text: string }
  | { kind: "error"; text: string; hint: string | null }
);

/** Start and duration of a call. Null if unknown. */
type Span = { startedAt: number | null; tookMs: number | null };
type ToolResult = { text: string; isError: boolean };

export type ToolBlock = Extract<Block, { kind: "tool" }>;
export type DiffBlock = Extract<Block, { kind: "diff" }>;
export type SessionBlock = Extract<Block, { kind: "session" }>;

const nodesPerSlice = 250;

const noSessions: SpawnedSession[] = [];
const noRunning: ReadonlyMap<string, Block> = new Map();

type Path = { nodes: readonly Node[]; turns: readonly Turn[]; spawned: readonly SpawnedSession[] };

/**
 * Blocks of a path from the root: its nodes, each sub-session where it started, and a line after each turn.
 * Yields after every slice, because a long path takes longer than a frame.
 */
export function* blocksOfPath({ nodes, turns, spawned }: Path): Generator<undefined, Block[]> {
  const turnsById = new Map(turns.map((turn) => [turn.id, turn]));
  const spawnedByTurn = Map.groupBy(spawned, ({ turn }) => turn);
  const blocks: Block[] = [];
  let reachedTip: string | null = null;
  let labelledTurn: string | null = null;
  for (let index = 0; index < nodes.length; index += 1) {
    const node = nodes[index]!;
    if (index > 0 && index % nodesPerSlice === 0) yield;
    const started = spawnedByTurn.get(node.turn ?? "") ?? noSessions;
    while (started[0] !== undefined && started[0].createdAt < node.at) blocks.push(sessionBlock(started.shift()!));
    const ownTurn = node.turn === null ? undefined : turnsById.get(node.turn);
    const isFirstAnswer = node.author === "agent" && ownTurn !== undefined && ownTurn.id !== labelledTurn;
    addParts(blocks, node, noRunning, isFirstAnswer ? speakerOf(ownTurn) : null);
    if (isFirstAnswer) labelledTurn = ownTurn.id;
    if (ownTurn?.tip === node.id) reachedTip = ownTurn.id;
    const turn = nodes[index + 1]?.turn === node.turn ? undefined : ownTurn;
    if (turn === undefined) continue;
    // If the path leaves the turn early, its later sub-sessions belong to another branch.
    if (turn.tip === node.id && started.length > 0) blocks.push(...started.map(sessionBlock));
    // A path that leaves the turn early does not have its end.
    if (turn.endedAt !== null && (turn.tip === null || reachedTip === turn.id)) blocks.push(...turnBlocks(turn));
  }
  return withoutSpawnCalls(blocks);
}

/** Merges the call that started a sub-session into the block of the sub-session, which stands in its place. */
function withoutSpawnCalls(blocks: Block[]): Block[] {
  const sessions = blocks.filter((block) => block.kind === "session");
  if (sessions.length === 0) return blocks;
  const merged = new Map<string, SessionBlock>();
  for (const block of blocks) {
    if (block.kind !== "tool" || block.name !== spawnTool) continue;
    const session = sessions.find((candidate) => !merged.has(candidate.id) && isStartedBy(candidate, block));
    if (session !== undefined) merged.set(session.id, startedBy(session, block));
  }
  const byCall = new Map(Array.from(merged.values(), (session) => [session.call ?? "", session]));
  return blocks.flatMap((block): Block[] => {
    if (block.kind === "session" && merged.has(block.id)) return [];
    return [(block.kind === "tool" ? byCall.get(block.id) : undefined) ?? block];
  });
}

export const spawnTool = "spawn_session";

/** The result names the session. While the call runs, both have the same task. */
function isStartedBy({ id, task }: SessionBlock, { result, input }: ToolBlock): boolean {
  if (result !== null) return result.text.includes(`[session ${id}, `);
  return typeof input !== "string" && input["task"] === task;
}

/** The block of a sub-session in place of its call. */
export function startedBy(session: SessionBlock, { id: call, result, by }: Pick<ToolBlock, "id" | "result" | "by">): SessionBlock {
  return { ...session, call, ...(by === undefined ? {} : { by }), ...(result === null ? {} : { answer: result.text }) };
}

function sessionBlock({ id, agent, task, state, spent, current, said }: SpawnedSession): SessionBlock {
  return { id, kind: "session", agent, task, state, spent, current, lastOutput: `${said}\n` };
}

/** The agent of a turn. The native agent has many models, so its model is part of the name. */
export function speakerOf({ agent, model }: Pick<Turn, "agent" | "model">): string {
  return agent === "native" && model !== null ? `native ${model.slice(model.indexOf("/") + 1)}` : agent;
}

/** The different speakers of turns. Commands of the user are not among them. */
export function speakersOf(turns: readonly Turn[]): ReadonlySet<string> {
  return new Set(turns.filter(({ agent }) => agent !== "shell").map(speakerOf));
}

/**
 * Appends the parts of a node to `blocks`. A result is merged into its call, which may be newer in `running`. The first
 * block gets the name of its speaker, if `by` is not null.
 */
export function addParts(blocks: Block[], node: Node, running: ReadonlyMap<string, Block>, by: string | null = null): void {
  const first = blocks.length;
  for (let index = 0; index < node.parts.length; index += 1)
    addPart(blocks, { id: `${node.id}.${index}`, node, part: node.parts[index]! }, running);
  const block = blocks[first];
  // Nobody else has the new block yet.
  if (by !== null && block !== undefined) block.by = by;
}

const textKinds = { user: "user", agent: "text", tool: "note", note: "note" } as const;

type PlacedPart = { id: string; node: Node; part: Part };

function addPart(blocks: Block[], { id, node, part }: PlacedPart, running: ReadonlyMap<string, Block>): void {
  switch (part.kind) {
    case "text":
    case "thinking":
      if (part.text.trim() !== "")
        blocks.push({ id, kind: part.kind === "thinking" ? "thinking" : textKinds[node.author], text: part.text });
      break;
    case "call":
      blocks.push(toolBlock(part.id, part.name, part.malformed ?? part.input));
      break;
    case "result": {
      // One search from the end: the call is near, and a whole search for each result would be slow in a long session.
      const index = blocks.findLastIndex(
        (block) => (block.kind === "session" ? block.call : block.kind === "tool" && block.id) === part.call,
      );
      const found = blocks[index];
      const call = running.get(part.call) ?? found;
      const tool = call?.kind === "tool" ? call : toolBlock(id, part.name, {});
      const { startedAt } = tool.span;
      const tookMs = startedAt === null ? null : Math.max(0, node.at - startedAt);
      const result = { text: part.text, isError: part.isError };
      if (found?.kind === "session") {
        blocks[index] = startedBy(found, { id: part.call, result });
        break;
      }
      const ended: Block = { ...tool, output: "", span: { startedAt, tookMs }, result };
      const shown = part.isError || !isFileDiff(part.display) ? ended : diffBlock(ended, part.display);
      const images = (part.images ?? []).map((image, number): Block => ({ id: `${id}.image${number}`, kind: "image", image }));
      if (index < 0) blocks.push(shown, ...images);
      else blocks.splice(index, 1, shown, ...images);
      break;
    }
    case "image":
      blocks.push({ id, kind: "image", image: { mime: part.mime, base64: part.base64 } });
      break;
    case "handle":
      if (node.note?.about === "check") blocks.push({ ...commandBlock(id, part), name: "check" });
      else if (part.handle.source === "bash" && part.handle.metadata.command !== undefined)
        blocks.push({ ...commandBlock(id, part), isUserCommand: true });
      else blocks.push({ id, kind: "note", text: `${part.handle.source}: ${oneLine(part.handle.identifier, 200)}` });
      break;
  }
}

function isFileDiff(display: string | undefined): display is string {
  return display !== undefined && /^--- .*\n\+\+\+ /.test(display);
}

/** The change replaces the call: both would name the same file. */
function diffBlock({ id, by, name, input, span }: ToolBlock, diff: string): DiffBlock {
  const path = typeof input === "string" ? "" : mainArgument(input);
  return { id, ...(by === undefined ? {} : { by }), kind: "diff", tool: name, path, text: withShortPath(input, diff), tookMs: span.tookMs };
}

/** Replaces the absolute path in the head of a diff by the path that the call used. */
function withShortPath(input: ToolBlock["input"], diff: string): string {
  const path = typeof input === "string" ? null : input["path"];
  if (typeof path !== "string" || path === "" || path.startsWith("/")) return diff;
  const relativePath = path.replace(/^(\.\/)+/, "");
  const shorten = (line: string) => (line.endsWith(`/${relativePath}`) ? `${line.slice(0, 4)}${relativePath}` : line);
  return diff.replace(/^--- .*\n\+\+\+ .*/, (head) => head.split("\n").map(shorten).join("\n"));
}

/** A shell command of the user, or a check. Its output is the excerpt that the agent gets, without the line with the command. */
function commandBlock(id: string, { handle, excerpt }: HandlePart): ToolBlock {
  const { command = "", exitCode, durationMs } = handle.metadata;
  const text = excerpt.slice(Math.max(0, excerpt.indexOf(command)) + command.length).replace(/^\n/, "");
  const span = { startedAt: null, tookMs: durationMs ?? null };
  return { ...toolBlock(id, "bash", { command }), span, result: { text, isError: exitCode !== 0 } };
}

export function toolBlock(id: string, name: string, input: Record<string, unknown> | string): ToolBlock {
  return { id, kind: "tool", name, input, output: "", span: { startedAt: null, tookMs: null }, result: null };
}

/** The line after a turn with its status, tokens and cost (with its sub-sessions), and its error if it failed. */
export function turnBlocks(turn: Turn): Block[] {
  // A shell command of the user sends no request to a model.
  if (turn.agent === "shell" && turn.status === "ok") return [];
  const spent = withSubSessions(turn);
  const line: Block = {
    id: `turn-${turn.id}`,
    kind: "turn",
    text: `${turn.status ?? "open"} · ${pluralize(turn.steps, "step")} · ${tokensText(spent.usage)} · ${costText(spent)}`,
  };
  if (turn.error === null || turn.status === "cancelled") return [line];
  return [{ id: `error-${turn.id}`, kind: "error", text: turn.error.message, hint: screenHint(turn.error.hint ?? null) }, line];
}
