// wait_session: waits for the turn of a session and returns its answer, whichever process or front end started it.
import { collectTurn } from "../turn/take-turn.ts";
import { withGroupData } from "../turn/group-answer.ts";
import { tool } from "./tool.ts";

const defaultMs = 45_000;

export const waitSession = tool("wait_session", {
  description: "Wait for the work running in a session and get its answer.",
  readOnly: true,
  async run({ session_id, timeout_s, after_seq }, ctx) {
    const session = await ctx.api.session.find({ wanted: session_id, directory: ctx.directory });
    const limitMs = timeout_s === undefined ? defaultMs : timeout_s * 1000;
    const options = { limitMs: Math.min(limitMs, ctx.caller.timeoutMs ?? Infinity), afterSeq: after_seq ?? 0, onCancel: "leave" as const };
    return withGroupData(await collectTurn(session, options, ctx), ctx);
  },
});
