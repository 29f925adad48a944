// follow_session: the last lines of what is said and done in a session, also while it runs.
import { followSessionInput, followSessionOutput } from "../../protocol/schema/mcp.ts";
import { readSessionLog } from "../turn/session-log.ts";
import { tool } from "./tool.ts";

export const followSession = tool({
  name: "follow_session",
  description: "See what is being said and done in a session right now.",
  input: followSessionInput,
  output: followSessionOutput,
  readOnly: true,
  async run({ session_id, lines, after_seq }, { api, directory }) {
    const session = await api.session.find({ wanted: session_id, directory });
    const log = await readSessionLog(api, session, after_seq ?? 0);
    const shown = log.lines.slice(-lines);
    return { output: { state: log.state, seq: log.seq, lines: shown }, text: [`${log.state}, seq ${log.seq}`, ...shown].join("\n") };
  },
});
