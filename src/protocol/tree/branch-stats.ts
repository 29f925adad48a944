// The figures of a branch, for every comparison of two branches that users see.
import { pluralize } from "../../kit/text/cut-text.ts";
import type { FileChange, OtherChange } from "./file-changes.ts";
import { shortId } from "./node.ts";
import { sessionLabel } from "./turn.ts";
import { costText } from "./usage-text.ts";
import type { BranchComparison, BranchSide } from "./views.ts";

/** "they diverge after 7c1e09d2 (4 messages, 2 tool calls shared)". Null without a common node. */
export function forkText({ fork, shared }: Pick<BranchComparison, "fork" | "shared">, paint = (id: string) => id): string | null {
  if (fork === null) return null;
  return `they diverge after ${paint(shortId(fork.id))} (${pluralize(shared.messages, "message")}, ${pluralize(shared.toolCalls, "tool call")} shared)`;
}

export const branchStats: readonly [name: string, figure: (side: BranchSide) => string][] = [
  ["messages", (side) => String(side.messages)],
  ["tool calls", (side) => `${side.toolCalls}${side.failedCalls === 0 ? "" : ` (${side.failedCalls} failed)`}`],
  ["turns", (side) => String(side.turns)],
  ["input tokens", ({ usage }) => (usage.input + usage.cacheRead + usage.cacheWrite).toLocaleString("en-US")],
  ["output tokens", ({ usage }) => usage.output.toLocaleString("en-US")],
  ["cost", (side) => (side.costUsd === null ? "unknown" : costText(side, { digits: side.costUsd > 0 && side.costUsd < 1 ? 4 : 2 }))],
  ["ended", (side) => side.status ?? (side.nodes === 0 ? "-" : "open")],
  ["files", ({ files, unknownFiles }) => (files === null ? "not recorded" : `${files.length}${unknownFiles === 0 ? "" : " or more"}`)],
  ["files by others", ({ otherFiles }) => String(otherFiles.length)],
];

const changeSigns = { added: "A", modified: "M", deleted: "D" };

/** One line: "M src/a.ts +3 -1". The path is not cleaned. */
export function changeText({ kind, path, added, removed, big, binary }: FileChange): string {
  const counts = big ? "(big)" : binary ? "(binary)" : `+${added} -${removed}`;
  return `${changeSigns[kind]} ${path} ${counts}`;
}

export const notByBranchText = "not by this branch:";

/** The writers of a change that the branch did not make, or did not make alone. */
export function writersText({ by, unclear }: Pick<OtherChange, "by" | "unclear">): string {
  const names = by.map((session) => (session === null ? "not by an agent" : `by ${sessionLabel(session)}`));
  return unclear === true ? `unclear: ${names.join(" or ")}` : names.join(", ");
}

/** A line about calls whose files are not known; null if there are none. */
export function unknownFilesText({ unknownFiles }: Pick<BranchSide, "unknownFiles">): string | null {
  return unknownFiles === 0 ? null : `${pluralize(unknownFiles, "answer")} with tool calls could not be recorded; more may have changed`;
}

export function branchName({ session, tip }: BranchSide): string {
  return session === null ? `node ${tip === null ? "?" : shortId(tip)}` : sessionLabel(session);
}
