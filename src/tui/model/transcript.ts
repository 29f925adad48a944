// All blocks in their order. What streams is kept apart from what is settled: a delta copies what it changes, never
// the whole. Nothing in here is changed in place.
import type { Event } from "../../protocol/tree/event.ts";
import { textOf, type Node } from "../../protocol/tree/node.ts";
import { addSpent, zeroSpent, type Usage } from "../../protocol/tree/usage.ts";
import { addParts, toolBlock, type Block, type SessionBlock } from "./blocks.ts";

export type TranscriptBlocks = {
  /** Recorded, or told once. */
  readonly settled: readonly Block[];
  /** Calls and sub-sessions that still change, by id: as they are now, in place of the settled ones. */
  readonly running: ReadonlyMap<string, Block>;
  /** What is being written, behind all others, until its node takes its place. */
  readonly writing: readonly Block[];
};

export const noBlocks: TranscriptBlocks = { settled: [], running: new Map(), writing: [] };

export function blockCount({ settled, writing }: TranscriptBlocks): number {
  return settled.length + writing.length;
}

export function blockAt({ settled, running, writing }: TranscriptBlocks, at: number): Block | undefined {
  const block = settled[at];
  return block === undefined ? writing[at - settled.length] : (running.get(block.id) ?? block);
}

/** As an array, for whoever looks through them all; a frame never does. */
export function allBlocks(transcript: TranscriptBlocks): Block[] {
  return Array.from({ length: blockCount(transcript) }, (_, at) => blockAt(transcript, at)!);
}

export function withBlocks(transcript: TranscriptBlocks, ...blocks: Block[]): TranscriptBlocks {
  return { ...transcript, settled: [...transcript.settled, ...blocks] };
}

/** What was being written becomes what was recorded; a result goes to its call. */
export function withNode(transcript: TranscriptBlocks, node: Node): TranscriptBlocks {
  const settled = [...transcript.settled];
  addParts(settled, node, transcript.running);
  const running = new Map(transcript.running);
  for (const part of node.parts) if (part.kind === "result") running.delete(part.call);
  const takesOver = node.author === "agent" || node.parts.some((part) => part.kind === "handle");
  return { settled, running, writing: takesOver ? [] : transcript.writing };
}

/** A piece of text that is just being written. */
export function withDelta(transcript: TranscriptBlocks, kind: "text" | "thinking", text: string): TranscriptBlocks {
  const { writing } = transcript;
  const last = writing.at(-1);
  if (last?.kind === kind) return { ...transcript, writing: [...writing.slice(0, -1), { ...last, text: last.text + text }] };
  return { ...transcript, writing: [...writing, { id: `live-${blockCount(transcript)}`, kind, text, isLive: true }] };
}

/** All that is streaming so far, told once more: it takes the place of what was there of it. */
export function withDraft(transcript: TranscriptBlocks, key: string, text: string): TranscriptBlocks {
  if (key !== "text" && key !== "thinking") {
    const silent = withRunning(transcript, key, (block) => (block.kind === "tool" ? { ...block, output: "" } : block));
    return withOutput(silent, key, text);
  }
  return withDelta({ ...transcript, writing: transcript.writing.filter((block) => block.kind !== key) }, key, text);
}

/** What a request that failed had begun is not part of the answer. */
export function withoutWriting(transcript: TranscriptBlocks): TranscriptBlocks {
  return { ...transcript, writing: [] };
}

/** A call that no node tells of is a command of the person's: it is being written until its node is there. */
export function withStart(transcript: TranscriptBlocks, { call, name, input, at: startedAt }: Started): TranscriptBlocks {
  const known = hasBlock(transcript, call) ? transcript : { ...transcript, writing: [...transcript.writing, toolBlock(call, name, input)] };
  return withRunning(known, call, (block) => (block.kind === "tool" ? { ...block, span: { startedAt, tookMs: null } } : block));
}

type Started = Extract<Event, { type: "tool.started" }>;

const keptOutput = 4000;

/** The end of what a call has printed so far, from the beginning of a line. */
export function withOutput(transcript: TranscriptBlocks, call: string, text: string): TranscriptBlocks {
  return withRunning(transcript, call, (block) => {
    if (block.kind !== "tool") return block;
    const output = block.output + text;
    const tail = output.slice(-keptOutput);
    return { ...block, output: tail.length === output.length ? output : tail.slice(tail.indexOf("\n") + 1) };
  });
}

/** A sub-session that is put to work: it has one block, however often that happens. */
export function withSpawned(transcript: TranscriptBlocks, { session: id, agent, task }: Spawned): TranscriptBlocks {
  if (hasBlock(transcript, id))
    return withRunning(transcript, id, (block) => (block.kind === "session" ? { ...block, state: "running" } : block));
  const nothing = { spent: zeroSpent, current: zeroSpent, doing: "" };
  return withBlocks(transcript, { id, kind: "session", agent, task, state: "running", ...nothing });
}

type Spawned = Extract<Event, { type: "session.spawned" }>;

/** What a sub-session tells, in the block that stands for it. */
export function withSubSessionEvent(transcript: TranscriptBlocks, event: Event): TranscriptBlocks {
  return withRunning(transcript, event.sessionId, (block) => (block.kind === "session" ? { ...block, ...below(block, event) } : block));
}

const keptDoing = 400;

function below({ doing, spent, current }: SessionBlock, event: Event): Partial<SessionBlock> {
  switch (event.type) {
    case "text.delta":
    case "thinking.delta":
      return { state: "running", doing: (doing + event.text).slice(-keptDoing) };
    case "tool.started":
      return { state: "running", doing: `\n${event.name}(…)\n` };
    case "tool.output":
      return { doing: (doing + event.text).slice(-keptDoing) };
    case "node.added":
      return event.node.usage === undefined ? {} : answered({ doing, current }, event.node, event.node.usage);
    case "ask.opened":
      return { state: "asking" };
    case "ask.closed":
    case "turn.started":
    case "turn.resumed":
      return { state: "running" };
    case "turn.paused":
      return { state: "paused" };
    case "turn.ended":
      return { state: event.turn.status ?? "broken", spent: addSpent(spent, event.turn), current: zeroSpent };
    default:
      return {};
  }
}

/** Whoever came too late for the stream has its words from what was recorded. */
function answered({ doing, current }: Pick<SessionBlock, "doing" | "current">, node: Node, usage: Usage): Partial<SessionBlock> {
  const said = textOf(node).slice(-keptDoing);
  return { doing: `${said || doing}\n`, current: addSpent(current, { usage, costUsd: node.costUsd ?? null }) };
}

function hasBlock({ settled, running, writing }: TranscriptBlocks, id: string): boolean {
  return running.has(id) || [settled, writing].some((blocks) => blocks.findLast((block) => block.id === id) !== undefined);
}

/** Looks from the end, where what runs is; one that is not there changes nothing. */
function withRunning(transcript: TranscriptBlocks, id: string, change: (block: Block) => Block): TranscriptBlocks {
  if (transcript.writing.some((block) => block.id === id))
    return { ...transcript, writing: transcript.writing.map((block) => (block.id === id ? change(block) : block)) };
  const now = transcript.running.get(id) ?? transcript.settled.findLast((block) => block.id === id);
  if (now === undefined) return transcript;
  const next = change(now);
  return next === now ? transcript : { ...transcript, running: new Map(transcript.running).set(id, next) };
}
