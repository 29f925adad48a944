// skein purge: archived sessions go for good, with every node that no other session needs.
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
  summary: "remove archived sessions for good",
  usage: "[session] [--older-than 30d] [--dry-run] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "older-than", value: "time", summary: "only what was archived that long ago (default 30d)" },
    { name: "dry-run", summary: "only say what would go" },
    jsonFlag,
  ],
  notes: `Without a session, every archived one that is old enough, of every project. A
session that is named goes at once. Nodes that another session needs stay, with
their outputs. A session in use is left alone.`,
  run: runPurge,
};

async function runPurge(args: Args, ctx: CommandContext): Promise<number> {
  const age = args.flags["older-than"] as string | undefined;
  const asked = age === undefined ? null : parseDuration(age);
  if (age !== undefined && asked === null) {
    throw new Fault("usage", `--older-than must be a time, not "${age}"`, { hint: "for example 30d, 12h or 0" });
  }
  const api = await ctx.api();
  const [wanted] = args.positionals;
  const session = wanted === undefined ? null : (await api.session.find({ wanted, directory: ctx.cwd })).id;
  const olderThanMs = asked ?? (session === null ? await configuredAge(api) : 0);
  const report = await api.session.purge({ session, olderThanMs, dryRun: args.flags["dry-run"] === true });
  if (args.flags["json"]) ctx.out.write(jsonText(report));
  else tell(report, ctx);
  return report.problems.length === 0 ? 0 : 1;
}

async function configuredAge(api: Api): Promise<number> {
  return (await api.config.values()).purgeAfterMs ?? 30 * 86_400_000;
}

function tell(report: PurgeReport, ctx: CommandContext): void {
  const style = styleOf(ctx.out);
  for (const { id, name, project, archivedAt } of report.sessions) {
    const label = name === null ? shortId(id) : `${stripControls(name)} ${style.dim(shortId(id))}`;
    ctx.out.write(
      `${report.dryRun ? "would purge" : "purged"} ${label}  ${style.dim(`${stripControls(project)}, archived ${day(archivedAt)}`)}\n`,
    );
  }
  for (const { id, name, reason } of report.skipped)
    ctx.out.write(`${style.yellow("kept")} ${stripControls(name ?? shortId(id))}: ${reason}\n`);
  for (const problem of report.problems) ctx.err.write(`${style.red("problem")}: ${stripControls(problem)}\n`);
  const counts = [
    counted(report.sessions.length, "session"),
    counted(report.nodes, "node"),
    counted(report.turns, "turn"),
    counted(report.outputs, "output"),
    counted(report.transcripts, "transcript"),
  ].join(", ");
  if (report.sessions.length + report.nodes + report.outputs === 0) {
    ctx.out.write("nothing to purge\n");
    return;
  }
  ctx.out.write(`${report.dryRun ? "would free" : "freed"} ${size(report.bytes)}: ${counts}\n`);
  if (report.keptNodes > 0) ctx.out.write(style.dim(`${counted(report.keptNodes, "node")} stay because other sessions need them\n`));
}

function counted(count: number, noun: string): string {
  return `${count.toLocaleString("en-US")} ${noun}${count === 1 ? "" : "s"}`;
}

function day(at: number): string {
  return new Date(at).toISOString().slice(0, 10);
}

function size(bytes: number): string {
  if (bytes < 1000) return `${bytes} bytes`;
  if (bytes < 1_000_000) return `${(bytes / 1000).toFixed(1)} kB`;
  return bytes < 1e9 ? `${(bytes / 1e6).toFixed(1)} MB` : `${(bytes / 1e9).toFixed(2)} GB`;
}
