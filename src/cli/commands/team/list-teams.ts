// skein team list: lists the teams of a project, the latest first.
import { printableLabel } from "../../print/session-label.ts";
import { formatDuration } from "../../../kit/text/duration.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { teamInfoRecord } from "../../../protocol/json/team-records.ts";
import type { TeamInfo } from "../../../protocol/team/views.ts";
import { countFlag } from "../../parse/args.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";
import { spentText } from "./board.ts";

const defaultLimit = 20;

export async function listTeams(args: Args, ctx: CommandContext): Promise<number> {
  const limit = countFlag(args, "limit", defaultLimit);
  const api = await ctx.api();
  const teams = await api.team.list({ project: args.flags["all"] ? null : ctx.project, limit });
  if (args.flags["names"]) for (const { session } of teams) ctx.out.write(`${printableLabel(session)}\n`);
  else if (args.flags["json"]) ctx.out.write(jsonText(teams.map(teamInfoRecord)));
  else if (teams.length === 0) ctx.out.write('this project has no teams yet (skein team run "objective")\n');
  else {
    const style = styleOf(ctx.out);
    const rows = teams.map((team) => cells(team, style));
    ctx.out.write(tableText(rows, { columns, width: ctx.out.columns, paintTitle: style.dim }));
  }
  return 0;
}

const columns = [
  { title: "TEAM" },
  { title: "STATE" },
  { title: "DONE" },
  { title: "USED" },
  { title: "AGO", align: "right" as const },
  { title: "WORK" },
  { title: "OBJECTIVE" },
];

const mergeTexts: Record<TeamInfo["merge"], string> = { nothing: "-", open: "not merged", done: "merged" };

function cells({ session, state, members, spent, startedAt, merge, isKept, objective }: TeamInfo, style: Style): string[] {
  return [
    printableLabel(session),
    paintState(state, style),
    `${members.completed}/${members.total}`,
    spentText(spent),
    formatDuration(Math.max(0, Date.now() - startedAt)),
    isKept || merge === "done" ? mergeTexts[merge] : "cleaned",
    oneLine(stripControls(objective), 400),
  ];
}

export function paintState(state: TeamInfo["state"], style: Style): string {
  if (state === "failed" || state === "interrupted") return style.red(state);
  return state === "paused" ? style.yellow(state) : state === "completed" ? style.dim(state) : style.green(state);
}
