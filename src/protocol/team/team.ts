// A team: several agents on one objective. What is asked, what happens to it as notes of its session, and what follows
// from them. A pure reading of nodes, so that whoever goes on and whoever shows it see the same.
import type { TurnStatus } from "../api/error.ts";
import type { FileChange } from "../tree/file-changes.ts";
import type { RefusedMessage, SentMessage } from "./mail.ts";
import type { Node } from "../tree/node.ts";

export const strategies = ["parallel", "sequential", "pipeline", "adaptive"] as const;
export type Strategy = (typeof strategies)[number];

/** Where a member works: a git worktree of its own, the project itself, or a directory with nothing in it. */
export const workspaceKinds = ["worktree", "project", "plain"] as const;
export type WorkspaceKind = (typeof workspaceKinds)[number];

export type TeamRequest = {
  objective: string;
  strategy: Strategy;
  /** Null leaves it to a planner: one or two phases at a time. */
  phases: PhasePlan[] | null;
  workspace: WorkspaceKind;
  limits: TeamLimits;
  /** Whom a planner may choose from; empty: anyone. */
  cast: RoleAssignment[];
  /** Who plans; null is the session's own agent and model. */
  planner: { agent: string | null; model: string | null };
};

/** A role, and who is to have it; null is the session's own agent. */
export type RoleAssignment = { role: string; agent: string | null };

/** What a turn of the agent `team` is for: to begin, to go on after an interruption or a failure, to bring in the work. */
export type TeamTask = { work: "run"; wish: TeamRequest } | { work: "resume" } | { work: "merge" };

export type TeamLimits = { maxAgents: number; maxPerRole: number; maxMemoryMb: number | null };

export const defaultTeamLimits: TeamLimits = { maxAgents: 20, maxPerRole: 5, maxMemoryMb: null };

export type PhasePlan = { name: string; goal: string; members: MemberPlan[] };

export type MemberPlan = {
  /** What others in the plan call it, to depend on it: unique in the team. */
  key: string;
  role: string;
  /** Only for a role that the registry does not know: what it is and does. */
  description: string | null;
  agent: string | null;
  model: string | null;
  suffix: string | null;
  task: string;
  /** Paths below the shared context or the workspace; put into its prompt. */
  mustRead: string[];
  /** What must hold before its work counts. */
  validation: ValidationCheck[];
  /** Keys of members that must have completed; all of an earlier phase have. */
  dependsOn: string[];
  /** Null is the team's. */
  workspace: WorkspaceKind | null;
  /** Instead of what its role says. */
  timeoutMs?: number;
  maxMemoryMb?: number;
};

/** `file`: exists and is not empty, below the shared context or the workspace. `command`: exits 0 in the workspace. */
export type ValidationCheck = { kind: "file"; path: string } | { kind: "command"; command: string };

/** `agent_<role>[_<suffix>]_<instance>_<8 hex>`: a name, never to be taken apart. */
export type Member = {
  id: string;
  plan: MemberPlan;
  phase: number;
  instance: number;
  session: string;
  /** Null is the team's own. */
  agent: string | null;
  model: string | null;
  workspace: { kind: WorkspaceKind; directory: string; branch: string | null };
};

/** What happened to a team, by the names that its log uses. `at` is the node's. */
export type TeamEvent =
  | { event: "session_created"; directory: string; base: string | null; wish: TeamRequest }
  /** `isAsked`: someone asked for it besides the plan. */
  | { event: "phase_planned"; phase: number; plan: PhasePlan; ahead: PhasePlan[]; reason: string; isAsked?: true }
  | { event: "agent_spawned"; member: Member }
  | { event: "agent_started"; agent: string; attempt: number; given: string[] }
  | { event: "agent_reported"; agent: string; id: string; report: Exclude<Report, { type: "artifact" }> }
  | { event: "artifact_created"; agent: string; id: string; path: string; description: string }
  | { event: "message_sent"; message: SentMessage }
  | { event: "message_refused"; refused: RefusedMessage }
  | ({ event: "agent_completed"; agent: string; attempt: number } & MemberResult)
  | ({ event: "agent_failed"; agent: string; attempt: number; restarts: boolean } & MemberResult)
  /** A phase is over: what was brought together, and a bounded account of it for those who come after. */
  | { event: "checkpoint"; phase: number; name: string; commit: string | null; conflicts: Conflict[]; summary: string }
  | { event: "session_completed"; summary: string }
  | { event: "session_failed"; reason: string }
  /** Its work is in the project's files now. */
  | { event: "work_merged"; commit: string; changes: FileChange[] };

export type MemberResult = {
  status: TurnStatus;
  error: string | null;
  /** Its last words, bounded. */
  answer: string;
  /** What its work was committed as; null when nothing changed, or there is no repository. */
  commit: string | null;
  /** Of its checks: what does not hold. */
  unmet: string[];
  costUsd: number | null;
};

/** Why it does not count, in words. */
export function failureReason({ status, error, unmet }: MemberResult): string {
  const why = status === "ok" ? [] : [error === null ? status : `${status}: ${error}`];
  return [...why, ...(unmet.length === 0 ? [] : [`does not hold: ${unmet.join("; ")}`])].join("; ");
}

export type Conflict = { agent: string; paths: string[] };

/** Status, artifact, dependency and completion, from a tool call or from `skein report`; never out of prose. */
export type Report =
  | { type: "status"; message: string; progress: number | null }
  | { type: "artifact"; path: string; description: string }
  | { type: "dependency"; waitingFor: string; reason: string }
  | { type: "complete"; result: "success" | "failure"; summary: string; outputs: string[] };

export type TeamState = "planning" | "running" | "paused" | "interrupted" | "completed" | "failed";

/** Everything known of a team, read off the path of its session. */
export type TeamRecord = {
  id: string;
  wish: TeamRequest;
  directory: string;
  /** The commit that the work begins from; null where there is no repository. */
  base: string | null;
  phases: {
    plan: PhasePlan;
    isAsked: boolean;
    members: MemberRecord[];
    isOver: boolean;
    commit: string | null;
    conflicts: Conflict[];
    summary: string | null;
  }[];
  ahead: PhasePlan[];
  messages: SentMessage[];
  refused: RefusedMessage[];
  end: { event: "session_completed"; summary: string } | { event: "session_failed"; reason: string } | null;
  /** What of it was brought into the project last. */
  merged: string | null;
};

export type MemberRecord = Member & {
  state: "waiting" | "running" | "completed" | "failed";
  attempts: number;
  /** Messages that were part of its prompts. */
  given: string[];
  ended: MemberResult | null;
  reports: { id: string; report: Exclude<Report, { type: "artifact" }> }[];
  artifacts: { id: string; path: string; description: string }[];
};

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

/** A team to which nothing has happened yet. */
export function newTeamRecord(id: string, { wish, directory, base }: Pick<TeamRecord, "wish" | "directory" | "base">): TeamRecord {
  return { id, wish, directory, base, phases: [], ahead: [], messages: [], refused: [], end: null, merged: null };
}

/** What just happened, added to the record. */
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

/** Those that failed and are tried again when the team goes on: until then they wait. */
export function markFailedForRetry(team: TeamRecord): void {
  for (const { isOver, members } of team.phases)
    for (const member of members) if (!isOver && member.state === "failed") member.state = "waiting";
}

/** Nobody leads it: who was at work was interrupted, and waits to go on. */
export function markRunningAsWaiting(team: TeamRecord): void {
  for (const member of membersOf(team)) if (member.state === "running") member.state = "waiting";
}

/** The commit that holds all work that could be joined; null where there is none. */
export function joinedCommit(team: TeamRecord): string | null {
  return team.phases.findLast(({ isOver, commit }) => isOver && commit !== null)?.commit ?? null;
}

export function membersOf(team: TeamRecord): MemberRecord[] {
  return team.phases.flatMap(({ members }) => members);
}

export function teamEventOf(node: Pick<Node, "note">): TeamEvent | null {
  return node.note?.about === "team" ? node.note.happened : null;
}
