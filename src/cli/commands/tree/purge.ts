// skein purge: deletes archived sessions for good, with every node that no other session needs.
import { pluralize } from "../../../kit/text/cut-text.ts";
import type { PurgeReport } from "../../../protocol/api/api.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { durationFlag } from "../../parse/args.ts";
import { printableLabel } from "../../print/session-label.ts";
import { sizeText } from "../../terminal/size-text.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { reportCommand } from "../report-command.ts";

export const purge = reportCommand({
  name: "purge",
  summary: "delete archived sessions for good",
  usage: "[session] [--older-than 30d] [--dry-run] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "older-than", value: "time", summary: "only sessions archived that long ago (default 30d)" },
    { name: "dry-run", summary: "only print what would be deleted" },
  ],
  notes: `Without a session, purge deletes every archived session of every project that is
old enough. A session given by name is deleted whatever its age. Nodes that another
session needs stay, with their outputs. A session in use is not deleted. Directories of
teams without unmerged work and snapshots go too, if no session needs them. skein does
this by itself once a day (config key retention); --dry-run shows what it would do.`,
  async report(args, ctx) {
    const ageMs = durationFlag(args, "older-than");
    const api = await ctx.api();
    const [query] = args.positionals;
    const session = query === undefined ? null : (await api.session.find({ wanted: query, directory: ctx.cwd })).id;
    const { purgeAfterMs, retentionMs } = await api.config.values();
    const defaultAgeMs = session === null ? (purgeAfterMs ?? retentionMs ?? 30 * dayMs) : 0;
    const report = await api.session.purge({ session, olderThanMs: ageMs ?? defaultAgeMs, dryRun: args.flags["dry-run"] === true });
    return {
      json: report,
      text: (style) => reportText(report, style),
      remarks: (style) => report.problems.map((problem) => `${style.red("problem")}: ${stripControls(problem)}\n`).join(""),
      exitCode: report.problems.length === 0 ? 0 : 1,
    };
  },
});

const dayMs = 86_400_000;

function reportText(report: PurgeReport, style: Style): string {
  const { dryRun, sessions, skipped, nodes, outputs, bytes, keptNodes, directories = [] } = report;
  const purged = sessions.map(({ id, name, project, archivedAt }) => {
    const label = name === null ? shortId(id) : `${stripControls(name)} ${style.dim(shortId(id))}`;
    const archived = `archived ${new Date(archivedAt).toISOString().slice(0, 10)}`;
    return `${dryRun ? "would purge" : "purged"} ${label}  ${style.dim(`${stripControls(project)}, ${archived}`)}\n`;
  });
  const kept = skipped.map((session) => `${style.yellow("kept")} ${printableLabel(session)}: ${session.reason}\n`);
  const removed = directories.map((directory) => `${dryRun ? "would remove" : "removed"} ${stripControls(directory)}\n`);
  const listed = [...purged, ...removed, ...kept].join("");
  if (sessions.length + nodes + outputs + directories.length === 0) return `${listed}nothing to purge\n`;
  const nouns = ["node", "turn", "output", "transcript"] as const;
  const counts = [pluralize(sessions.length, "session"), ...nouns.map((noun) => pluralize(report[`${noun}s`], noun))].join(", ");
  const keptText = keptNodes > 0 ? style.dim(`${pluralize(keptNodes, "node")} stay because other sessions need them\n`) : "";
  return `${listed}${dryRun ? "would free" : "freed"} ${sizeText(bytes)}: ${counts}\n${keptText}`;
}
