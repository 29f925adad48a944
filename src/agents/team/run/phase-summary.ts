// Summarises a phase as text for later members and for the user. Uses only recorded data, no model, and is bounded.
import { pluralize, cutText } from "../../../kit/text/cut-text.ts";
import { failureReason, type Conflict, type MemberRecord, type PhasePlan } from "../../../protocol/team/team.ts";

const maxAnswerBytes = 1_500;
const maxSummaryBytes = 8_000;

export type PhaseOutcome = {
  plan: PhasePlan;
  /** `isKept`: its changes are part of the result. */
  members: readonly (MemberRecord & { changed: readonly string[]; isKept: boolean })[];
  conflicts: readonly Conflict[];
  messages: number;
};

export function phaseSummary({ plan, members, conflicts, messages }: PhaseOutcome): string {
  const text = [
    `## ${plan.name}${plan.goal === "" || plan.goal.includes("\n") ? "" : `: ${plan.goal}`}`,
    ...members.map(memberLines),
    ...conflicts.map(({ agent, paths }) => `Not joined: the work of ${agent} conflicts in ${paths.join(", ")}.`),
    ...(messages === 0 ? [] : [`${pluralize(messages, "message")} among them.`]),
  ].join("\n\n");
  return cutText(text, maxSummaryBytes, { keep: "both", headShare: 0.6 }).text;
}

function memberLines({ id, plan, state, ended, artifacts, reports, changed, isKept }: PhaseOutcome["members"][number]): string {
  const outcome = state === "completed" ? "completed" : `failed: ${ended === null ? "it did not start" : failureReason(ended)}`;
  const complete = reports.findLast(({ report }) => report.type === "complete")?.report;
  const answer = complete?.type === "complete" ? complete.summary : (ended?.answer ?? "");
  return [
    `### ${id} (${plan.key}): ${outcome}`,
    cutText(answer.trim(), maxAnswerBytes, { keep: "both" }).text,
    ...(artifacts.length === 0 ? [] : [`Artifacts: ${artifacts.map(({ path, description }) => `${path} (${description})`).join(", ")}`]),
    ...(changed.length === 0 ? [] : [`${isKept ? "Changed" : "Changed, but not in the result"}: ${firstPaths(changed)}`]),
  ]
    .filter((line) => line !== "")
    .join("\n");
}

function firstPaths(paths: readonly string[]): string {
  return `${paths.slice(0, 20).join(", ")}${paths.length > 20 ? ` and ${paths.length - 20} more` : ""}`;
}
