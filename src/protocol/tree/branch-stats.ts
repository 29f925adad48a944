// The figures of a branch, for every comparison of two branches that users see.
import { shortId } from "./node.ts";
import { sessionLabel } from "./turn.ts";
import type { BranchSide } from "./views.ts";

export const branchStats: readonly [name: string, figure: (side: BranchSide) => string][] = [
  ["messages", (side) => String(side.messages)],
  ["tool calls", (side) => `${side.toolCalls}${side.failedCalls === 0 ? "" : ` (${side.failedCalls} failed)`}`],
  ["turns", (side) => String(side.turns)],
  ["input tokens", ({ usage }) => (usage.input + usage.cacheRead + usage.cacheWrite).toLocaleString("en-US")],
  ["output tokens", ({ usage }) => usage.output.toLocaleString("en-US")],
  ["cost", ({ costUsd }) => (costUsd === null ? "unknown" : `$${costUsd.toFixed(costUsd > 0 && costUsd < 1 ? 4 : 2)}`)],
  ["ended", (side) => side.status ?? (side.nodes === 0 ? "-" : "open")],
  ["files", ({ files }) => (files === null ? "not recorded" : String(files.length))],
];

export const changeSigns = { added: "A", modified: "M", deleted: "D" };

export function branchName({ session, tip }: BranchSide): string {
  return session === null ? `node ${tip === null ? "?" : shortId(tip)}` : sessionLabel(session);
}
