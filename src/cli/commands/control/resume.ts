// skein resume: resumes a paused turn. In a terminal it also opens a session on the screen, as other agents' resume does.
import { Fault } from "../../../protocol/api/error.ts";
import { jsonFlag } from "../../parse/args.ts";
import { isInteractive, type Args, type Command, type CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { printableLabel } from "../../print/session-label.ts";
import { printReport } from "../report-command.ts";

export const resume: Command = {
  name: "resume",
  summary: "resume a paused turn, or open a session on the screen",
  usage: "[session] [--last] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [{ name: "last", summary: "the project's latest session" }, jsonFlag],
  notes: `Resumes a turn that \`skein pause\` paused. If none is paused, a terminal shows the
session on the screen, which offers to continue an interrupted turn. Without a
session it lists them to choose one. A sub-session whose parent is paused resumes
with its parent. The exit code is also 0 if nothing was running.

Without a terminal, continue a turn that has ended with \`skein run --resume <session>\`.`,
  async run(args, ctx) {
    const [wanted] = args.positionals;
    const isLast = args.flags["last"] === true;
    if (wanted !== undefined && isLast) throw new Fault("usage", "a session and --last exclude each other");
    if (wanted === undefined && !isLast) return chooseSession(args, ctx);
    return resumeSession(args, ctx, wanted);
  },
};

async function chooseSession(args: Args, ctx: CommandContext): Promise<number> {
  if (!canOpenScreen(args, ctx))
    throw new Fault("usage", "resume needs a session", {
      hint: "`skein list` shows the sessions; `skein run --resume` continues the project's latest interrupted turn",
    });
  const { tui } = await import("../tui/tui.ts");
  return tui.run({ positionals: [], flags: { resume: true } }, ctx);
}

/** Without a session it is the project's current one. */
async function resumeSession(args: Args, ctx: CommandContext, wanted: string | undefined): Promise<number> {
  const api = await ctx.api();
  const session = await findSession(api, ctx, wanted);
  const label = printableLabel(session);
  const json = await api.turn.resume({ session: session.id });
  if (json.state === "not-running" && canOpenScreen(args, ctx)) {
    await api.close();
    return (await import("../tui/tui.ts")).showInTui(ctx, session.id);
  }
  const texts = {
    running: json.isChanged === false ? `${label} was not paused; its turn is running` : `resumed ${label}`,
    paused: `${label} stays paused until its parent is resumed`,
    "not-running": `nothing is running in ${label}; continue it with: skein run --resume ${label}`,
  };
  return printReport(args, ctx, { json, text: `${texts[json.state]}\n` });
}

function canOpenScreen(args: Args, ctx: CommandContext): boolean {
  return isInteractive(ctx) && args.flags["json"] !== true;
}
