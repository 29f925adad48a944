// list_sessions: lists the sessions of this project, newest first.
import { oneLine } from "../../kit/text/cut-text.ts";
import { isoTime } from "../../protocol/json/records.ts";
import { sessionIdentifier, type Session } from "../../protocol/tree/turn.ts";
import { tool, type CallContext } from "./tool.ts";
import { withTimeLimit } from "../turn/time-limit.ts";

export const listSessions = tool("list_sessions", {
  description: "List this project's sessions, newest first.",
  readOnly: true,
  async run({ limit, search, include_summary }, ctx) {
    const { api, project } = ctx;
    const allSessions = await api.session.list({ project, ...(search === undefined ? { limit } : {}) });
    const query = search?.toLowerCase();
    const matches =
      query === undefined ? allSessions : allSessions.filter((session) => sessionIdentifier(session).toLowerCase().includes(query));
    // A running turn comes first in the list and decides, also if others of its session are queued.
    const turns = (await api.turn.list({ endedSince: null })).toReversed();
    const states = new Map(turns.map(({ session, state }) => [session.id, state]));
    const listed = matches.slice(0, limit);
    const summaries = include_summary ? await summariesOf(listed, ctx) : [];
    const sessions = listed.map((session, index) => ({
      session_id: sessionIdentifier(session),
      state: states.get(session.id) ?? "idle",
      agent: session.agent,
      model: session.model,
      used_at: isoTime(session.updatedAt),
      task: session.task === null ? null : oneLine(session.task, 120),
      ...(summaries[index] === undefined ? {} : { summary: summaries[index] }),
    }));
    const lines = sessions.map(
      ({ session_id, state, agent, task, summary }) => `${session_id} (${agent}, ${state}): ${summary ?? task ?? ""}`,
    );
    return { output: { sessions }, text: lines.length === 0 ? "no sessions yet" : lines.join("\n") };
  },
});

const maxMs = 60_000;

/** One line for each session, written by a model if there is one. The engine caches it until the session changes. */
function summariesOf(sessions: Session[], { api, directory, caller }: CallContext): Promise<(string | undefined)[]> {
  return withTimeLimit(caller, { maxMs, progress: "summarising sessions" }, (limitMs) =>
    Promise.all(
      sessions.map(async ({ id }) => {
        const params = { session: id, directory, model: null, instructions: null, anew: false, limitMs, signal: caller.signal };
        return (await api.session.describe(params)).oneLiner;
      }),
    ),
  );
}
