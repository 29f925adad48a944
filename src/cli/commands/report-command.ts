// Declares a command that prints one report: as text, or with --json as one JSON document.
import { jsonFlag } from "../parse/args.ts";
import type { Args, Command, CommandContext } from "../parse/command.ts";
import { jsonText } from "../print/json.ts";
import { stripControls, styleOf, type Style } from "../terminal/style.ts";

export type Report = {
  /** The document of --json. */
  json: unknown;
  /** The text for stdout, with its final line break. Called only without --json. */
  text: (style: Style) => string | Promise<string>;
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

export function reportCommand({ report, positionals = { min: 0, max: 0 }, flags = [], ...entry }: ReportCommand): Command {
  return {
    ...entry,
    positionals,
    flags: [...flags, jsonFlag],
    run: async (args, ctx) => printReport(args, ctx, await report(args, ctx)),
  };
}

/** Returns the exit code. */
export async function printReport(args: Args, ctx: CommandContext, { json, text, remarks, exitCode = 0 }: Report): Promise<number> {
  if (args.flags["json"]) {
    ctx.out.write(jsonText(json));
    return exitCode;
  }
  ctx.out.write(await text(styleOf(ctx.out)));
  if (remarks !== undefined) ctx.err.write(await remarks(styleOf(ctx.err)));
  return exitCode;
}

/** A line about a file with a problem. */
export function problemText({ path, message }: { path: string; message: string }, style: Style): string {
  return `${style.yellow("problem:")} ${stripControls(path)}: ${stripControls(message)}\n`;
}
