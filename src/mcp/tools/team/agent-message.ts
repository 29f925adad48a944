// agent_message: sends a message to members of a team. A client is no member, so the sender is recorded as the user
// ("person"). The body names the member that the client writes for.
import { Fault } from "../../../protocol/api/error.ts";
import { resolveAddress } from "../../../protocol/team/address.ts";
import type { MessageKind } from "../../../protocol/team/mail.ts";
import { membersOf } from "../../../protocol/team/team.ts";
import type { TeamView } from "../../../protocol/team/views.ts";
import { addressableMembers, noTeamAnswer, teamErrorAnswer, findTeam } from "./team-errors.ts";
import { tool, type CallContext } from "../tool.ts";

/** Names of senders that are not members. */
const userNames = ["orchestrator", "person", "user"];
const kinds: Record<string, MessageKind> = { notification: "announcement", query: "question" };

export const agentMessage = tool("agent_message", {
  description: "Write to members of a team; they get it at their next step. You are recorded as the person.",
  async run({ from_agent: from, to_agent: to, message, type, session_id }, ctx) {
    const view = session_id === undefined ? await guessTeam(ctx, [from, to]) : await findTeam(ctx, session_id);
    if (view === null) return noTeamAnswer(session_id ?? "(the latest running team)");
    const members = addressableMembers(membersOf(view.team));
    for (const [field, name] of Object.entries({ from_agent: from, to_agent: to })) {
      const isKnown = resolveAddress(name, members).length > 0 || (field === "from_agent" && userNames.includes(name.toLowerCase()));
      if (!isKnown)
        return teamErrorAnswer("AGENT_NOT_FOUND", `${field}: no member of the team has the address "${name}"`, {
          agent: name,
          members: members.map(({ id }) => id),
        });
    }
    const isMember = !userNames.includes(from.toLowerCase());
    try {
      const { id, reaches, misses, when } = await ctx.api.team.message({
        session: view.session.id,
        to: [to],
        kind: kinds[type] ?? (type as MessageKind),
        priority: "normal",
        subject: "",
        body: isMember ? `(on behalf of ${from})\n${message}` : message,
        replyTo: null,
        requiresResponse: type === "request" || type === "question" || type === "query",
      });
      const output = { message_id: id, from: "person", on_behalf_of: from, reaches, misses, when };
      return { output, text: `${id}: for ${reaches.join(", ")}, ${when === "now" ? "at their next step" : "when the team is resumed"}` };
    } catch (error) {
      if (!(error instanceof Fault)) throw error;
      return teamErrorAnswer("AGENT_NOT_FOUND", error.message, { agent: to, ...(error.hint === undefined ? {} : { hint: error.hint }) });
    }
  },
});

/** The team that has a member with one of these ids, else the latest running team. */
async function guessTeam({ api, project }: CallContext, names: readonly string[]): Promise<TeamView | null> {
  const teams = await api.team.list({ project, limit: 20 });
  const views = await Promise.all(teams.map(({ session }) => api.team.show({ session: session.id })));
  const teamOfMember = views.find((view) => membersOf(view.team).some(({ id }) => names.includes(id)));
  return teamOfMember ?? views.find(({ state }) => ["planning", "running", "paused"].includes(state)) ?? null;
}
