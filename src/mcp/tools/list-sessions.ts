// list_sessions: what there is to go on with in this project, the newest first.
import { oneLine } from "../../kit/text/cut-text.ts";
import { isoTime } from "../../protocol/json/records.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { listSessionsInput, listSessionsOutput } from "../../protocol/schema/mcp.ts";
import { sessionIdentifier } from "../turn/session-identifier.ts";
import { tool, type CallContext } from "./tool.ts";
import { withTimeLimit } from "../turn/time-limit.ts";

export const listSessions = tool({
  name: "list_sessions",
  description: "List this project's sessions, newest first.",
  input: listSessionsInput,
  output: listSessionsOutput,
  readOnly: true,
  async run({ limit, search, include_summary }, place) {
    const { api, project } = place;
    const all = await api.session.list({ project, ...(search === undefined ? { limit } : {}) });
    const wanted = search?.toLowerCase();
    const found = wanted === undefined ? all : all.filter((session) => sessionIdentifier(session).toLowerCase().includes(wanted));
    const running = new Map((await api.turn.list({ endedSince: null })).map(({ session, state }) => [session.id, state]));
    const listed = found.slice(0, limit);
    const summaries = include_summary ? await summariesOf(listed, place) : [];
    const sessions = listed.map((session, at) => ({
      session_id: sessionIdentifier(session),
      state: running.get(session.id) ?? "idle",
      agent: session.agent,
      model: session.model,
      used_at: isoTime(session.updatedAt),
      task: session.task === null ? null : oneLine(session.task, 120),
      ...(summaries[at] === undefined ? {} : { summary: summaries[at] }),
    }));
    const lines = sessions.map(
      ({ session_id, state, agent, task, summary }) => `${session_id} (${agent}, ${state}): ${summary ?? task ?? ""}`,
    );
    return { output: { sessions }, text: lines.length === 0 ? "no sessions yet" : lines.join("\n") };
  },
});

const mostMs = 60_000;

/** One line each, by a model where there is one; kept until a session changes. */
function summariesOf(sessions: Session[], { api, directory, caller }: CallContext): Promise<(string | undefined)[]> {
  return withTimeLimit(caller, { mostMs, doing: "summarising sessions" }, (limitMs) =>
    Promise.all(
      sessions.map(async ({ id }) => {
        const wish = { session: id, directory, model: null, instructions: null, anew: false, limitMs, signal: caller.signal };
        return (await api.session.describe(wish)).oneLiner;
      }),
    ),
  );
}
