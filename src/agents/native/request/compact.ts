// Compaction: when the context window is nearly full, a summary node replaces older work. User messages, the newest work
// and skills that were read are retained. Moving back in the tree undoes a compaction.
import { bytesPerToken } from "../../../kit/text/bytes-per-token.ts";
import { cutText } from "../../../kit/text/cut-text.ts";
import type { ModelEvent } from "../../../models/model.ts";
import { Fault, type TurnError } from "../../../protocol/api/error.ts";
import type { NewNode, Node, Part } from "../../../protocol/tree/node.ts";
import type { AgentEvent, SettleReservation } from "../../../protocol/api/ports.ts";
import { addSpent, zeroUsage } from "../../../protocol/tree/usage.ts";
import { findCompaction, renderMessages, visibleNodes } from "./messages.ts";
import { estimateNodeTokens, estimateRequest, estimateRequestTokens } from "./request-size.ts";
import { addNode, agentNode, priceUsage, type LoopState } from "../turn-state.ts";

const skillBytes = 16 * 1024;

const warnings = { full: "the window is nearly full: summarising older work", request: "summarising the conversation so far" };

const instruction = `Stop working for a moment: the conversation is about to be shortened. Write a summary of the work so far for yourself, because everything but the user's messages and the newest steps will be gone. Say under short headings: the goal, what was done (files as path:line), decisions and their reasons, what is known about the code, what failed, what is next. Facts only, no calls.`;

/**
 * Returns an error if the budget does not allow the summary request. Throws if there is nothing to summarise.
 * At the user's request it summarises everything; in a full window it retains the newest work.
 */
export async function* compact(state: LoopState, cause: "full" | "request" = "full"): AsyncGenerator<AgentEvent, TurnError | null> {
  const window = (await state.model.window()) ?? 32_000;
  const requestTokens = Math.min(window, estimateRequestTokens(state.path));
  const keptFrom = cause === "request" ? null : cutPoint(state.path, { keep: (requestTokens * 3) / 10, max: requestTokens / 2 });
  const nodes = visibleNodes(state.path);
  const olderCount = keptFrom === null ? nodes.length : nodes.findIndex((node) => node.id === keptFrom);
  const older = nodes.slice(0, olderCount);
  if (!older.some((node) => node.author !== "user")) {
    throw new Fault("too-long", `the conversation does not fit the window of ${state.model.name} and nothing of it can be shortened`, {
      hint: "start a new session, or use a model with a larger window",
    });
  }
  const settle = await state.context.reserve(await estimateRequest(state));
  if (typeof settle !== "function") return settle;
  yield { type: "transient", event: { type: "warning.raised", message: warnings[cause] } };
  const summary = await summarise(state, older, window, settle);
  const parts: Part[] = [
    { kind: "text", text: `[Earlier work, summarised]\n${summary.text}` },
    ...activatedSkills(older, state.skillPaths),
  ];
  if (keptFrom === null) parts.push(...newestResults(older, (requestTokens * bytesPerToken.cautious) / 4));
  const node: NewNode = { ...summary.node, author: "note", note: { about: "compaction", keptFrom }, parts };
  yield* addNode(state, node);
  return null;
}

/**
 * The id of the first retained node; null if no node is retained. It is an agent or user node, so that no result loses its call.
 * The newest round of calls is retained unless it alone exceeds `max` tokens. Older rounds are retained while all fit into `keep`.
 */
export function cutPoint(path: Node[], tokens: { keep: number; max: number }): string | null {
  let total = 0;
  let cut: string | null = null;
  for (const node of sinceCompaction(path).toReversed()) {
    total += estimateNodeTokens(node);
    if (total > (cut === null ? tokens.max : tokens.keep)) break;
    if (node.author === "agent" || node.author === "user") cut = node.id;
  }
  return cut;
}

/** Nodes that the last compaction retained, and newer ones. Earlier nodes are in its summary and must not be sent again. */
function sinceCompaction(path: Node[]): Node[] {
  return path.slice(findCompaction(path)?.keptIndex ?? 0).filter((node) => node.note?.about !== "compaction");
}

/** Asks the model for a summary. If that fails, the text is a plain list of calls. `node` has the model and its usage. */
async function summarise(state: LoopState, older: Node[], window: number, settle: SettleReservation) {
  const messages = renderMessages(withShortTexts(older, window));
  messages.push({ role: "user", parts: [{ kind: "text", text: instruction }] });
  const request = {
    system: state.system,
    tools: state.tools,
    messages,
    cacheKey: state.input.session,
    maxOutputTokens: Math.floor(Math.min(4096, window / 5)),
  };
  let last: ModelEvent | undefined;
  for await (const event of state.model.stream(request, state.context.signal, state.pauseGate)) last = event;
  const spent = await priceUsage(state, last !== undefined && "usage" in last ? last.usage : zeroUsage);
  settle(spent);
  if (last?.type !== "done") state.unrecorded = addSpent(state.unrecorded, spent);
  if (state.context.signal.aborted) throw new Fault("internal", "the turn was stopped");
  if (last?.type !== "done") return { text: callsText(older), node: {} };
  const text = last.parts.map((part) => (part.kind === "text" ? part.text : "")).join("");
  const { model, usage, costUsd } = agentNode(state, [], spent);
  return { text: text.trim() === "" ? callsText(older) : text, node: { model, usage, costUsd } };
}

/** Shortens long results and arguments, so that the summary request fits even after an overflow. */
function withShortTexts(nodes: Node[], window: number): Node[] {
  const maxBytes = Math.max(400, Math.floor((window * bytesPerToken.cautious) / 2 / Math.max(1, nodes.length)));
  const shorten = (text: string) => cutText(text, maxBytes, { keep: "both" }).text;
  return nodes.map((node) => ({
    ...node,
    parts: node.parts.map((part) => {
      if (part.kind === "result") return { ...part, text: shorten(part.text) };
      if (part.kind !== "call") return part;
      const input = Object.entries(part.input).map(([key, value]) => [key, typeof value === "string" ? shorten(value) : value]);
      return { ...part, input: Object.fromEntries(input) as typeof part.input };
    }),
  }));
}

function callsText(nodes: Node[]): string {
  const lines = nodes.flatMap((node) =>
    node.parts.flatMap((part) => {
      if (part.kind === "call") return [`- called ${part.name} ${cutText(JSON.stringify(part.input), 200, { keep: "head" }).text}`];
      if (part.kind === "text" && node.author === "agent") return [`- said: ${cutText(part.text, 300, { keep: "head" }).text}`];
      return [];
    }),
  );
  return `(The model could not summarise. This is what it did.)\n${lines.slice(-200).join("\n")}`;
}

/** If not even the newest round fits, the model still gets the beginning and end of its results. */
function newestResults(nodes: Node[], bytes: number): Part[] {
  const index = nodes.findLastIndex((node) => node.author === "agent");
  const results = nodes.slice(index + 1).flatMap((node) => node.parts.filter((part) => part.kind === "result"));
  const maxBytes = Math.max(400, Math.floor(bytes / Math.max(1, results.length)));
  return results.map((part) => ({
    kind: "text",
    text: `[Result of your last ${part.name} call, shortened]\n${cutText(part.text, maxBytes, { keep: "both" }).text}`,
  }));
}

/** The skill files that the model has read. They are retained, so that the model need not read them again. */
function activatedSkills(nodes: Node[], skillPaths: string[]): Part[] {
  /** From the path of a skill to its text. */
  const skills = new Map<string, string>();
  /** From the id of a `read` call to the path of the skill. */
  const pathOfCall = new Map<string, string>();
  for (const node of nodes) {
    for (const part of node.parts) {
      const earlier = node.note?.about === "compaction" && part.kind === "text" ? /^\[Skill (.+)\]\n/.exec(part.text) : null;
      if (earlier !== null && part.kind === "text") skills.set(earlier[1] as string, part.text);
      if (part.kind === "call" && part.name === "read") {
        const readPath = String(part.input["path"]).replace(/^(\.\/)+/, "");
        const path = skillPaths.find((candidate) => candidate === readPath || candidate.endsWith(`/${readPath}`));
        if (path !== undefined) pathOfCall.set(part.id, path);
      }
      const path = part.kind === "result" ? pathOfCall.get(part.call) : undefined;
      if (part.kind === "result" && path !== undefined && !part.isError)
        skills.set(path, `[Skill ${path}]\n${cutText(part.text, skillBytes, { keep: "head" }).text}`);
    }
  }
  return [...skills.values()].map((text) => ({ kind: "text", text }));
}
