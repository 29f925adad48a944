// skein agents: who can take a turn here, with which credential, and what is missing.
import type { AgentCredential, AgentInfo } from "../../../protocol/api/agents.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { whileWaiting } from "../../terminal/progress.ts";
import { stripControls, showsUnicode, type Style, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export const agents: Command = {
  name: "agents",
  summary: "list the agents that can take a turn, and what is missing",
  usage: "[--json]",
  positionals: { min: 0, max: 0 },
  flags: [jsonFlag],
  notes: `CREDENTIAL is what a turn would use, by name and never by value: a key, else
the agent's own sign-in. CAN says what the agent does by itself: resume or fork a
session of its own, take an effort (-m model:high) and a role. \`skein doctor
--agents\` tries the agents out, offline; what it finds is shown here and used.`,
  run: runAgents,
};

async function runAgents(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const rows = await whileWaiting(ctx, "looking at the agents", () => api.agents.list());
  if (args.flags["json"]) {
    ctx.out.write(jsonText(rows));
    return 0;
  }
  const style = styleOf(ctx.out);
  const marks = showsUnicode(ctx.env) ? { ready: "✓", not: "✗", absent: "○" } : { ready: "+", not: "x", absent: "-" };
  const mark = (row: AgentInfo) =>
    row.missing === null ? style.green(marks.ready) : row.installed ? style.yellow(marks.not) : style.dim(marks.absent);
  ctx.out.write(
    tableText(
      rows.map((row) => [mark(row), ...cells(row, style)]),
      { columns, paintTitle: style.dim },
    ),
  );
  const below = rows.flatMap((row) => (row.missing === null ? noteTexts(row, style) : [missingText(row, style)]));
  if (below.length > 0) ctx.out.write(`\n${below.join("")}`);
  return 0;
}

const columns = [{}, { title: "AGENT" }, { title: "VERSION" }, { title: "CREDENTIAL" }, { title: "CAN" }, { title: "TRIED" }];

function cells(row: AgentInfo, style: Style): string[] {
  const paint = row.installed ? (text: string) => text : style.dim;
  const version = row.installed ? (row.version ?? "unknown") : "-";
  return [row.name, version, keyText(row.credentials), abilityText(row), triedText(row)].map((text) => paint(stripControls(text)));
}

function keyText(credentials: AgentCredential[]): string {
  const usable = credentials.filter(({ kind }) => kind !== "none");
  const sources = [...new Set(usable.flatMap(({ source }) => source ?? []))];
  if (sources.length > 2) return `${sources.slice(0, 2).join(", ")} and ${sources.length - 2} more`;
  return sources.length > 0 ? sources.join(", ") : usable.length > 0 ? "none needed" : "not set";
}

function abilityText({ can, installed }: AgentInfo): string {
  if (!installed) return "-";
  const words = [can.resume ? "resume" : "", can.fork ? "fork" : "", can.efforts.length > 0 ? "effort" : "", "role"];
  return words.filter((word) => word !== "").join(", ");
}

function triedText({ tried }: AgentInfo): string {
  if (tried === null) return "-";
  return `${tried.works ? "works" : "broken"}, ${new Date(tried.at).toISOString().slice(0, 10)}`;
}

/** What is to be known of a credential that is there. */
function noteTexts({ name, installed, credentials }: AgentInfo, style: Style): string[] {
  const notes = new Set(credentials.flatMap(({ kind, note }) => (kind === "sign-in" && note !== null && installed ? [note] : [])));
  return [...notes].map((note) => `${stripControls(name)}: ${style.dim(stripControls(`its own sign-in; ${note}`))}\n`);
}

function missingText({ name, missing, hint }: AgentInfo, style: Style): string {
  return `${stripControls(name)}: ${stripControls(missing ?? "")}${hint === null ? "" : `; ${style.dim(stripControls(hint))}`}\n`;
}
