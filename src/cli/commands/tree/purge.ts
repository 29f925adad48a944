// skein purge: deletes archived sessions for good, with every node that no other session needs.
import { pluralize } from "../../../kit/text/cut-text.ts";
import { printableLabel } from "../../print/session-label.ts";
import { parseDuration } from "../../../kit/text/duration.ts";
import type { Api, PurgeReport } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const purge: Command = {
  name: "purge",
  summary: "delete archived sessions for good",
  usage: "[session] [--older-than 30d] [--dry-run] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "older-than", value: "time", summary: "only sessions archived that long ago (default 30d)" },
    { name: "dry-run", summary: "only print what would be deleted" },
    jsonFlag,
  ],
  notes: `Without a session, purge deletes every archived session of every project that is
old enough. A session given by name is deleted whatever its age. Nodes that another
session needs stay, with their outputs. A session in use is not deleted.`,
  run: runPurge,
};

async function runPurge(args: Args, ctx: CommandContext): Promise<number> {
  const age = args.flags["older-than"] as string | undefined;
  const ageMs = age === undefined ? null : parseDuration(age);
  if (age !== undefined && ageMs === null) {
    throw new Fault("usage", `--older-than must be a time, not "${age}"`, { hint: "for example 30d, 12h or 0" });
  }
  const api = await ctx.api();
  const [query] = args.positionals;
  const session = query === undefined ? null : (await api.session.find({ wanted: query, directory: ctx.cwd })).id;
  const olderThanMs = ageMs ?? (session === null ? await configuredAge(api) : 0);
  const report = await api.session.purge({ session, olderThanMs, dryRun: args.flags["dry-run"] === true });
  if (args.flags["json"]) ctx.out.write(jsonText(report));
  else printReport(report, ctx);
  return report.problems.length === 0 ? 0 : 1;
}

async function configuredAge(api: Api): Promise<number> {
  return (await api.config.values()).purgeAfterMs ?? 30 * 86_400_000;
}

function printReport(report: PurgeReport, ctx: CommandContext): void {
  const style = styleOf(ctx.out);
  for (const { id, name, project, archivedAt } of report.sessions) {
    const label = name === null ? shortId(id) : `${stripControls(name)} ${style.dim(shortId(id))}`;
    ctx.out.write(
      `${report.dryRun ? "would purge" : "purged"} ${label}  ${style.dim(`${stripControls(project)}, archived ${dayText(archivedAt)}`)}\n`,
    );
  }
  for (const session of report.skipped) ctx.out.write(`${style.yellow("kept")} ${printableLabel(session)}: ${session.reason}\n`);
  for (const problem of report.problems) ctx.err.write(`${style.red("problem")}: ${stripControls(problem)}\n`);
  const counts = [
    pluralize(report.sessions.length, "session"),
    pluralize(report.nodes, "node"),
    pluralize(report.turns, "turn"),
    pluralize(report.outputs, "output"),
    pluralize(report.transcripts, "transcript"),
  ].join(", ");
  if (report.sessions.length + report.nodes + report.outputs === 0) {
    ctx.out.write("nothing to purge\n");
    return;
  }
  ctx.out.write(`${report.dryRun ? "would free" : "freed"} ${sizeText(report.bytes)}: ${counts}\n`);
  if (report.keptNodes > 0) ctx.out.write(style.dim(`${pluralize(report.keptNodes, "node")} stay because other sessions need them\n`));
}

function dayText(time: number): string {
  return new Date(time).toISOString().slice(0, 10);
}

function sizeText(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
