// list_sessions: what there is to go on with in this project, the newest first.
import { oneLine } from "../../kit/text.ts";
import { isoTime } from "../../protocol/records.ts";
import { listSessionsInput, listSessionsOutput } from "../../protocol/schema/mcp.ts";
import { nameOf } from "../session-name.ts";
import { tool } from "../tool.ts";

export const listSessions = tool({
  name: "list_sessions",
  description: "List this project's sessions, newest first.",
  input: listSessionsInput,
  output: listSessionsOutput,
  readOnly: true,
  async run({ limit, search }, { api, project }) {
    const all = await api.session.list({ project, ...(search === undefined ? { limit } : {}) });
    const wanted = search?.toLowerCase();
    const found = wanted === undefined ? all : all.filter((session) => nameOf(session).toLowerCase().includes(wanted));
    const running = new Map((await api.turn.list({ endedSince: null })).map(({ session, state }) => [session.id, state]));
    const sessions = found.slice(0, limit).map((session) => ({
      session_id: nameOf(session),
      state: running.get(session.id) ?? "idle",
      agent: session.agent,
      model: session.model,
      used_at: isoTime(session.updatedAt),
      task: session.task === null ? null : oneLine(session.task, 120),
    }));
    const lines = sessions.map(({ session_id, state, agent, task }) => `${session_id} (${agent}, ${state}): ${task ?? ""}`);
    return { output: { sessions }, text: lines.length === 0 ? "no sessions yet" : lines.join("\n") };
  },
});
