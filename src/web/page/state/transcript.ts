// The blocks of a session's transcript, from its nodes and events. Recorded blocks and the blocks that still stream are
// separate lists. A change makes a new block, so that unchanged rows are not rendered again.
import type { Event } from "../../../protocol/tree/event.ts";
import type { ImageData, Node, Part } from "../../../protocol/tree/node.ts";
import type { TurnError } from "../../../protocol/api/error.ts";
import type { Turn } from "../../../protocol/tree/turn.ts";

export type ToolResult = { text: string; isError: boolean; images: readonly ImageData[]; display: string | null; handle: string | null };

export type Block = { id: string; at: number | null } & (
  | { kind: "user"; text: string; images: readonly ImageData[] }
  | { kind: "text" | "thinking"; text: string; isLive: boolean; by: string | null }
  | {
      kind: "tool";
      name: string;
      input: Record<string, unknown> | null;
      malformed: string | null;
      output: string;
      result: ToolResult | null;
    }
  | { kind: "image"; image: ImageData }
  | { kind: "data"; title: string; text: string; handle: string }
  | { kind: "note"; about: string; text: string }
  | { kind: "spawned"; session: string; agent: string; task: string }
  | { kind: "turn"; turn: Turn; error: TurnError | null }
);
export type ToolBlock = Extract<Block, { kind: "tool" }>;

export type Transcript = {
  readonly settled: readonly Block[];
  readonly live: readonly Block[];
  /** The agent of the running turn, for the blocks that stream. */
  readonly speaker: string | null;
};

export const emptyTranscript: Transcript = { settled: [], live: [], speaker: null };

type View = { nodes: readonly Node[]; turns: readonly Turn[] };

/** Blocks of a path from the root, with a line at the end of each turn. */
export function transcriptOf({ nodes, turns }: View): Transcript {
  const turnsById = new Map(turns.map((turn) => [turn.id, turn]));
  const settled: Block[] = [];
  for (const [index, node] of nodes.entries()) {
    const turn = node.turn === null ? undefined : turnsById.get(node.turn);
    addNode(settled, node, turn?.agent ?? null);
    const isLast = nodes[index + 1]?.turn !== node.turn;
    if (isLast && turn !== undefined && turn.endedAt !== null && turn.tip === node.id) settled.push(turnBlock(turn));
  }
  return { settled, live: [], speaker: turns.findLast(({ endedAt }) => endedAt === null)?.agent ?? null };
}

/** Removes the blocks that stream. A feed that begins again sends them again. */
export function withoutLive(transcript: Transcript): Transcript {
  return { ...transcript, live: [] };
}

/** Puts older blocks before those of a transcript. A result whose call is among the older ones belongs to that call. */
export function withEarlierBlocks(transcript: Transcript, older: readonly Block[]): Transcript {
  const calls = new Map(older.flatMap((block) => (block.kind === "tool" ? [[block.id, block]] : [])));
  const results = new Map<string, ToolBlock>();
  const rest = transcript.settled.filter((block) => {
    if (block.kind !== "tool" || block.input !== null || !calls.has(block.id)) return true;
    results.set(block.id, block);
    return false;
  });
  const joined = older.map((block) => {
    const result = results.get(block.id);
    return result === undefined || block.kind !== "tool" ? block : { ...block, output: result.output, result: result.result };
  });
  return { ...transcript, settled: [...joined, ...rest] };
}

export function withEvent(transcript: Transcript, event: Event): Transcript {
  switch (event.type) {
    case "turn.started":
      return { ...transcript, live: [], speaker: event.turn.agent };
    case "node.added":
      return withNode(transcript, event.node);
    case "turn.ended":
      return { settled: [...transcript.settled, turnBlock(event.turn)], live: [], speaker: null };
    case "text.delta":
      return withDelta(transcript, "text", event);
    case "thinking.delta":
      return withDelta(transcript, "thinking", event);
    case "draft.shown":
      return withDraft(transcript, event.key, event);
    case "call.started":
      return withCall(transcript, event.call, { name: event.name, input: null, at: event.at });
    case "tool.started":
      return withCall(transcript, event.call, { name: event.name, input: event.input, at: event.at });
    case "tool.output":
      return withOutput(transcript, event.call, (output) => output + event.text);
    case "tool.denied":
      return withOutput(transcript, event.call, (output) => `${output}${output === "" ? "" : "\n"}${event.text}\n`);
    case "session.spawned":
      return withBlock(transcript, {
        kind: "spawned",
        id: event.session,
        at: event.at,
        session: event.session,
        agent: event.agent,
        task: event.task,
      });
    case "warning.raised":
      return withBlock(transcript, {
        kind: "note",
        id: `warning-${event.seq}-${event.n}`,
        at: event.at,
        about: "warning",
        text: event.message,
      });
    case "model.retried":
      // The failed answer starts again from its beginning.
      return { ...transcript, live: transcript.live.filter(({ kind }) => kind !== "text" && kind !== "thinking") };
    default:
      return transcript;
  }
}

function withBlock(transcript: Transcript, block: Block): Transcript {
  if (transcript.settled.some(({ id }) => id === block.id)) return transcript;
  return { ...transcript, settled: [...transcript.settled, block] };
}

/** A recorded answer replaces the streamed one. A result is added to its call. */
function withNode(transcript: Transcript, node: Node): Transcript {
  const settled = [...transcript.settled];
  addNode(settled, node, transcript.speaker, new Map(transcript.live.map((block) => [block.id, block])));
  if (node.author === "agent")
    return { ...transcript, settled, live: transcript.live.filter(({ kind }) => kind === "tool").filter(isUnrecorded(settled)) };
  return { ...transcript, settled, live: transcript.live.filter(isUnrecorded(settled)) };
}

function isUnrecorded(settled: readonly Block[]): (block: Block) => boolean {
  const recent = new Set(settled.slice(-50).map(({ id }) => id));
  return ({ id }) => !recent.has(id);
}

function withDelta(transcript: Transcript, kind: "text" | "thinking", { text, at }: { text: string; at: number }): Transcript {
  const last = transcript.live.at(-1);
  if (last?.kind === kind)
    return { ...transcript, live: transcript.live.with(transcript.live.length - 1, { ...last, text: last.text + text }) };
  const id = `live-${kind}-${transcript.settled.length}-${transcript.live.length}`;
  return { ...transcript, live: [...transcript.live, { kind, id, at, text, isLive: true, by: transcript.speaker }] };
}

/** The whole text that has streamed so far, for a reader that joins late. */
function withDraft(transcript: Transcript, key: string, { text, at }: { text: string; at: number }): Transcript {
  if (key !== "text" && key !== "thinking") return withOutput(transcript, key, () => text);
  const others = transcript.live.filter(({ kind }) => kind !== key);
  return withDelta({ ...transcript, live: others }, key, { text, at });
}

type StartedCall = { name: string; input: Record<string, unknown> | null; at: number };

function withCall(transcript: Transcript, call: string, { name, input, at }: StartedCall): Transcript {
  const known = findTool(transcript, call);
  if (known !== null) return input === null ? transcript : replaceTool(transcript, { ...known, input, at });
  const block: ToolBlock = { kind: "tool", id: call, at, name, input, malformed: null, output: "", result: null };
  return { ...transcript, live: [...transcript.live, block] };
}

const maxOutputChars = 20_000;

function withOutput(transcript: Transcript, call: string, change: (output: string) => string): Transcript {
  const tool = findTool(transcript, call);
  return tool === null ? transcript : replaceTool(transcript, { ...tool, output: change(tool.output).slice(-maxOutputChars) });
}

/** Searches from the end, where running calls are. */
function findTool({ settled, live }: Transcript, call: string): ToolBlock | null {
  const isCall = (block: Block) => block.kind === "tool" && block.id === call;
  return ((live.findLast(isCall) ?? settled.findLast(isCall)) as ToolBlock | undefined) ?? null;
}

function replaceTool(transcript: Transcript, block: ToolBlock): Transcript {
  const index = transcript.live.findLastIndex(({ id }) => id === block.id);
  if (index >= 0) return { ...transcript, live: transcript.live.with(index, block) };
  const settledIndex = transcript.settled.findLastIndex(({ id }) => id === block.id);
  return { ...transcript, settled: transcript.settled.with(settledIndex, block) };
}

function turnBlock(turn: Turn): Block {
  return { kind: "turn", id: `turn-${turn.id}`, at: turn.endedAt, turn, error: turn.error };
}

function addNode(blocks: Block[], node: Node, agent: string | null, live: ReadonlyMap<string, Block> = new Map()): void {
  if (node.author === "user") addUserNode(blocks, node);
  else if (node.note !== undefined) addNote(blocks, node);
  else for (const [index, part] of node.parts.entries()) addPart(blocks, part, { node, id: `${node.id}-${index}`, agent, live });
}

function addUserNode(blocks: Block[], node: Node): void {
  const text = node.parts.flatMap((part) => (part.kind === "text" ? [part.text] : [])).join("\n\n");
  const images = node.parts.flatMap((part) => (part.kind === "image" ? [part] : []));
  if (text !== "" || images.length > 0) blocks.push({ kind: "user", id: node.id, at: node.at, text, images });
  for (const part of node.parts) if (part.kind === "handle") blocks.push(dataBlock(node, part));
}

function addNote(blocks: Block[], node: Node): void {
  const text = node.parts
    .flatMap((part) => (part.kind === "text" ? [part.text] : part.kind === "handle" ? [part.excerpt] : []))
    .join("\n\n");
  blocks.push({ kind: "note", id: node.id, at: node.at, about: node.note!.about, text });
}

type PartContext = { node: Node; id: string; agent: string | null; live: ReadonlyMap<string, Block> };

function addPart(blocks: Block[], part: Part, { node, id, agent, live }: PartContext): void {
  const at = node.at;
  switch (part.kind) {
    case "text":
    case "thinking":
      if (part.text.trim() !== "") blocks.push({ kind: part.kind, id, at, text: part.text, isLive: false, by: agent });
      return;
    case "call": {
      const running = live.get(part.id);
      const output = running?.kind === "tool" ? running.output : "";
      blocks.push({
        kind: "tool",
        id: part.id,
        at,
        name: part.name,
        input: part.input,
        malformed: part.malformed ?? null,
        output,
        result: null,
      });
      return;
    }
    case "result": {
      const { text, isError, images = [], display = null, handle } = part;
      const result: ToolResult = { text, isError, images, display, handle: handle?.identifier ?? null };
      const index = blocks.findLastIndex((block) => block.kind === "tool" && block.id === part.call);
      if (index >= 0) blocks[index] = { ...(blocks[index] as ToolBlock), result };
      else blocks.push({ kind: "tool", id: part.call, at, name: part.name, input: null, malformed: null, output: "", result });
      return;
    }
    case "image":
      blocks.push({ kind: "image", id, at, image: part });
      return;
    case "handle":
      blocks.push(dataBlock(node, part));
  }
}

function dataBlock(node: Node, { handle, excerpt }: Extract<Part, { kind: "handle" }>): Block {
  const { command, exitCode } = handle.metadata;
  const subject = typeof command === "string" ? command : handle.identifier;
  const title = `${handle.source}: ${subject}${typeof exitCode === "number" ? ` (exit ${exitCode})` : ""}`;
  return { kind: "data", id: `${node.id}-${handle.identifier}`, at: node.at, title, text: excerpt, handle: handle.identifier };
}
