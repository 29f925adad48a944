// Compaction: when the window is nearly full, older work becomes one summary node. User messages stay verbatim,
// the newest work stays whole, activated skills are kept, and moving back in the tree undoes it.
import { cutText } from "../../../kit/text/cut-text.ts";
import type { ModelEvent } from "../../../models/model.ts";
import { Fault, type TurnError } from "../../../protocol/api/error.ts";
import type { NewNode, Node, Part } from "../../../protocol/tree/node.ts";
import type { AgentEvent, SettleReservation } from "../../../protocol/api/ports.ts";
import { addSpent, zeroUsage } from "../../../protocol/tree/usage.ts";
import { estimateRequest } from "./estimate.ts";
import { renderMessages, visibleNodes } from "./messages.ts";
import { bytesPerToken, requestTokens, nodeTokens } from "./request-size.ts";
import { addNode, agentNode, priceUsage, type LoopState } from "../turn-state.ts";

const smallestWindow = 2000;
const skillBytes = 16 * 1024;

const instruction = `Stop working for a moment: the conversation is about to be shortened. Write a summary of the work so far for yourself, because everything but the user's messages and the newest steps will be gone. Say under short headings: the goal, what was done (files as path:line), decisions and their reasons, what is known about the code, what failed, what is next. Facts only, no calls.`;

export async function needsCompaction(state: LoopState): Promise<boolean> {
  const size = requestTokens(state.path);
  if (size < smallestWindow) return false;
  const window = await state.model.window();
  return window !== null && size > window - Math.min(16_000, window / 4);
}

/** What comes back says why it was not done. */
export async function* compact(state: LoopState): AsyncGenerator<AgentEvent, TurnError | null> {
  const window = (await state.model.window()) ?? 32_000;
  const full = Math.min(window, requestTokens(state.path));
  const keptFrom = cutPoint(state.path, { keep: (full * 3) / 10, most: full / 2 });
  const nodes = visibleNodes(state.path);
  const cut = keptFrom === null ? nodes.length : nodes.findIndex((node) => node.id === keptFrom);
  const older = nodes.slice(0, cut);
  if (!older.some((node) => node.author !== "user")) {
    throw new Fault("too-long", `the conversation does not fit the window of ${state.model.name} and nothing of it can be shortened`, {
      hint: "start a new session, or use a model with a larger window",
    });
  }
  const room = await state.context.reserve(await estimateRequest(state));
  if (typeof room !== "function") return room;
  yield { type: "passing", event: { type: "warning.raised", message: "the window is nearly full: summarising older work" } };
  const summary = await summarise(state, older, window, room);
  const parts: Part[] = [
    { kind: "text", text: `[Earlier work, summarised]\n${summary.text}` },
    ...activatedSkills(older, state.skillPaths),
  ];
  if (keptFrom === null) parts.push(...newestResults(older, (full * bytesPerToken) / 4));
  const node: NewNode = { ...summary.node, author: "note", note: { about: "compaction", keptFrom }, parts };
  yield* addNode(state, node);
  return null;
}

/**
 * The first node that stays whole: an agent or user node, so that no result is parted from its call. The newest round
 * (what was just called and answered) stays unless it alone is more than `most`, and older ones while they fit `keep`.
 */
export function cutPoint(path: Node[], tokens: { keep: number; most: number }): string | null {
  let kept = 0;
  let cut: string | null = null;
  for (const node of sinceCompaction(path).toReversed()) {
    kept += nodeTokens(node);
    if (kept > (cut === null ? tokens.most : tokens.keep)) break;
    if (node.author === "agent" || node.author === "user") cut = node.id;
  }
  return cut;
}

/** What the last compaction kept and what came after: what lies before is in its summary, and must not come back. */
function sinceCompaction(path: Node[]): Node[] {
  const at = path.findLastIndex((node) => node.note?.about === "compaction");
  const note = path[at]?.note;
  const from = note?.about === "compaction" && note.keptFrom !== null ? path.findIndex((node) => node.id === note.keptFrom) : at + 1;
  return path.slice(from).filter((node) => node.note?.about !== "compaction");
}

type Summary = { text: string; node: Partial<NewNode> };

/** Asks the model; when that fails, a plain list of what was called keeps the thread. */
async function summarise(state: LoopState, older: Node[], window: number, settle: SettleReservation): Promise<Summary> {
  const messages = renderMessages(bounded(older, window));
  messages.push({ role: "user", parts: [{ kind: "text", text: instruction }] });
  const request = {
    system: state.system,
    tools: state.tools,
    messages,
    cacheKey: state.input.session,
    maxOutputTokens: Math.floor(Math.min(4096, window / 5)),
  };
  let last: ModelEvent | undefined;
  for await (const event of state.model.stream(request, state.context.signal, state.gate)) last = event;
  const spent = await priceUsage(state, last !== undefined && "usage" in last ? last.usage : zeroUsage);
  settle(spent);
  if (last?.type !== "done") state.unrecorded = addSpent(state.unrecorded, spent);
  if (state.context.signal.aborted) throw new Fault("internal", "the turn was stopped");
  if (last?.type !== "done") return { text: listOfCalls(older), node: {} };
  const text = last.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
  const { model, usage, costUsd } = agentNode(state, [], spent);
  return { text: text.trim() === "" ? listOfCalls(older) : text, node: { model, usage, costUsd } };
}

/** Long results and arguments are shortened for the summary request, so that it fits even after an overflow. */
function bounded(nodes: Node[], window: number): Node[] {
  const each = Math.max(400, Math.floor((window * bytesPerToken) / 2 / Math.max(1, nodes.length)));
  const short = (text: string) => cutText(text, each, { keep: "both" }).text;
  return nodes.map((node) => ({
    ...node,
    parts: node.parts.map((part) => {
      if (part.kind === "result") return { ...part, text: short(part.text) };
      if (part.kind !== "call") return part;
      const input = Object.entries(part.input).map(([key, value]) => [key, typeof value === "string" ? short(value) : value]);
      return { ...part, input: Object.fromEntries(input) as typeof part.input };
    }),
  }));
}

function listOfCalls(nodes: Node[]): string {
  const lines = nodes.flatMap((node) =>
    node.parts.flatMap((part) => {
      if (part.kind === "call") return [`- called ${part.name} ${cutText(JSON.stringify(part.input), 200, { keep: "head" }).text}`];
      if (part.kind === "text" && node.author === "agent") return [`- said: ${cutText(part.text, 300, { keep: "head" }).text}`];
      return [];
    }),
  );
  return `(The model could not summarise; this is what was done.)\n${lines.slice(-200).join("\n")}`;
}

/** When not even the newest round fits, the model still gets the beginning and end of what it waits for. */
function newestResults(nodes: Node[], bytes: number): Part[] {
  const at = nodes.findLastIndex((node) => node.author === "agent");
  const results = nodes.slice(at + 1).flatMap((node) => node.parts.filter((part) => part.kind === "result"));
  const each = Math.max(400, Math.floor(bytes / Math.max(1, results.length)));
  return results.map((part) => ({
    kind: "text",
    text: `[Result of your last ${part.name} call, shortened]\n${cutText(part.text, each, { keep: "both" }).text}`,
  }));
}

/** The bodies of skills that were read: they must not be lost, nor read twice. */
function activatedSkills(nodes: Node[], skillPaths: string[]): Part[] {
  const kept = new Map<string, string>();
  const paths = new Map<string, string>();
  for (const node of nodes) {
    for (const part of node.parts) {
      const earlier = node.note?.about === "compaction" && part.kind === "text" ? /^\[Skill (.+)\]\n/.exec(part.text) : null;
      if (earlier !== null && part.kind === "text") kept.set(earlier[1] as string, part.text);
      if (part.kind === "call" && part.name === "read") {
        const wanted = String(part.input["path"]).replace(/^(\.\/)+/, "");
        const path = skillPaths.find((candidate) => candidate === wanted || candidate.endsWith(`/${wanted}`));
        if (path !== undefined) paths.set(part.id, path);
      }
      const path = part.kind === "result" ? paths.get(part.call) : undefined;
      if (part.kind === "result" && path !== undefined && !part.isError)
        kept.set(path, `[Skill ${path}]\n${cutText(part.text, skillBytes, { keep: "head" }).text}`);
    }
  }
  return [...kept.values()].map((text) => ({ kind: "text", text }));
}
