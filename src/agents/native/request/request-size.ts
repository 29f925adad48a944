// Estimates the size of the next request: the vendor's last count plus an estimate of the nodes since then. The engine decides
// whether the budget covers it: other turns share that budget.
import { bytesPerToken } from "../../../kit/text/bytes-per-token.ts";
import { byteLength } from "../../../kit/text/cut-text.ts";
import { budgetUsedUp, type TurnError } from "../../../protocol/api/error.ts";
import type { UsageEstimate } from "../../../protocol/api/ports.ts";
import type { Limits } from "../../../protocol/api/turn-options.ts";
import type { Node, Part } from "../../../protocol/tree/node.ts";
import { zeroUsage, type Usage } from "../../../protocol/tree/usage.ts";
import type { LoopState } from "../turn-state.ts";
import { visibleNodes } from "./messages.ts";

/** Vendors charge for a picture about as much as for this many bytes of text. */
const imageBytes = 4500;
/** Ids and field names of a call or a result in the request. */
const callOverheadBytes = 60;
/** Output tokens assumed when there is no earlier answer. */
const defaultOutput = 500;

/** Shorter paths are never compacted, even if the model has a smaller window. */
const minPathTokens = 2000;

export function stepLimitError(steps: number, { maxSteps }: Pick<Limits, "maxSteps">): TurnError | null {
  return steps >= maxSteps ? budgetUsedUp("steps", `${maxSteps} steps`) : null;
}

/** Assumes that the request is cached like the last one, and that the next answer is about as long. */
export async function estimateRequest(state: Pick<LoopState, "path" | "system" | "tools" | "model" | "input">): Promise<UsageEstimate> {
  const { path, system, tools, model, input } = state;
  const last = lastCount(path)?.usage ?? null;
  const fixedTokens = last === null ? sizeOfFixedParts({ system, tools }) : 0;
  const inputTokens = estimateRequestTokens(path) + fixedTokens - (last?.cacheRead ?? 0) - (last?.cacheWrite ?? 0);
  const output = last?.output ?? defaultOutput;
  const costUsd = input.limits.maxBudgetUsd === null ? null : await model.price({ ...zeroUsage, input: inputTokens, output });
  return { tokens: inputTokens + output, costUsd };
}

/** Estimates the counts that the vendor did not report. They must not count as 0, or no budget would end the turn. */
export function withMissingCounts(
  { path, system, tools }: Pick<LoopState, "path" | "system" | "tools">,
  { usage, parts }: { usage: Usage; parts: readonly Part[] },
): Usage {
  const { input, output, cacheRead, cacheWrite } = usage;
  if (input + cacheRead + cacheWrite > 0 && output > 0) return usage;
  const fixedTokens = lastCount(path) === null ? sizeOfFixedParts({ system, tools }) : 0;
  const estimatedInput = input + cacheRead + cacheWrite > 0 ? input : estimateRequestTokens(path) + fixedTokens;
  return { ...usage, input: estimatedInput, output: output > 0 ? output : tokensOf(parts) };
}

function sizeOfFixedParts({ system, tools }: Pick<LoopState, "system" | "tools">): number {
  return Math.ceil((byteLength(system) + byteLength(JSON.stringify(tools))) / bytesPerToken.cautious);
}

export async function needsCompaction(state: Pick<LoopState, "path" | "model">): Promise<boolean> {
  const size = estimateRequestTokens(state.path);
  if (size < minPathTokens) return false;
  const window = await state.model.window();
  return window !== null && size > window - Math.min(16_000, window / 4);
}

export function estimateRequestTokens(path: Node[]): number {
  const last = lastCount(path);
  if (last === null) return sumTokens(visibleNodes(path));
  const { input, cacheRead, cacheWrite, output } = last.usage;
  return input + cacheRead + cacheWrite + output + sumTokens(path.slice(last.index + 1));
}

/** The vendor's last count; null if the path was compacted since then, because that count no longer applies. */
function lastCount(path: Node[]): { index: number; usage: Usage } | null {
  const index = path.findLastIndex((node) => node.author === "agent" && node.usage !== undefined);
  const usage = path[index]?.usage;
  return usage === undefined || path.slice(index + 1).some((node) => node.note?.about === "compaction") ? null : { index, usage };
}

function sumTokens(nodes: Node[]): number {
  return nodes.reduce((total, node) => total + estimateNodeTokens(node), 0);
}

export function estimateNodeTokens(node: Node): number {
  return tokensOf(node.parts);
}

function tokensOf(parts: readonly Part[]): number {
  return Math.ceil(parts.reduce((bytes, part) => bytes + sentBytes(part), 0) / bytesPerToken.cautious);
}

/** Bytes of a part that a request sends. Only the excerpt of a handle is sent, and no diff for users. */
function sentBytes(part: Part): number {
  if (part.kind === "image") return imageBytes;
  if (part.kind === "call") return byteLength(part.name) + byteLength(part.malformed ?? JSON.stringify(part.input)) + callOverheadBytes;
  if (part.kind === "result") return byteLength(part.text) + (part.images?.length ?? 0) * imageBytes + callOverheadBytes;
  return byteLength(part.kind === "handle" ? part.excerpt : part.text);
}
