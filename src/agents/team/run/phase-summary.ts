// Summarises a phase as text for later members and for the user. Uses only recorded data and no model. The length is limited.
import { pluralize, cutText } from "../../../kit/text/cut-text.ts";
import { failureReason, type Conflict, type MemberRecord, type PhasePlan } from "../../../protocol/team/team.ts";

const maxAnswerBytes = 1_500;
const maxSummaryBytes = 8_000;

export type PhaseOutcome = {
  plan: PhasePlan;
  /** `isInResult`: the member's changes are part of the phase's commit. */
  members: readonly (MemberRecord & { changedPaths: readonly string[]; isInResult: boolean })[];
  conflicts: readonly Conflict[];
  messageCount: number;
};

export function phaseSummary({ plan, members, conflicts, messageCount }: PhaseOutcome): string {
  const text = [
    `## ${plan.name}${plan.goal === "" || plan.goal.includes("\n") ? "" : `: ${plan.goal}`}`,
    ...members.map(memberText),
    ...conflicts.map(({ agent, paths }) => `Not in the result: the work of ${agent} conflicts in ${paths.join(", ")}.`),
    ...(messageCount === 0 ? [] : [`${pluralize(messageCount, "message")} among them.`]),
  ].join("\n\n");
  return cutText(text, maxSummaryBytes, { keep: "both", headShare: 0.6 }).text;
}

function memberText({ id, plan, state, ended, artifacts, reports, changedPaths, isInResult }: PhaseOutcome["members"][number]): string {
  const outcome = state === "completed" ? "completed" : `failed: ${ended === null ? "it did not start" : failureReason(ended)}`;
  const completeReport = reports.findLast(({ report }) => report.type === "complete")?.report;
  const answer = completeReport?.type === "complete" ? completeReport.summary : (ended?.answer ?? "");
  return [
    `### ${id} (${plan.key}): ${outcome}`,
    cutText(answer.trim(), maxAnswerBytes, { keep: "both" }).text,
    ...(artifacts.length === 0 ? [] : [`Artifacts: ${artifacts.map(({ path, description }) => `${path} (${description})`).join(", ")}`]),
    ...(changedPaths.length === 0 ? [] : [`${isInResult ? "Changed" : "Changed, but not in the result"}: ${firstPaths(changedPaths)}`]),
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function firstPaths(paths: readonly string[]): string {
  return `${paths.slice(0, 20).join(", ")}${paths.length > 20 ? ` and ${paths.length - 20} more` : ""}`;
}
