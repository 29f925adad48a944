// Types and functions of team views. Pure functions of stored data.
import type { Api, MethodParams } from "../api/api.ts";
import type { TurnInfo, TurnState } from "../api/control.ts";
import type { MergeState, TeamInfo, TeamState } from "../schema/team-views.ts";
import { failureReason, combinedCommit, membersOf, type MemberRecord, type TeamRecord } from "./team.ts";

export type * from "../schema/team-views.ts";

export type TeamApi = Api["team"];
export type TeamMessageParams = MethodParams<"team.message">;
export type TeamAddParams = MethodParams<"team.add">;
export type TeamCleanParams = MethodParams<"team.clean">;

/** The state of a team, from its record and its latest turn. */
export function teamState(team: TeamRecord, turn: Pick<TurnInfo, "state">): TeamState {
  if (team.end?.event === "session_completed") return "completed";
  if (turn.state === "paused") return "paused";
  if (turn.state === "ended") return team.end === null ? "interrupted" : "failed";
  if (turn.state === "interrupted") return "interrupted";
  return team.phases.some(({ isOver }) => !isOver) ? "running" : "planning";
}

export function isActive(state: TurnState): boolean {
  return state === "running" || state === "paused" || state === "asking";
}

export function mergeState(team: TeamRecord): MergeState {
  const work = combinedCommit(team);
  if (work === null || work === team.base) return "nothing";
  return team.merged === work ? "done" : "open";
}

/** Describes the work that would be lost with the team's directory; null if there is none. */
export function unmergedWork(team: TeamRecord): string | null {
  if (mergeState(team) === "open") return "its work is not in the project yet";
  const open = team.phases.flatMap(({ isOver, members }) => (isOver ? [] : members));
  const hasWork = open.some(({ workspace, attempts, state, ended }) => {
    const mayHaveCommit = state === "running" || ended === null || ended.commit !== null;
    return workspace.branch !== null && attempts > 0 && mayHaveCommit;
  });
  return hasWork ? "it stopped before the work of its members was combined" : null;
}

export function countMembers(team: TeamRecord): TeamInfo["members"] {
  const members = membersOf(team);
  const count = (state: MemberRecord["state"]) => members.filter((member) => member.state === state).length;
  return { total: members.length, running: count("running"), completed: count("completed"), failed: count("failed") };
}

/** The member's last report, or the way it ended, in one line. */
export function lastStatusLine(member: Pick<MemberRecord, "plan" | "state" | "attempts" | "ended" | "reports">): string {
  const { plan, state, attempts, ended, reports } = member;
  if (state === "failed" || state === "waiting") {
    if (ended !== null) return failureReason(ended);
    if (state === "failed") return "";
    if (attempts > 0) return "was interrupted";
    return plan.dependsOn.length === 0 ? "" : `waits for ${plan.dependsOn.join(", ")}`;
  }
  const last = reports.at(-1)?.report;
  if (state === "completed" && last?.type !== "complete") return ended?.answer ?? "";
  return last === undefined ? "" : reportText(last);
}

/** A report in one line. */
export function reportText(report: MemberRecord["reports"][number]["report"]): string {
  if (report.type === "status") return `${report.progress === null ? "" : `${Math.round(report.progress * 100)} % `}${report.message}`;
  return report.type === "dependency" ? `waits for ${report.waitingFor}: ${report.reason}` : `${report.result}: ${report.summary}`;
}
