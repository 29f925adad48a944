// skein new: creates an empty session.
import { printableLabel } from "../../print/session-label.ts";
import { sessionRecord } from "../../../protocol/json/records.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";

export const create: Command = {
  name: "new",
  summary: "start an empty session and use it",
  usage: "[name] [-m vendor/id] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [{ name: "model", short: "m", value: "vendor/id[:effort]", summary: "the model of the session" }, jsonFlag],
  run: runCreate,
};

async function runCreate(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const settings = await api.config.values();
  const model = args.flags["model"];
  const session = await api.session.open({
    find: { by: "new" },
    ...(args.positionals[0] === undefined ? {} : { name: args.positionals[0] }),
    directory: ctx.cwd,
    task: null,
    agent: settings.agent,
    model: typeof model === "string" ? model : null,
    toolLevel: settings.toolLevel,
    parentSession: null,
    transcriptDir: null,
  });
  ctx.out.write(
    args.flags["json"] ? jsonText(sessionRecord(session)) : `${printableLabel(session)}: a new session on ${session.model ?? "no model"}\n`,
  );
  return 0;
}
