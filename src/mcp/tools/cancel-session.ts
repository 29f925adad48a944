// cancel_session: stops the running turn of a session, in any process, and returns its answer so far.
import { collectTurn } from "../turn/take-turn.ts";
import { tool } from "./tool.ts";

/** Time to wait until the end of the turn is recorded. */
const endTimeoutMs = 20_000;

export const cancelSession = tool("cancel_session", {
  description: "Stop the work running in a session.",
  async run({ session_id }, ctx) {
    const session = await ctx.api.session.find({ wanted: session_id, directory: ctx.directory });
    const { outcome } = await ctx.api.turn.kill({ session: session.id, force: false });
    const answer = await collectTurn(session, { limitMs: endTimeoutMs, afterSeq: 0, onCancel: "leave" }, ctx);
    if (outcome === "not-running") return { ...answer, text: `nothing was running. The last turn:\n${answer.text}` };
    // Leaves out isError: the caller wanted the turn to be cancelled.
    return { output: answer.output, text: answer.text };
  },
});
