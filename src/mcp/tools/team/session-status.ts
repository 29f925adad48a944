// session_status: reports the state of a team.
import { teamStatusRecord } from "../../../protocol/json/team-records.ts";
import { countMembers, lastStatusLine, type TeamView } from "../../../protocol/team/views.ts";
import { membersOf } from "../../../protocol/team/team.ts";
import { sessionIdentifier } from "../../../protocol/tree/turn.ts";
import { noTeamAnswer, findTeam } from "./team-errors.ts";
import { tool } from "../tool.ts";

export const sessionStatus = tool("session_status", {
  description: "Get the state of a team: its phases, members with their last report, and messages.",
  readOnly: true,
  async run({ session_id, include_agents, include_messages }, ctx) {
    const view = await findTeam(ctx, session_id);
    if (view === null) return noTeamAnswer(session_id);
    const { phases, messages, ...team } = teamStatusRecord(view);
    const output = {
      ...team,
      session_id: sessionIdentifier(view.session),
      agents: countMembers(view.team),
      phases: phases.map(({ members, ...phase }) => ({ ...phase, ...(include_agents ? { members } : {}) })),
      ...(include_messages ? { messages } : {}),
    };
    return { output, text: statusText(view, { include_agents }) };
  },
});

function statusText(view: TeamView, { include_agents }: { include_agents: boolean }): string {
  const { total, running, completed, failed } = countMembers(view.team);
  const summary = `${view.state}: phase ${view.team.phases.filter(({ isOver }) => isOver).length} of ${view.team.phases.length} over; of ${total} members ${running} work, ${completed} are done, ${failed} failed; ${view.team.messages.length} messages`;
  const reason = view.team.end?.event === "session_failed" ? [`It stopped: ${view.team.end.reason}`] : [];
  const lines = include_agents
    ? membersOf(view.team).map((member) => `- ${member.plan.key} (${member.id}) ${member.state}: ${lastStatusLine(member).slice(0, 200)}`)
    : [];
  const merge = view.merge === "open" ? ["Its work is not in the project yet: the user merges it with `skein team merge`."] : [];
  return [summary, ...reason, ...lines, ...merge].join("\n");
}
