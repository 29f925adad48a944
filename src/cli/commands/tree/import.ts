// skein import: creates a session of this project from a transcript of skein or of another agent.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { pluralize } from "../../../kit/text/cut-text.ts";
import { ago } from "../../../kit/text/duration.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { importFormats, type ImportFormat, type ImportReport } from "../../../protocol/tree/import.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { printableLabel } from "../../print/session-label.ts";
import { isInteractive, type CommandContext } from "../../parse/command.ts";
import { choose } from "../../terminal/choose.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { reportCommand, type Report } from "../report-command.ts";
import { findTranscripts, transcriptAgents, type AgentTranscript } from "./agent-transcripts.ts";

export const importCommand = reportCommand({
  name: "import",
  summary: "import a transcript of skein or another agent, or an ATIF trajectory",
  usage: "<file> | claude|codex|gemini|pi [--format name] [--name name] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "format", value: "name", choices: ["auto", ...importFormats], summary: "the format of the transcript (default: detected)" },
    { name: "name", value: "name", summary: "the name of the session" },
  ],
  notes: `The name of an agent lists its sessions of this project, and imports the one that you
choose. Without a terminal it only lists them. "-" reads from stdin. Importing a file
again adds only its new nodes. The agents store their transcripts here:
  claude   ~/.claude/projects/<directory>/<id>.jsonl
  codex    ~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl
  gemini   ~/.gemini/tmp/<project>/chats/session-*.jsonl
  pi       ~/.pi/agent/sessions/<directory>/*.jsonl
Trajectories of Harbor, Devin and others (ATIF 1.0 to 1.7) are one JSON file each.

The native agent continues the session: skein run --session <name> "continue".`,
  async report({ positionals: [wanted = ""], flags }, ctx) {
    const isAgent = transcriptAgents.includes(wanted) && !existsSync(resolve(ctx.cwd, wanted));
    const isList = isAgent && (!isInteractive(ctx) || flags["json"] === true);
    if (isList) return listReport(wanted, ctx);
    if (!isAgent) refuseMisspelledAgent(wanted, ctx);
    const file = isAgent ? await chooseTranscript(wanted, ctx) : wanted;
    const from = file === "-" ? { text: await ctx.stdin.text({ wait: true }) } : { path: resolve(ctx.cwd, file) };
    const api = await ctx.api();
    const report = await api.transcript.import({
      from,
      format: (flags["format"] ?? "auto") as ImportFormat | "auto",
      name: (flags["name"] as string | undefined) ?? null,
      directory: ctx.cwd,
    });
    return { json: report, text: (style) => reportText(report, style), remarks: () => skippedText(report) };
  },
});

/** A word that is no file and resembles an agent is most likely that agent. */
function refuseMisspelledAgent(wanted: string, { cwd }: CommandContext): void {
  const agent = /^[\w-]+$/.test(wanted) && !existsSync(resolve(cwd, wanted)) ? nearestWord(wanted, transcriptAgents) : null;
  if (agent === null) return;
  throw new Fault("usage", `there is no file and no agent "${wanted}"`, { hint: `did you mean "skein import ${agent}"?` });
}

function listReport(agent: string, ctx: CommandContext): Report {
  const transcripts = requireTranscripts(agent, ctx);
  return {
    json: transcripts.map(({ modifiedAt, ...transcript }) => ({ ...transcript, modifiedAt: new Date(modifiedAt).toISOString() })),
    text: (style) =>
      tableText(
        transcripts.map((transcript) => [...rowOf(transcript), stripControls(transcript.path)]),
        { columns: [{ title: "USED" }, { title: "TASK" }, { title: "FILE" }], paintTitle: style.dim },
      ),
    remarks: (style) => style.dim("import one: skein import <file>\n"),
  };
}

const maxChoices = 20;

async function chooseTranscript(agent: string, ctx: CommandContext): Promise<string> {
  const transcripts = requireTranscripts(agent, ctx).slice(0, maxChoices);
  const choices = transcripts.map((transcript) => ({ name: transcript.path, cells: rowOf(transcript) }));
  return choose(ctx, { title: `Sessions of ${agent} in this project:`, choices });
}

function requireTranscripts(agent: string, ctx: CommandContext): AgentTranscript[] {
  const { directory, transcripts } = findTranscripts(agent, ctx);
  if (transcripts.length > 0) return transcripts;
  throw new Fault("file-unreadable", `${agent} has no session of ${ctx.project} in ${directory}`, {
    hint: "name the file of a session: skein import <file>",
  });
}

function rowOf({ modifiedAt, title }: AgentTranscript): string[] {
  return [ago(Date.now() - modifiedAt), stripControls(title)];
}

function skippedText({ unreadable, torn }: ImportReport): string {
  const lines =
    unreadable > 0 ? `${pluralize(unreadable, "line")} could not be read and ${unreadable === 1 ? "was" : "were"} skipped\n` : "";
  return torn ? `${lines}the last line was incomplete and was skipped\n` : lines;
}

function reportText(report: ImportReport, style: Style): string {
  const { session, nodes } = report;
  const label = style.bold(printableLabel(session));
  const archived = session.archivedAt === null ? "" : `; it is archived: skein restore ${shortId(session.id)}`;
  if (nodes.added === 0) return `${label}: nothing new, all ${pluralize(nodes.known, "node")} were already here${archived}\n`;
  const knownText = nodes.known > 0 ? ` (${nodes.known} were already here)` : "";
  const branches = report.branches > 1 ? `, ${report.branches} branches` : "";
  const counts = `${pluralize(nodes.added, "node")} in ${pluralize(report.turns, "turn")}${branches}${knownText}`;
  return `${label}: ${counts}, from ${report.format}\n${style.dim(`continue: skein run --session ${printableLabel(session)} "..."`)}\n`;
}
