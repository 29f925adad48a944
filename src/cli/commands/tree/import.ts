// skein import: creates a session of this project from a transcript of skein or of another agent.
import { existsSync } from "node:fs";
import { resolve } from "node:path";
import { nearestWord } from "../../../kit/text/nearest-word.ts";
import { oneLine, pluralize } from "../../../kit/text/cut-text.ts";
import { ago } from "../../../kit/text/duration.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { importFormats, type ImportFormat, type ImportReport } from "../../../protocol/tree/import.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { type AgentTranscript, type TranscriptAgent, transcriptAgents } from "../../../protocol/transcripts/agent-transcript.ts";
import { printableLabel } from "../../print/session-label.ts";
import { isInteractive, type CommandContext } from "../../parse/command.ts";
import { choose } from "../../terminal/choose.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { withIndexProgress } from "./list-transcripts.ts";
import { reportCommand, type Report } from "../report-command.ts";

export const importCommand = reportCommand({
  name: "import",
  summary: "import a transcript of skein or another agent, or an ATIF trajectory",
  usage: "<file> | claude|codex|gemini|opencode|pi [--format name] [--name name] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "format", value: "name", choices: ["auto", ...importFormats], summary: "the format of the transcript (default: detected)" },
    { name: "name", value: "name", summary: "the name of the session" },
  ],
  notes: `The name of an agent lists its sessions of this project, and imports the one that you
choose. Without a terminal it only lists them. "-" reads from stdin. Importing a file
again adds only its new nodes. "skein list --agents all" lists the sessions of all
agents, and every command takes their ids. The agents store their transcripts here:
  claude   ~/.claude/projects/<directory>/<id>.jsonl
  codex    ~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl
  gemini   ~/.gemini/tmp/<project>/chats/session-*.jsonl
  opencode ~/.local/share/opencode/opencode.db
  pi       ~/.pi/agent/sessions/<directory>/*.jsonl
Trajectories of Harbor, Devin and others (ATIF 1.0 to 1.7) are one JSON file each.

The native agent continues the session: skein run --session <name> "continue".`,
  async report({ positionals: [wanted = ""], flags }, ctx) {
    const agent = existsSync(resolve(ctx.cwd, wanted)) ? undefined : transcriptAgents.find((name) => name === wanted);
    if (agent !== undefined && (!isInteractive(ctx) || flags["json"] === true)) return listReport(agent, ctx);
    if (agent === undefined) refuseMisspelledAgent(wanted, ctx);
    const chosen = agent === undefined ? null : await chooseTranscript(agent, ctx);
    if (chosen?.agent === "opencode") return importById(chosen, ctx);
    const file = chosen?.path ?? wanted;
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

/** A session of opencode has no file of its own. */
async function importById({ id }: AgentTranscript, ctx: CommandContext): Promise<Report> {
  const session = await (await ctx.api()).session.find({ wanted: id, directory: ctx.cwd });
  return { json: session, text: (style) => style.dim(`continue: skein run --session ${printableLabel(session)} "..."\n`) };
}

async function listReport(agent: TranscriptAgent, ctx: CommandContext): Promise<Report> {
  const transcripts = await requireTranscripts(agent, ctx);
  return {
    json: transcripts.map(({ id, path, updatedAt, task }) => ({
      path,
      title: oneLine(task ?? "", maxTitle),
      modifiedAt: new Date(updatedAt).toISOString(),
      id,
    })),
    text: (style) =>
      tableText(
        transcripts.map((transcript) => [...rowOf(transcript), stripControls(transcript.path)]),
        { columns: [{ title: "USED" }, { title: "TASK" }, { title: "FILE" }], paintTitle: style.dim },
      ),
    remarks: (style) =>
      style.dim(
        agent === "opencode" ? "import one: skein show <id>, see skein list --agents opencode\n" : "import one: skein import <file>\n",
      ),
  };
}

const maxChoices = 20;
const maxTitle = 80;
const maxListed = 500;

async function chooseTranscript(agent: TranscriptAgent, ctx: CommandContext): Promise<AgentTranscript> {
  const transcripts = (await requireTranscripts(agent, ctx)).slice(0, maxChoices);
  const nameOf = ({ id, path }: AgentTranscript) => (agent === "opencode" ? id : path);
  const choices = transcripts.map((transcript) => ({ name: nameOf(transcript), cells: rowOf(transcript) }));
  const name = await choose(ctx, { title: `Sessions of ${agent} in this project:`, choices });
  return transcripts.find((transcript) => nameOf(transcript) === name)!;
}

async function requireTranscripts(agent: TranscriptAgent, ctx: CommandContext): Promise<AgentTranscript[]> {
  const api = await ctx.api();
  const transcripts = await withIndexProgress(ctx, (onProgress) =>
    api.transcript.list({ agents: [agent], project: ctx.project, limit: maxListed, onProgress }),
  );
  if (transcripts.length > 0) return transcripts;
  throw new Fault("file-unreadable", `${agent} has no session of ${ctx.project} on this machine`, {
    hint: "name the file of a session: skein import <file>",
  });
}

function rowOf({ updatedAt, task }: AgentTranscript): string[] {
  return [ago(Date.now() - updatedAt), oneLine(stripControls(task ?? ""), maxTitle)];
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
