// skein import: a transcript of ours or of another agent becomes a session of this project.
import { resolve } from "node:path";
import { importFormats, type ImportFormat, type ImportReport } from "../../../protocol/tree/import.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { importRecord } from "../../../protocol/json/records.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const importCommand: Command = {
  name: "import",
  summary: "bring in a transcript: skein's own, or one of claude, codex, gemini or pi",
  usage: "<file> [--format name] [--name name] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "format", value: "name", choices: ["auto", ...importFormats], summary: "whose transcript it is (default: seen from the file)" },
    { name: "name", value: "name", summary: "what the session is called" },
    jsonFlag,
  ],
  notes: `"-" reads from stdin. Importing a file again adds only what is new in it. Where they are kept:
  claude   ~/.claude/projects/<directory>/<id>.jsonl
  codex    ~/.codex/sessions/<year>/<month>/<day>/rollout-*.jsonl
  gemini   ~/.gemini/tmp/<project>/chats/session-*.jsonl
  pi       ~/.pi/agent/sessions/<directory>/*.jsonl

The session then goes on with the native agent: skein run --session <name> "go on".`,
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
    ctx.out.write(jsonText(importRecord(report)));
    return 0;
  }
  ctx.out.write(told(report, styleOf(ctx.out)));
  if (report.unreadable > 0)
    ctx.err.write(`${counted(report.unreadable, "line")} could not be read and ${report.unreadable === 1 ? "was" : "were"} left out\n`);
  if (report.torn) ctx.err.write("the last line was cut off and left out\n");
  return 0;
}

function told(report: ImportReport, style: ReturnType<typeof styleOf>): string {
  const { session, nodes } = report;
  const label = style.bold(stripControls(session.name ?? shortId(session.id)));
  const archived = session.archivedAt === null ? "" : `; it is archived: skein restore ${shortId(session.id)}`;
  if (nodes.added === 0) return `${label}: nothing new, all ${counted(nodes.known, "node")} were here already${archived}\n`;
  const before = nodes.known > 0 ? ` (${nodes.known} were here already)` : "";
  const branches = report.branches > 1 ? `, ${report.branches} branches` : "";
  const shape = `${counted(nodes.added, "node")} in ${counted(report.turns, "turn")}${branches}${before}`;
  return `${label}: ${shape}, from ${report.format}\n${style.dim(`go on: skein run --session ${stripControls(session.name ?? shortId(session.id))} "..."`)}\n`;
}

function counted(count: number, what: string): string {
  return `${count.toLocaleString("en-US")} ${what}${count === 1 ? "" : "s"}`;
}
