// cancel_session: stops what runs in a session, whichever process runs it, and tells what it came to.
import { cancelSessionInput, turnOutput } from "../../protocol/schema/mcp.ts";
import { collectTurn } from "../turn/collect-turn.ts";
import { tool } from "./tool.ts";

const recordedMs = 20_000;

export const cancelSession = tool({
  name: "cancel_session",
  description: "Stop the work running in a session.",
  input: cancelSessionInput,
  output: turnOutput,
  async run({ session_id }, place) {
    const session = await place.api.session.find({ wanted: session_id, directory: place.directory });
    const { outcome } = await place.api.turn.kill({ session: session.id, force: false });
    const answer = await collectTurn(session, { limitMs: recordedMs, afterSeq: 0, onCancel: "leave" }, place);
    if (outcome === "not-running") return { ...answer, text: `nothing was running. The last turn:\n${answer.text}` };
    // That it was stopped is what was asked for.
    return { output: answer.output, text: answer.text };
  },
});
