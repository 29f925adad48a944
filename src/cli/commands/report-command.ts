// Declares a command that prints one report: as text, or with --json as one JSON document.
import type { Api } from "../../protocol/api/api.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { jsonFlag } from "../parse/args.ts";
import type { Args, Command, CommandContext } from "../parse/command.ts";
import { findSession } from "../parse/find-session.ts";
import { jsonText } from "../print/json.ts";
import { stripControls, styleOf, type Style } from "../terminal/style.ts";

export type Report = {
  /** The document of --json. */
  json: unknown;
  /** The text for stdout, with its final line break. A function is called only without --json. */
  text: string | ((style: Style) => string | Promise<string>);
  /** Text for stderr after the report. Called only without --json. */
  remarks?: (style: Style) => string | Promise<string>;
  exitCode?: number;
};

type ReportCommand = Omit<Command, "positionals" | "flags" | "run"> & {
  /** Default: none. */
  positionals?: Command["positionals"];
  /** The flags besides --json. */
  flags?: Command["flags"];
  report: (args: Args, ctx: CommandContext) => Promise<Report>;
};

type SessionReportCommand = Omit<ReportCommand, "report"> & { report: (target: SessionTarget) => Promise<Report> };

export function reportCommand({ report, positionals = { min: 0, max: 0 }, flags = [], ...entry }: ReportCommand): Command {
  return {
    ...entry,
    positionals,
    flags: [...flags, jsonFlag],
    run: async (args, ctx) => printReport(args, ctx, await report(args, ctx)),
  };
}

export type SessionTarget = { api: Api; session: Session; args: Args; ctx: CommandContext };

/** A report on the session that the first argument names. Without it, on the project's current session. */
export function sessionReport({ report, ...entry }: SessionReportCommand): Command {
  return reportCommand({
    positionals: { min: 1, max: 1 },
    ...entry,
    async report(args, ctx) {
      const api = await ctx.api();
      return report({ api, session: await findSession(api, ctx, args.positionals[0]), args, ctx });
    },
  });
}

/** Returns the exit code. */
export async function printReport(args: Args, ctx: CommandContext, { json, text, remarks, exitCode = 0 }: Report): Promise<number> {
  if (args.flags["json"]) {
    ctx.out.write(jsonText(json));
    return exitCode;
  }
  ctx.out.write(typeof text === "string" ? text : await text(styleOf(ctx.out)));
  if (remarks !== undefined) ctx.err.write(await remarks(styleOf(ctx.err)));
  return exitCode;
}

/** A line about a file with a problem. */
export function problemText({ path, message }: { path: string; message: string }, style: Style): string {
  return `${style.yellow("problem:")} ${stripControls(path)}: ${stripControls(message)}\n`;
}
