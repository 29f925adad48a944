// skein fleet schedule: runs that start at the times of a cron expression, on any worker.
import { Fault } from "../../../protocol/api/error.ts";
import type { FleetSchedule } from "../../../protocol/fleet/fleet-commands.ts";
import { toPrintedJson } from "../../../protocol/json/json-case.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { itemTable, type ItemColumn } from "../../terminal/table.ts";
import type { Report } from "../report-command.ts";
import { runForSchedule } from "../run/run.ts";

/** `schedule`, `schedule <name> <cron> <task>` and `schedule <name> --remove`. */
export async function schedule(args: Args, ctx: CommandContext): Promise<Report> {
  const [, name, cron, task, ...more] = args.positionals;
  if (name === undefined) return listSchedules(ctx);
  if (args.flags["remove"] === true) return remove(name, ctx);
  if (cron === undefined || task === undefined || more.length > 0)
    throw new Fault("usage", "a schedule has a name, a cron expression and a task", {
      hint: 'skein fleet schedule nightly "0 3 * * *" "update the dependencies"',
    });
  const tz = typeof args.flags["tz"] === "string" ? args.flags["tz"] : Intl.DateTimeFormat().resolvedOptions().timeZone;
  const run = await runForSchedule(args, ctx, task);
  const fleet = await ctx.fleet();
  await fleet.addSchedule({ name, cron, tz, run });
  const added = (await fleet.schedules()).find((entry) => entry.name === name)!;
  return { json: toPrintedJson(added), text: `${stripControls(name)} runs next at ${timeText(added)}, with the files as they are now\n` };
}

async function remove(name: string, ctx: CommandContext): Promise<Report> {
  if (await (await ctx.fleet()).removeSchedule(name)) return { json: { removed: name }, text: `removed ${stripControls(name)}\n` };
  throw new Fault("usage", `there is no schedule "${name}"`, { hint: "`skein fleet schedule` lists them" });
}

async function listSchedules(ctx: CommandContext): Promise<Report> {
  const schedules = await (await ctx.fleet()).schedules();
  const text = (style: Style) =>
    schedules.length === 0 ? "no schedule\n" : itemTable(schedules, columns, { width: ctx.out.columns, paintTitle: style.dim });
  return { json: schedules.map((entry) => toPrintedJson(entry)), text };
}

function timeText({ nextAt, tz }: FleetSchedule): string {
  return nextAt === null ? "no time" : new Date(nextAt).toLocaleString("sv-SE", { timeZone: tz, timeZoneName: "short" });
}

const columns: readonly ItemColumn<FleetSchedule>[] = [
  { title: "NAME", cell: ({ name }) => oneLine(stripControls(name), 30) },
  { title: "CRON", cell: ({ cron }) => stripControls(cron) },
  { title: "NEXT", cell: timeText },
  { title: "OWNER", cell: ({ owner }) => stripControls(owner) },
  { title: "PROJECT", cell: ({ project }) => oneLine(stripControls(project), 60) },
];
