// skein new: creates an empty session.
import { printableLabel } from "../../print/session-label.ts";
import { reportCommand } from "../report-command.ts";

export const create = reportCommand({
  name: "new",
  summary: "start an empty session and use it",
  usage: "[name] [-m vendor/id] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [{ name: "model", short: "m", value: "vendor/id[:effort]", summary: "the model of the session" }],
  async report({ positionals: [name], flags }, ctx) {
    const api = await ctx.api();
    const { agent, toolLevel } = await api.config.values();
    const session = await api.session.open({
      find: { by: "new" },
      ...(name === undefined ? {} : { name }),
      directory: ctx.cwd,
      task: null,
      agent,
      model: (flags["model"] as string | undefined) ?? null,
      toolLevel,
      parentSession: null,
      transcriptDir: null,
    });
    return { json: session, text: () => `${printableLabel(session)}: a new session on ${session.model ?? "no model"}\n` };
  },
});
