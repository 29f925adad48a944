// skein pause: pauses the running turn of a session, in whichever process it runs.
import { printableLabel } from "../../print/session-label.ts";
import type { PauseReport } from "../../../protocol/api/control.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { jsonText } from "../../print/json.ts";

export const pause: Command = {
  name: "pause",
  summary: "pause the running turn of a session and every process it started",
  usage: "<session> [--force] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [{ name: "force", summary: "stop the process that runs the turn, if it runs no other turn" }, jsonFlag],
  notes: `Until \`skein resume <session>\`, no request goes to a model, every process of the
turn and of its sub-sessions is stopped, and time limits do not run. skein asks
the process that runs the turn to pause it; --force stops a process that does not
answer. A connection that breaks in the meantime is a network failure like any
other. The exit code is also 0 if nothing was running.`,
  run: async (args, ctx) => {
    const api = await ctx.api();
    const session = await findSession(api, ctx, args.positionals[0]);
    const report = await api.turn.pause({ session: session.id, force: args.flags["force"] === true });
    const text = `${report.state === "paused" ? "paused" : "nothing is running in"} ${printableLabel(session)}`;
    return printReport(args, ctx, report, text);
  },
};

export function printReport(args: Args, ctx: CommandContext, report: PauseReport, text: string): number {
  ctx.out.write(args.flags["json"] ? jsonText(report) : `${text}\n`);
  return 0;
}
