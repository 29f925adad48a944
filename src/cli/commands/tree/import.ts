// skein import: creates a session of this project from a transcript of skein or of another agent.
import { pluralize } from "../../../kit/text/cut-text.ts";
import { printableLabel } from "../../print/session-label.ts";
import { resolve } from "node:path";
import { importFormats, type ImportFormat, type ImportReport } from "../../../protocol/tree/import.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { styleOf } from "../../terminal/style.ts";

export const importCommand: Command = {
  name: "import",
  summary: "import a transcript of skein, claude, codex, gemini or pi",
  usage: "<file> [--format name] [--name name] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "format", value: "name", choices: ["auto", ...importFormats], summary: "the format of the transcript (default: detected)" },
    { name: "name", value: "name", summary: "the name of the session" },
    jsonFlag,
  ],
  notes: `"-" reads from stdin. Importing a file again adds only its new nodes. The agents store their transcripts here:
  claude   ~/.claude/projects/<directory>/<id>.jsonl
  codex    ~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl
  gemini   ~/.gemini/tmp/<project>/chats/session-*.jsonl
  pi       ~/.pi/agent/sessions/<directory>/*.jsonl

The native agent continues the session: skein run --session <name> "continue".`,
  run: runImport,
};

async function runImport(args: Args, ctx: CommandContext): Promise<number> {
  const [file = ""] = args.positionals;
  const name = args.flags["name"];
  const from = file === "-" ? { text: await ctx.stdin.text({ wait: true }) } : { path: resolve(ctx.cwd, file) };
  const api = await ctx.api();
  const report = await api.transcript.import({
    from,
    format: (args.flags["format"] ?? "auto") as ImportFormat | "auto",
    name: typeof name === "string" ? name : null,
    directory: ctx.cwd,
  });
  if (args.flags["json"]) {
    ctx.out.write(jsonText(report));
    return 0;
  }
  ctx.out.write(reportText(report, styleOf(ctx.out)));
  if (report.unreadable > 0)
    ctx.err.write(`${pluralize(report.unreadable, "line")} could not be read and ${report.unreadable === 1 ? "was" : "were"} skipped\n`);
  if (report.torn) ctx.err.write("the last line was incomplete and was skipped\n");
  return 0;
}

function reportText(report: ImportReport, style: ReturnType<typeof styleOf>): string {
  const { session, nodes } = report;
  const label = style.bold(printableLabel(session));
  const archived = session.archivedAt === null ? "" : `; it is archived: skein restore ${shortId(session.id)}`;
  if (nodes.added === 0) return `${label}: nothing new, all ${pluralize(nodes.known, "node")} were already here${archived}\n`;
  const before = nodes.known > 0 ? ` (${nodes.known} were already here)` : "";
  const branches = report.branches > 1 ? `, ${report.branches} branches` : "";
  const shape = `${pluralize(nodes.added, "node")} in ${pluralize(report.turns, "turn")}${branches}${before}`;
  return `${label}: ${shape}, from ${report.format}\n${style.dim(`continue: skein run --session ${printableLabel(session)} "..."`)}\n`;
}
