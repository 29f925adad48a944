// A team: several agents on one objective. Its state is read from the notes of its session. Pure, so that the agent and
// every front end get the same state.
import type { MemberRecord, MemberResult, TeamEvent, TeamRecord } from "../schema/team.ts";
import type { Node } from "../tree/node.ts";

export type * from "../schema/team.ts";

export const strategies = ["parallel", "sequential", "pipeline", "adaptive"] as const;
export type Strategy = (typeof strategies)[number];

/** The workspace of a member: its own clone of the team's repository, the project itself, or an empty directory. */
export const workspaceKinds = ["worktree", "project", "plain"] as const;
export type WorkspaceKind = (typeof workspaceKinds)[number];

export const defaultTeamLimits: { maxAgents: number; maxPerRole: number; maxMemoryMb: number | null } = {
  maxAgents: 20,
  maxPerRole: 5,
  maxMemoryMb: null,
};

/** The reason why the work does not count. */
export function failureReason({ status, error, unmet }: MemberResult): string {
  const reasons = status === "ok" ? [] : [error === null ? status : `${status}: ${error}`];
  return [...reasons, ...(unmet.length === 0 ? [] : [`failed checks: ${unmet.join("; ")}`])].join("; ");
}

export function readTeam(path: readonly Node[]): TeamRecord | null {
  const start = path.findLastIndex((node) => teamEventOf(node)?.event === "session_created");
  const events = path.slice(Math.max(0, start)).flatMap((node) => teamEventOf(node) ?? []);
  return start < 0 ? null : replayTeam(path[start]!.session, events);
}

/** Null if the first event does not create the team. */
export function replayTeam(id: string, [created, ...events]: readonly TeamEvent[]): TeamRecord | null {
  if (created?.event !== "session_created") return null;
  const team = newTeamRecord(id, created);
  for (const event of events) applyTeamEvent(team, event);
  return team;
}

export function newTeamRecord(id: string, { wish, directory, base }: Pick<TeamRecord, "wish" | "directory" | "base">): TeamRecord {
  return { id, wish, directory, base, phases: [], ahead: [], messages: [], refused: [], end: null, merged: null };
}

export function applyTeamEvent(team: TeamRecord, event: TeamEvent): void {
  switch (event.event) {
    case "session_created":
      break;
    case "phase_planned":
      team.end = null;
      team.phases[event.phase] = {
        plan: event.plan,
        isAsked: event.isAsked === true,
        members: [],
        isOver: false,
        commit: null,
        conflicts: [],
        summary: null,
      };
      team.ahead = event.ahead;
      break;
    case "plan_replaced":
      team.wish = { ...team.wish, phases: event.phases };
      break;
    case "agent_spawned":
      team.phases[event.member.phase]?.members.push({
        ...event.member,
        state: "waiting",
        attempts: 0,
        given: [],
        ended: null,
        reports: [],
        artifacts: [],
      });
      break;
    case "checkpoint": {
      const { commit, conflicts, summary } = event;
      Object.assign(team.phases[event.phase] ?? {}, { isOver: true, commit, conflicts, summary });
      break;
    }
    case "message_sent":
      team.messages.push(event.message);
      break;
    case "message_refused":
      team.refused.push(event.refused);
      break;
    case "session_completed":
    case "session_failed":
      team.end = event;
      break;
    case "work_merged":
      team.merged = event.commit;
      break;
    default:
      applyToMember(team, event);
  }
}

type MemberEvent = Extract<TeamEvent, { agent: string }>;

function applyToMember(team: TeamRecord, event: MemberEvent): void {
  const member = membersOf(team).find(({ id }) => id === event.agent);
  if (member === undefined) return;
  switch (event.event) {
    case "agent_started":
      team.end = null;
      Object.assign(member, { state: "running", attempts: event.attempt, ...event.takenBy });
      member.given.push(...event.given);
      break;
    case "agent_reported":
      member.reports.push({ id: event.id, report: event.report });
      break;
    case "artifact_created":
      member.artifacts.push({ id: event.id, path: event.path, description: event.description });
      break;
    case "agent_completed":
      Object.assign(member, { state: "completed", ended: event });
      break;
    case "agent_failed":
      Object.assign(member, { state: event.restarts ? "waiting" : "failed", ended: event });
      break;
  }
}

/** Marks failed members as waiting, because a resumed team tries them again. */
export function markFailedForRetry(team: TeamRecord): void {
  for (const { isOver, members } of team.phases)
    for (const member of members) if (!isOver && member.state === "failed") member.state = "waiting";
}

/** Marks running members as waiting. Call it if the team has no running turn: they were interrupted. */
export function markRunningAsWaiting(team: TeamRecord): void {
  for (const member of membersOf(team)) if (member.state === "running") member.state = "waiting";
}

/** The commit that combines the work of all ended phases; null if no member changed a file. */
export function combinedCommit(team: TeamRecord): string | null {
  return team.phases.findLast(({ isOver, commit }) => isOver && commit !== null)?.commit ?? null;
}

export function membersOf(team: TeamRecord): MemberRecord[] {
  return team.phases.flatMap(({ members }) => members);
}

export function teamEventOf(node: Pick<Node, "note">): TeamEvent | null {
  return node.note?.about === "team" ? node.note.happened : null;
}
