// skein team list: the teams of a project, the latest first.
import { formatDuration } from "../../kit/duration.ts";
import { oneLine } from "../../kit/text.ts";
import { teamRowRecord } from "../../protocol/team-status.ts";
import type { TeamRow } from "../../protocol/team-views.ts";
import { countFlag } from "../args.ts";
import type { Args, Door } from "../command.ts";
import { jsonText } from "../json.ts";
import { plain, styleOf, type Style } from "../style.ts";
import { tableText } from "../table.ts";
import { figures } from "./board.ts";
import { labelOf } from "./team-named.ts";

const usualCount = 20;

export async function listTeams(args: Args, door: Door): Promise<number> {
  const limit = countFlag(args, "limit", usualCount);
  const api = await door.api();
  const rows = await api.team.list({ project: args.flags["all"] ? null : door.project, limit });
  if (args.flags["names"]) for (const { session } of rows) door.out.write(`${labelOf(session)}\n`);
  else if (args.flags["json"]) door.out.write(jsonText(rows.map(teamRowRecord)));
  else if (rows.length === 0) door.out.write('no team has worked here yet (skein team run "objective")\n');
  else {
    const style = styleOf(door.out);
    const table = { columns, width: door.out.columns, paintTitle: style.dim };
    door.out.write(
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

const works: Record<TeamRow["merge"], string> = { nothing: "-", open: "not merged", done: "merged" };

function cells(row: TeamRow, style: Style): string[] {
  const { session, state, members, spent, startedAt, merge, isKept, objective } = row;
  return [
    labelOf(session),
    paintState(state, style),
    `${members.completed}/${members.total}`,
    figures(spent),
    formatDuration(Math.max(0, Date.now() - startedAt)),
    isKept || merge === "done" ? works[merge] : "cleaned",
    oneLine(plain(objective), 400),
  ];
}

export function paintState(state: TeamRow["state"], style: Style): string {
  if (state === "failed" || state === "interrupted") return style.red(state);
  return state === "paused" ? style.yellow(state) : state === "completed" ? style.dim(state) : style.green(state);
}
