// A team: several agents on one objective. Its state is read from the notes of its session. Pure, so that the agent and
// every front end see the same.
import type { MemberRecord, MemberResult, TeamEvent, TeamRecord } from "../schema/team.ts";
import type { Node } from "../tree/node.ts";

export type {
  Conflict,
  Member,
  MemberPlan,
  MemberRecord,
  MemberResult,
  PhasePlan,
  Report,
  RoleAssignment,
  TeamEvent,
  TeamLimits,
  TeamRecord,
  TeamRequest,
  TeamTask,
  ValidationCheck,
} from "../schema/team.ts";
export type { TeamState } from "../schema/team-views.ts";

export const strategies = ["parallel", "sequential", "pipeline", "adaptive"] as const;
export type Strategy = (typeof strategies)[number];

/** The workspace of a member: its own git worktree, the project itself, or an empty directory. */
export const workspaceKinds = ["worktree", "project", "plain"] as const;
export type WorkspaceKind = (typeof workspaceKinds)[number];

export const defaultTeamLimits: { maxAgents: number; maxPerRole: number; maxMemoryMb: number | null } = {
  maxAgents: 20,
  maxPerRole: 5,
  maxMemoryMb: null,
};

/** The reason why the work does not count. */
export function failureReason({ status, error, unmet }: MemberResult): string {
  const why = status === "ok" ? [] : [error === null ? status : `${status}: ${error}`];
  return [...why, ...(unmet.length === 0 ? [] : [`does not hold: ${unmet.join("; ")}`])].join("; ");
}

export function readTeam(path: readonly Node[]): TeamRecord | null {
  const begun = path.findLastIndex((node) => teamEventOf(node)?.event === "session_created");
  const first = path[begun];
  const created = first === undefined ? null : teamEventOf(first);
  if (first === undefined || created?.event !== "session_created") return null;
  const team = newTeamRecord(first.session, created);
  for (const node of path.slice(begun + 1)) {
    const happened = teamEventOf(node);
    if (happened !== null) applyTeamEvent(team, happened);
  }
  return team;
}

/** The record of a new team. */
export function newTeamRecord(id: string, { wish, directory, base }: Pick<TeamRecord, "wish" | "directory" | "base">): TeamRecord {
  return { id, wish, directory, base, phases: [], ahead: [], messages: [], refused: [], end: null, merged: null };
}

/** Applies an event to the record. */
export function applyTeamEvent(team: TeamRecord, happened: TeamEvent): void {
  switch (happened.event) {
    case "session_created":
      break;
    case "phase_planned":
      team.end = null;
      team.phases[happened.phase] = {
        plan: happened.plan,
        isAsked: happened.isAsked === true,
        members: [],
        isOver: false,
        commit: null,
        conflicts: [],
        summary: null,
      };
      team.ahead = happened.ahead;
      break;
    case "agent_spawned":
      team.phases[happened.member.phase]?.members.push({
        ...happened.member,
        state: "waiting",
        attempts: 0,
        given: [],
        ended: null,
        reports: [],
        artifacts: [],
      });
      break;
    case "checkpoint": {
      const { commit, conflicts, summary } = happened;
      Object.assign(team.phases[happened.phase] ?? {}, { isOver: true, commit, conflicts, summary });
      break;
    }
    case "message_sent":
      team.messages.push(happened.message);
      break;
    case "message_refused":
      team.refused.push(happened.refused);
      break;
    case "session_completed":
    case "session_failed":
      team.end = happened;
      break;
    case "work_merged":
      team.merged = happened.commit;
      break;
    default:
      applyToMember(team, happened);
  }
}

type MemberEvent = Extract<TeamEvent, { agent: string }>;

function applyToMember(team: TeamRecord, happened: MemberEvent): void {
  const member = membersOf(team).find(({ id }) => id === happened.agent);
  if (member === undefined) return;
  switch (happened.event) {
    case "agent_started":
      team.end = null;
      Object.assign(member, { state: "running", attempts: happened.attempt });
      member.given.push(...happened.given);
      break;
    case "agent_reported":
      member.reports.push({ id: happened.id, report: happened.report });
      break;
    case "artifact_created":
      member.artifacts.push({ id: happened.id, path: happened.path, description: happened.description });
      break;
    case "agent_completed":
      Object.assign(member, { state: "completed", ended: happened });
      break;
    case "agent_failed":
      Object.assign(member, { state: happened.restarts ? "waiting" : "failed", ended: happened });
      break;
  }
}

/** Failed members are tried again when the team is resumed; until then they wait. */
export function markFailedForRetry(team: TeamRecord): void {
  for (const { isOver, members } of team.phases)
    for (const member of members) if (!isOver && member.state === "failed") member.state = "waiting";
}

/** The team has no running turn: running members were interrupted, and wait until it is resumed. */
export function markRunningAsWaiting(team: TeamRecord): void {
  for (const member of membersOf(team)) if (member.state === "running") member.state = "waiting";
}

/** The commit with all joined work; null if there is none. */
export function joinedCommit(team: TeamRecord): string | null {
  return team.phases.findLast(({ isOver, commit }) => isOver && commit !== null)?.commit ?? null;
}

export function membersOf(team: TeamRecord): MemberRecord[] {
  return team.phases.flatMap(({ members }) => members);
}

export function teamEventOf(node: Pick<Node, "note">): TeamEvent | null {
  return node.note?.about === "team" ? node.note.happened : null;
}
