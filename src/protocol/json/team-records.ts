// A team as JSON: `team list`, `team status` and the MCP tool `session_status` print the same objects.
import type { PrintedMember, PrintedTeam, TeamJson, TeamStatus, TeamStatusJson } from "../schema/team-views.ts";
import { mailMessage } from "../team/mail.ts";
import type { MemberRecord } from "../team/team.ts";
import { lastStatusLine, type MemberStats, type TeamInfo, type TeamView } from "../team/views.ts";
import { zeroSpent } from "../tree/usage.ts";
import { toPrintedJson } from "./json-case.ts";

export function teamInfoRecord({ session, spent, ...info }: TeamInfo): TeamJson {
  const team: PrintedTeam = { sessionId: session.id, name: session.name, project: session.project, ...info, ...spent };
  return toPrintedJson(team) as TeamJson;
}

/** `messages` is the number of latest messages; default: all. */
export function teamStatusRecord(view: TeamView, options: { messages?: number } = {}): TeamStatusJson {
  const { team, session } = view;
  const firstMessage = options.messages === undefined ? 0 : Math.max(0, team.messages.length - options.messages);
  const status: TeamStatus = {
    sessionId: session.id,
    name: session.name,
    project: session.project,
    state: view.state,
    objective: team.wish.objective,
    strategy: team.wish.strategy,
    limits: team.wish.limits,
    directory: team.directory,
    isKept: view.isKept,
    run: view.run,
    phases: team.phases.map(({ plan, members, ...phase }, index) => ({
      number: index + 1,
      name: plan.name,
      goal: plan.goal,
      ...phase,
      members: members.map((member) =>
        printedMember(
          member,
          view.members.find(({ id }) => id === member.id),
        ),
      ),
    })),
    messageCount: team.messages.length,
    messages: team.messages.slice(firstMessage).map((message) => mailMessage(message, team.id)),
    refused: team.refused.map(({ count = 1, ...refused }) => ({ ...refused, count })),
    ...view.spent,
    merge: view.merge,
  };
  return toPrintedJson(status) as TeamStatusJson;
}

function printedMember(member: MemberRecord, stats: MemberStats | undefined): PrintedMember {
  const { plan, ended } = member;
  return {
    id: member.id,
    key: plan.key,
    role: plan.role,
    agent: member.agent,
    model: member.model,
    task: plan.task,
    dependsOn: plan.dependsOn,
    state: member.state,
    tries: member.attempts,
    sessionId: member.session,
    workspace: member.workspace,
    last: lastStatusLine(member),
    artifacts: member.artifacts.map(({ path, description }) => ({ path, description })),
    ended: ended && { status: ended.status, error: ended.error, unmet: ended.unmet, commit: ended.commit, answer: ended.answer },
    asks: stats?.asks ?? [],
    steps: stats?.steps ?? 0,
    ...(stats?.spent ?? zeroSpent),
    startedAt: stats?.startedAt ?? null,
    endedAt: stats?.endedAt ?? null,
  };
}
