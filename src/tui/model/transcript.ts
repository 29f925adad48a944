// All blocks in order. Recorded and streaming blocks are in separate lists, so that a delta copies only the streaming ones.
// Nothing here is changed in place.
import { oneLine } from "../../kit/text/cut-text.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { mainArgument, textOf, type Node } from "../../protocol/tree/node.ts";
import { addSpent, zeroSpent, toCost, withSubSessions } from "../../protocol/tree/usage.ts";
import { addParts, spawnTool, startedBy, toolBlock, type Block, type SessionBlock, type ToolBlock } from "./blocks.ts";

export type TranscriptBlocks = {
  /** Blocks of recorded nodes, and notes. */
  readonly settled: readonly Block[];
  /** Current versions of calls and sub-sessions that still change, by id. They replace the settled blocks. */
  readonly running: ReadonlyMap<string, Block>;
  /** Blocks of the answer that streams, after all others. The recorded node replaces them. */
  readonly writing: readonly Block[];
  /** The different speakers so far. Their names are shown if there are several. */
  readonly speakers: ReadonlySet<string>;
  /** The speaker of the running turn, until its first answer is recorded. */
  readonly nextSpeaker: string | null;
};

type EventOf<T extends Event["type"]> = Extract<Event, { type: T }>;

export const noBlocks: TranscriptBlocks = { settled: [], running: new Map(), writing: [], speakers: new Set(), nextSpeaker: null };

export function blockCount({ settled, writing }: TranscriptBlocks): number {
  return settled.length + writing.length;
}

export function blockAt({ settled, running, writing }: TranscriptBlocks, index: number): Block | undefined {
  const block = settled[index];
  return block === undefined ? writing[index - settled.length] : (running.get(block.id) ?? block);
}

/** All blocks as an array. Too slow for a frame of a long transcript. */
export function allBlocks(transcript: TranscriptBlocks): Block[] {
  return Array.from({ length: blockCount(transcript) }, (_, index) => blockAt(transcript, index)!);
}

export function withBlocks(transcript: TranscriptBlocks, ...blocks: Block[]): TranscriptBlocks {
  return { ...transcript, settled: [...transcript.settled, ...blocks] };
}

/** Adds a recorded node, which replaces the streamed blocks. A result is merged into its call. */
export function withNode(transcript: TranscriptBlocks, node: Node): TranscriptBlocks {
  const settled = [...transcript.settled];
  const isAnswer = node.author === "agent";
  addParts(settled, node, transcript.running, isAnswer ? transcript.nextSpeaker : null);
  const running = new Map(transcript.running);
  for (const part of node.parts) {
    if (part.kind !== "result") continue;
    running.delete(part.call);
    const result = { text: part.text, isError: part.isError };
    for (const [id, block] of running)
      if (block.kind === "session" && block.call === part.call) running.set(id, startedBy(block, { id: part.call, result }));
  }
  const replacesWriting = isAnswer || node.parts.some((part) => part.kind === "handle");
  const nextSpeaker = isAnswer ? null : transcript.nextSpeaker;
  return { ...transcript, settled, running, writing: replacesWriting ? [] : transcript.writing, nextSpeaker };
}

export function withDelta(transcript: TranscriptBlocks, kind: "text" | "thinking", text: string): TranscriptBlocks {
  const { writing } = transcript;
  const last = writing.at(-1);
  if (last?.kind === kind) return { ...transcript, writing: [...writing.slice(0, -1), { ...last, text: last.text + text }] };
  const by = transcript.nextSpeaker !== null && writing.length === 0 ? { by: transcript.nextSpeaker } : {};
  return { ...transcript, writing: [...writing, { id: `live-${blockCount(transcript)}`, ...by, kind, text, isLive: true }] };
}

/** Sets the complete text that has streamed so far, in place of the deltas received before. */
export function withDraft(transcript: TranscriptBlocks, key: string, text: string): TranscriptBlocks {
  if (key !== "text" && key !== "thinking") {
    const cleared = withRunning(transcript, key, "tool", () => ({ output: "" }));
    return withOutput(cleared, key, text);
  }
  return withDelta({ ...transcript, writing: transcript.writing.filter((block) => block.kind !== key) }, key, text);
}

/** Starts the answer of an agent. */
export function withSpeaker(transcript: TranscriptBlocks, speaker: string): TranscriptBlocks {
  return { ...transcript, speakers: new Set(transcript.speakers).add(speaker), nextSpeaker: speaker };
}

/** Drops streamed text, for example of a request that failed and is tried again. */
export function withoutWriting(transcript: TranscriptBlocks): TranscriptBlocks {
  return { ...transcript, writing: [] };
}

/** Marks a call as started. A call without a block is a shell command of the user: it gets one until its node is recorded. */
export function withStart(transcript: TranscriptBlocks, { call, name, input, at: startedAt }: EventOf<"tool.started">): TranscriptBlocks {
  const withCall = hasBlock(transcript, call)
    ? transcript
    : { ...transcript, writing: [...transcript.writing, toolBlock(call, name, input)] };
  return withRunning(withCall, call, "tool", () => ({ span: { startedAt, tookMs: null } }));
}

const maxOutputChars = 4000;

/** Appends to the output of a call. Only whole lines at its end are kept. */
export function withOutput(transcript: TranscriptBlocks, call: string, text: string): TranscriptBlocks {
  return withRunning(transcript, call, "tool", (block) => {
    const output = block.output + text;
    const tail = output.slice(-maxOutputChars);
    return { output: tail.length === output.length ? output : tail.slice(tail.indexOf("\n") + 1) };
  });
}

/** Adds the block of a sub-session in place of its call, or marks it as running if it has one from an earlier turn. */
export function withSpawned(
  transcript: TranscriptBlocks,
  { session: id, agent, task, call }: EventOf<"session.spawned">,
): TranscriptBlocks {
  if (hasBlock(transcript, id)) return withRunning(transcript, id, "session", () => ({ state: "running" }));
  const empty = { spent: zeroSpent, current: zeroSpent, lastOutput: "" };
  const session: SessionBlock = { id, kind: "session", agent, task, state: "running", ...empty };
  const index = transcript.settled.findLastIndex((block) => block.id === call && block.kind === "tool" && block.name === spawnTool);
  if (index < 0) return withBlocks(transcript, session);
  const running = new Map(transcript.running);
  running.delete(call);
  return {
    ...transcript,
    running,
    settled: transcript.settled.with(index, startedBy(session, { ...(transcript.settled[index] as ToolBlock), result: null })),
  };
}

export function withSubSessionEvent(transcript: TranscriptBlocks, event: Event): TranscriptBlocks {
  return withRunning(transcript, event.sessionId, "session", (block) => changeByEvent(block, event));
}

const maxLastOutputChars = 400;

function changeByEvent({ lastOutput, spent, current }: SessionBlock, event: Event): Partial<SessionBlock> {
  switch (event.type) {
    case "text.delta":
    case "thinking.delta":
      return { state: "running", lastOutput: (lastOutput + event.text).slice(-maxLastOutputChars) };
    case "tool.started":
      return { state: "running", lastOutput: `\n${oneLine(`${event.name} ${mainArgument(event.input)}`, 200)}\n` };
    case "tool.output":
      return { lastOutput: (lastOutput + event.text).slice(-maxLastOutputChars) };
    case "node.added":
      return changeByNode(event.node, { lastOutput, current });
    case "ask.opened":
      return { state: "asking" };
    case "ask.closed":
    case "turn.started":
    case "turn.resumed":
      return { state: "running" };
    case "turn.paused":
      return { state: "paused" };
    case "turn.ended":
      return { state: event.turn.status ?? "broken", spent: addSpent(spent, withSubSessions(event.turn)), current: zeroSpent };
    default:
      return {};
  }
}

/** Uses the text of a recorded answer, because its stream may have been missed. */
function changeByNode(node: Node, { lastOutput, current }: Pick<SessionBlock, "lastOutput" | "current">): Partial<SessionBlock> {
  const { usage, costUsd = null } = node;
  if (usage === undefined) return {};
  return {
    lastOutput: `${textOf(node).slice(-maxLastOutputChars) || lastOutput}\n`,
    current: addSpent(current, { usage, ...toCost({ ...node, costUsd }) }),
  };
}

function hasBlock({ settled, running, writing }: TranscriptBlocks, id: string): boolean {
  return running.has(id) || [settled, writing].some((blocks) => blocks.findLast((block) => block.id === id) !== undefined);
}

/** Changes one block of this kind. Searches from the end, where running blocks are. Without such a block nothing changes. */
function withRunning<K extends "tool" | "session">(
  transcript: TranscriptBlocks,
  id: string,
  kind: K,
  changesOf: (block: Extract<Block, { kind: K }>) => Partial<Extract<Block, { kind: K }>>,
): TranscriptBlocks {
  const change = (block: Block) => (block.kind === kind ? { ...block, ...changesOf(block as Extract<Block, { kind: K }>) } : block);
  if (transcript.writing.some((block) => block.id === id))
    return { ...transcript, writing: transcript.writing.map((block) => (block.id === id ? change(block) : block)) };
  const current = transcript.running.get(id) ?? transcript.settled.findLast((block) => block.id === id);
  return current === undefined ? transcript : { ...transcript, running: new Map(transcript.running).set(id, change(current)) };
}
