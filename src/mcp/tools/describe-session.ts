// describe_session: summarises a session. Files, errors and figures are read from the store; a model writes the prose.
import type { Description } from "../../protocol/tree/history.ts";
import { toJsonCase } from "../../protocol/json/json-case.ts";
import { sessionIdentifier } from "../../protocol/tree/turn.ts";
import { tool } from "./tool.ts";
import { withTimeLimit } from "../turn/time-limit.ts";

const maxMs = 120_000;

export const describeSession = tool("describe_session", {
  description: "Summarize a session: what it was about, outcomes, files, errors.",
  async run({ session_id, summarization_model, extra_instructions, clear_cache }, { api, directory, caller }) {
    const { session, ...description } = await withTimeLimit(caller, { maxMs, progress: `describing ${session_id}` }, (limitMs) =>
      api.session.describe({
        session: session_id,
        directory,
        model: summarization_model ?? null,
        instructions: extra_instructions ?? null,
        anew: clear_cache,
        limitMs,
        signal: caller.signal,
      }),
    );
    const fields = toJsonCase(description) as Omit<Description, "session" | "sessionType"> & { session_type: string };
    const output = { session_id: sessionIdentifier(session), ...fields };
    return { output, text: JSON.stringify(output, null, 1) };
  },
});
