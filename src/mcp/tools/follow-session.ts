// follow_session: returns the last lines of a session's log, also while it runs.
import { readSessionLog } from "../turn/session-log.ts";
import { tool } from "./tool.ts";

export const followSession = tool("follow_session", {
  description: "See what is happening in a session right now.",
  readOnly: true,
  async run({ session_id, lines, after_seq }, { api, directory }) {
    const session = await api.session.find({ wanted: session_id, directory });
    const log = await readSessionLog(api, session, after_seq ?? 0);
    const lastLines = log.lines.slice(-lines);
    return {
      output: { state: log.state, seq: log.seq, lines: lastLines },
      text: [`${log.state}, seq ${log.seq}`, ...lastLines].join("\n"),
    };
  },
});
