// skein resume: resumes a paused turn.
import { printableLabel } from "../../print/session-label.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Command } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { printReport } from "./pause.ts";

export const resume: Command = {
  name: "resume",
  summary: "resume a paused turn",
  usage: "<session> [--json]",
  positionals: { min: 1, max: 1 },
  flags: [jsonFlag],
  notes: `Resumes a turn that \`skein pause\` paused. Continue one that has ended with
\`skein run --resume <session>\`. A sub-session whose parent is paused resumes with
its parent. The exit code is also 0 if nothing was running.`,
  run: async (args, ctx) => {
    const api = await ctx.api();
    const session = await findSession(api, ctx, args.positionals[0]);
    const label = printableLabel(session);
    const report = await api.turn.resume({ session: session.id });
    const texts = {
      running: `resumed ${label}`,
      paused: `${label} stays paused until its parent is resumed`,
      "not-running": `nothing is running in ${label}; continue it with: skein run --resume ${label}`,
    };
    return printReport(args, ctx, report, texts[report.state]);
  },
};
