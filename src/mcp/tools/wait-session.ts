// wait_session: collects what a turn has come to, of this caller, of one that died, or of another door.
import { turnOutput, waitSessionInput } from "../../protocol/schema/mcp.ts";
import { collectTurn } from "../turn/collect-turn.ts";
import { withGroupData } from "../turn/group-answer.ts";
import { tool } from "./tool.ts";

const usualMs = 45_000;

export const waitSession = tool({
  name: "wait_session",
  description: "Wait for the work running in a session and get its answer.",
  input: waitSessionInput,
  output: turnOutput,
  readOnly: true,
  async run({ session_id, timeout_s, after_seq }, place) {
    const session = await place.api.session.find({ wanted: session_id, directory: place.directory });
    const limitMs = timeout_s === undefined ? usualMs : timeout_s * 1000;
    const { timeoutMs: patienceMs } = place.caller;
    const bounded = patienceMs === null ? limitMs : Math.min(limitMs, patienceMs);
    return withGroupData(await collectTurn(session, { limitMs: bounded, afterSeq: after_seq ?? 0, onCancel: "leave" }, place), place);
  },
});
