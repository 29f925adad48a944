// A team as JSON that leaves the process: `team list`, `team status` and the MCP tool `session_status` give the same.
import { isoTime, usageRecord } from "./records.ts";
import { messageRecord } from "../team/mail.ts";
import type { MemberRecord } from "../team/team.ts";
import { lastStatusLine, type MemberStats, type TeamInfo, type TeamView } from "../team/views.ts";
import { zeroSpent, type Spent } from "../tree/usage.ts";

export function teamInfoRecord(row: TeamInfo) {
  return {
    ...aboutSession(row),
    state: row.state,
    objective: row.objective,
    strategy: row.strategy,
    phases: row.phases,
    members: row.members,
    messages: row.messages,
    ...spentRecord(row.spent),
    started_at: isoTime(row.startedAt),
    ended_at: isoOrNull(row.endedAt),
    merge: row.merge,
    is_kept: row.isKept,
  };
}

/** `messages`: how many of the latest; none is all. */
export function teamStatusRecord(view: TeamView, options: { messages?: number } = {}) {
  const { team, run } = view;
  return {
    ...aboutSession(view),
    state: view.state,
    objective: team.wish.objective,
    strategy: team.wish.strategy,
    limits: {
      max_agents: team.wish.limits.maxAgents,
      max_per_role: team.wish.limits.maxPerRole,
      max_memory_mb: team.wish.limits.maxMemoryMb,
    },
    directory: team.directory,
    is_kept: view.isKept,
    run: {
      state: run.state,
      pid: run.pid,
      started_at: isoTime(run.startedAt),
      ended_at: isoOrNull(run.endedAt),
      status: run.status,
      error: run.error,
    },
    phases: team.phases.map(({ plan, isOver, isAsked, commit, conflicts, summary, members }, at) => ({
      number: at + 1,
      name: plan.name,
      goal: plan.goal,
      is_over: isOver,
      is_asked: isAsked,
      commit,
      conflicts,
      summary,
      members: members.map((member) =>
        memberRecord(
          member,
          view.members.find(({ id }) => id === member.id),
        ),
      ),
    })),
    message_count: team.messages.length,
    messages: team.messages
      .slice(options.messages === undefined ? 0 : Math.max(0, team.messages.length - options.messages))
      .map((sent) => messageRecord(sent, team.id)),
    refused: team.refused.map(({ id, from, at, file, count = 1, reason }) => ({ id, from, at: isoTime(at), file, count, reason })),
    ...spentRecord(view.spent),
    merge: view.merge,
  };
}

export function memberRecord(member: MemberRecord, used: MemberStats | undefined) {
  const { plan, workspace, ended } = member;
  return {
    id: member.id,
    key: plan.key,
    role: plan.role,
    agent: member.agent,
    model: member.model,
    task: plan.task,
    depends_on: plan.dependsOn,
    state: member.state,
    tries: member.attempts,
    session_id: member.session,
    workspace: { kind: workspace.kind, directory: workspace.directory, branch: workspace.branch },
    last: lastStatusLine(member),
    artifacts: member.artifacts.map(({ path, description }) => ({ path, description })),
    ended:
      ended === null ? null : { status: ended.status, error: ended.error, unmet: ended.unmet, commit: ended.commit, answer: ended.answer },
    asks: used?.asks ?? [],
    steps: used?.steps ?? 0,
    ...spentRecord(used?.spent ?? zeroSpent),
    started_at: isoOrNull(used?.startedAt ?? null),
    ended_at: isoOrNull(used?.endedAt ?? null),
  };
}

function aboutSession({ session }: Pick<TeamInfo, "session">) {
  return { session_id: session.id, name: session.name, project: session.project };
}

function spentRecord({ usage, costUsd }: Spent) {
  return { usage: usageRecord(usage), cost_usd: costUsd };
}

function isoOrNull(at: number | null): string | null {
  return at === null ? null : isoTime(at);
}
