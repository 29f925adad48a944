// skein race show and race list: print a race as a table, and the races of a project.
import { formatDuration } from "../../../kit/text/duration.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import type { ResultRecord } from "../../../protocol/json/records.ts";
import { nextSteps } from "../../../protocol/race/table.ts";
import type { RaceInfo, RaceView } from "../../../protocol/race/views.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { costText } from "../../../protocol/tree/usage-text.ts";
import { countFlag } from "../../parse/args.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { errorLines } from "../../print/event-lines.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { findRace } from "./find-race.ts";
import { raceLines } from "./race-table.ts";

const defaultLimit = 20;

export async function showRace(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const session = await findRace(api, ctx, args.positionals[1]);
  const view = await api.race.show({ session: session.id });
  if (args.flags["json"]) ctx.out.write(jsonText(view));
  else printRace(view, ctx);
  return 0;
}

export function printRace(view: RaceView, ctx: CommandContext): void {
  const width = ctx.out.isTty ? ctx.out.columns : Number.MAX_SAFE_INTEGER;
  ctx.out.write(`${raceLines(view, { style: styleOf(ctx.out), width, now: Date.now() }).join("\n")}\n`);
  for (const line of nextSteps(view)) ctx.err.write(styleOf(ctx.err).dim(`${stripControls(line)}\n`));
}

/** The table at the end of a race, after the reason if no agent succeeded. */
export function printOutcome(view: RaceView, result: ResultRecord, ctx: CommandContext): void {
  for (const line of errorLines(result, styleOf(ctx.err))) ctx.err.write(`${line}\n`);
  printRace(view, ctx);
}

export async function listRaces(args: Args, ctx: CommandContext): Promise<number> {
  const limit = countFlag(args, "limit", defaultLimit);
  const api = await ctx.api();
  const races = await api.race.list({ project: args.flags["all"] ? null : ctx.project, limit });
  if (args.flags["json"]) ctx.out.write(jsonText(races));
  else if (races.length === 0) ctx.out.write('this project has no races yet (skein race "task" -a claude,codex)\n');
  else {
    const { dim } = styleOf(ctx.out);
    ctx.out.write(tableText(races.map(cells), { columns, width: ctx.out.columns, paintTitle: dim }));
  }
  return 0;
}

const columns = [
  { title: "RACE" },
  { title: "STATE" },
  { title: "AGENTS" },
  { title: "PASSED", align: "right" as const },
  { title: "COST", align: "right" as const },
  { title: "AGO", align: "right" as const },
  { title: "ADOPTED" },
  { title: "TASK" },
];

function cells(race: RaceInfo): string[] {
  return [
    stripControls(race.name ?? shortId(race.sessionId)),
    race.state,
    stripControls(race.agents.join(",")),
    `${race.passed}/${race.agents.length}`,
    costText(race, { isTight: true }),
    formatDuration(Math.max(0, Date.now() - race.startedAt)),
    stripControls(race.adopted ?? "-"),
    oneLine(stripControls(race.task), 400),
  ];
}
