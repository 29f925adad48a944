// skein blame: prints the lines of a file with the turn, agent and prompt that wrote each of them.
import { oneLine, pluralize } from "../../../kit/text/cut-text.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { Api } from "../../../protocol/api/api.ts";
import type { BlameReport, WrittenNotes } from "../../../protocol/schema/views/blame-views.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Args } from "../../parse/command.ts";
import { printableLabel } from "../../print/session-label.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { cutToWidth, tableText } from "../../terminal/table.ts";
import { reportCommand, type Report } from "../report-command.ts";

export const blame = reportCommand({
  name: "blame",
  summary: "show which turn, agent and prompt wrote each line of a file",
  usage: "<file>[:line[-line]] [--at node] [--notes] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "at", value: "node", summary: "the file as it was at this node, or at a session's tip (default: the file now)" },
    { name: "notes", summary: "write the writers of the committed file into git notes (refs/notes/ai), in git-ai's format" },
  ],
  notes: `Turns with tools record the files before and after each call, so no line is guessed.
Lines of a person or another program, and lines from before the first turn, are
"not by an agent". If several agents ran at the same time and their calls can't be
distinguished, all of them are named, with a question mark.

Moved lines, renamed files, restored versions and merged worktrees keep their
writers. A line that was changed belongs to the turn that changed it.

--notes writes each line of the file at HEAD that an agent wrote into the note of the
commit that added it. It changes nothing else in the repository, and pushes nothing.

  skein blame src/parse.ts
  skein blame src/parse.ts:40-60
  skein blame src/parse.ts --at fix-tests --json
  skein blame src/parse.ts --notes`,
  async report(args, ctx) {
    const target = parseTarget(args.positionals[0]!);
    const at = args.flags["at"];
    if (args.flags["notes"] === true) return writeNotes(await ctx.api(), { target, at, directory: ctx.cwd });
    const api = await ctx.api();
    const report = await api.files.blame({ ...target, directory: ctx.cwd, at: typeof at === "string" ? at : null });
    return { json: report, text: (style) => blameText(report, style, ctx.out.isTty ? ctx.out.columns : null) };
  },
});

type NotesRequest = { target: BlameTarget; at: Args["flags"][string]; directory: string };

async function writeNotes(api: Api, { target, at, directory }: NotesRequest): Promise<Report> {
  if (at !== undefined || target.from !== null)
    throw new Fault("usage", "--notes takes a whole file at HEAD, without lines and without --at");
  const written = await api.files.writeNotes({ path: target.path, directory });
  return { json: written, text: (style) => notesText(written, style) };
}

function notesText({ path, commits, otherLines }: WrittenNotes, style: Style): string {
  const name = stripControls(path);
  if (commits.length === 0) return `no committed line of ${name} is by an agent, so no note was written\n`;
  const rows = commits.map(({ commit, lines, turns, isChanged }) => [
    style.green(commit.slice(0, 12)),
    pluralize(lines, "line"),
    pluralize(turns.length, "turn"),
    isChanged ? "written" : style.dim("unchanged"),
  ]);
  const others = otherLines === 0 ? "" : style.dim(`${pluralize(otherLines, "line")} of ${name} not by an agent, or not certain\n`);
  return `${tableText(rows, { columns: rows[0]!.map(() => ({})) })}${others}`;
}

type BlameTarget = { path: string; from: number | null; to: number | null };

/** Splits `file:10` and `file:10-20`. */
export function parseTarget(argument: string): BlameTarget {
  const match = /^(.+):(\d+)(?:-(\d+))?$/s.exec(argument);
  if (match === null) return { path: argument, from: null, to: null };
  const [, path = "", first = "", last = first] = match;
  const [from, to] = [Number(first), Number(last)];
  if (from < 1 || to < from || !Number.isSafeInteger(to))
    throw new Fault("usage", `there are no lines ${argument.slice(path.length + 1)}`, { hint: "lines start at 1: file:10 or file:10-20" });
  return { path, from, to };
}

/** A null width cuts nothing. */
export function blameText({ lines, turns, path }: BlameReport, style: Style, width: number | null): string {
  if (lines.length === 0) return `${stripControls(path)} is empty\n`;
  const agents = new Map(turns.map(({ id, agent }) => [id, stripControls(agent)]));
  const digits = String(lines.at(-1)!.line).length;
  const writers = lines.map((line) => writerOf(line, agents));
  const columnWidth = Math.max(...writers.map((writer) => Bun.stringWidth(writer)));
  const rows = lines.map(({ line, text, turns: ids }, index) => {
    const writer = writers[index]!.padEnd(columnWidth);
    const row = `${ids.length === 0 ? style.dim(writer) : style.green(writer)}  ${style.dim(String(line).padStart(digits))}  ${stripControls(text)}`;
    return width === null ? row : cutToWidth(row, width);
  });
  return `${rows.join("\n")}\n${turnsText({ lines, turns }, style, width)}`;
}

function writerOf({ turns, unclear }: BlameReport["lines"][number], agents: ReadonlyMap<string, string>): string {
  if (turns.length === 0) return "not by an agent";
  return turns.map((id) => `${shortId(id)} ${agents.get(id) ?? ""}`.trimEnd()).join(" or ") + (unclear ? " ?" : "");
}

/** A row for each turn: its lines, agent, model, session, time and prompt. */
function turnsText({ lines, turns }: Pick<BlameReport, "lines" | "turns">, style: Style, width: number | null): string {
  if (turns.length === 0) return "";
  const counts = new Map<string, number>();
  for (const { turns: ids } of lines) for (const id of ids) counts.set(id, (counts.get(id) ?? 0) + 1);
  const rows = turns.map(({ id, agent, model, session, sessionName, prompt, startedAt }) => [
    style.green(shortId(id)),
    pluralize(counts.get(id) ?? 0, "line"),
    stripControls(model === null ? agent : `${agent} ${model}`),
    printableLabel({ id: session, name: sessionName }),
    new Date(startedAt).toISOString().slice(0, 16).replace("T", " "),
    stripControls(oneLine(prompt ?? "", 1_000)),
  ]);
  const columns = rows[0]!.map(() => ({}));
  return `\n${tableText(rows, { columns, ...(width === null ? {} : { width }) })}`;
}
