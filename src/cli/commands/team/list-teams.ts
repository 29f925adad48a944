// skein team list: the teams of a project, the latest first.
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
import { sessionLabel } from "./find-team.ts";

const usualCount = 20;

export async function listTeams(args: Args, ctx: CommandContext): Promise<number> {
  const limit = countFlag(args, "limit", usualCount);
  const api = await ctx.api();
  const rows = await api.team.list({ project: args.flags["all"] ? null : ctx.project, limit });
  if (args.flags["names"]) for (const { session } of rows) ctx.out.write(`${sessionLabel(session)}\n`);
  else if (args.flags["json"]) ctx.out.write(jsonText(rows.map(teamInfoRecord)));
  else if (rows.length === 0) ctx.out.write('no team has worked here yet (skein team run "objective")\n');
  else {
    const style = styleOf(ctx.out);
    const table = { columns, width: ctx.out.columns, paintTitle: style.dim };
    ctx.out.write(
      tableText(
        rows.map((row) => cells(row, style)),
        table,
      ),
    );
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

const works: Record<TeamInfo["merge"], string> = { nothing: "-", open: "not merged", done: "merged" };

function cells(row: TeamInfo, style: Style): string[] {
  const { session, state, members, spent, startedAt, merge, isKept, objective } = row;
  return [
    sessionLabel(session),
    paintState(state, style),
    `${members.completed}/${members.total}`,
    spentText(spent),
    formatDuration(Math.max(0, Date.now() - startedAt)),
    isKept || merge === "done" ? works[merge] : "cleaned",
    oneLine(stripControls(objective), 400),
  ];
}

export function paintState(state: TeamInfo["state"], style: Style): string {
  if (state === "failed" || state === "interrupted") return style.red(state);
  return state === "paused" ? style.yellow(state) : state === "completed" ? style.dim(state) : style.green(state);
}
