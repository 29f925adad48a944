// skein pause: the turn that runs in a session stands still, whoever started it.
import type { Api } from "../../../protocol/api/api.ts";
import type { PauseReport } from "../../../protocol/api/control.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls } from "../../terminal/style.ts";

export const pause: Command = {
  name: "pause",
  summary: "make the turn that runs in a session stand still, with all it has started",
  usage: "<session> [--force] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [{ name: "force", summary: "do not ask: stop the process that runs it, when it runs nothing else" }, jsonFlag],
  notes: `Nothing is asked of a model, every process of the turn and of its sub-sessions is
stopped, and time limits stand still, until \`skein resume <session>\`. The process
that runs it is asked to do that; one that does not answer can be stopped from
outside with --force. A connection that breaks meanwhile is a network failure like
any other. Exit code 0 also when nothing ran.`,
  run: async (args, door) => {
    const api = await door.api();
    const { id, label } = await sessionFromArgs(api, args, door);
    const report = await api.turn.pause({ session: id, force: args.flags["force"] === true });
    return printReport(args, door, report, report.state === "paused" ? `paused ${label}` : `nothing runs in ${label}`);
  },
};

export async function sessionFromArgs(api: Api, args: Args, ctx: CommandContext): Promise<{ id: string; label: string }> {
  const session = await findSession(api, ctx, args.positionals[0]);
  return { id: session.id, label: stripControls(session.name ?? shortId(session.id)) };
}

export function printReport(args: Args, ctx: CommandContext, report: PauseReport, text: string): number {
  ctx.out.write(args.flags["json"] ? jsonText(report) : `${text}\n`);
  return 0;
}
