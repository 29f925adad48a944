// session_status: how a team stands.
import { sessionStatusInput, sessionStatusOutput } from "../../../protocol/schema/mcp-team.ts";
import { teamStatusRecord } from "../../../protocol/json/team-records.ts";
import { countMembers, lastStatusLine, type TeamView } from "../../../protocol/team/views.ts";
import { membersOf } from "../../../protocol/team/team.ts";
import { noTeamAnswer, findTeam } from "./team-errors.ts";
import { tool } from "../tool.ts";

export const sessionStatus = tool({
  name: "session_status",
  description: "How a team stands: its phases, its members and what they said last, its messages.",
  input: sessionStatusInput,
  output: sessionStatusOutput,
  readOnly: true,
  async run({ session_id, include_agents, include_messages }, place) {
    const view = await findTeam(place, session_id);
    if (view === null) return noTeamAnswer(session_id);
    const { phases, messages, ...rest } = teamStatusRecord(view);
    const output = {
      ...rest,
      session_id: view.session.name ?? view.session.id,
      agents: countMembers(view.team),
      phases: phases.map(({ members, ...phase }) => ({ ...phase, ...(include_agents ? { members } : {}) })),
      ...(include_messages ? { messages } : {}),
    };
    return { output, text: textOf(view, { include_agents }) };
  },
});

function textOf(view: TeamView, { include_agents }: { include_agents: boolean }): string {
  const { total, running, completed, failed } = countMembers(view.team);
  const head = `${view.state}: phase ${view.team.phases.filter(({ isOver }) => isOver).length} of ${view.team.phases.length} over; of ${total} members ${running} work, ${completed} are done, ${failed} failed; ${view.team.messages.length} messages`;
  const why = view.team.end?.event === "session_failed" ? [`It stopped: ${view.team.end.reason}`] : [];
  const lines = include_agents
    ? membersOf(view.team).map((member) => `- ${member.plan.key} (${member.id}) ${member.state}: ${lastStatusLine(member).slice(0, 200)}`)
    : [];
  const merge = view.merge === "open" ? ["Its work is not in the project yet: a person brings it in with `skein team merge`."] : [];
  return [head, ...why, ...lines, ...merge].join("\n");
}
