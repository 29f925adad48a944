// skein fleet status: the workers, and the runs that wait, run or are dead.
import type { FleetRun, FleetStatus, FleetWorker } from "../../../protocol/fleet/fleet-commands.ts";
import { formatElapsed } from "../../../kit/text/duration.ts";
import { oneLine } from "../../../kit/text/cut-text.ts";
import { toPrintedJson } from "../../../protocol/json/json-case.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Args, CommandContext } from "../../parse/command.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { itemTable, type ItemColumn } from "../../terminal/table.ts";
import type { Report } from "../report-command.ts";

export async function reportStatus(args: Args, ctx: CommandContext): Promise<Report> {
  const status = await (await ctx.fleet()).status({ all: args.flags["all"] === true });
  return { json: toPrintedJson(status), text: (style) => statusText(status, style, ctx) };
}

function statusText({ database, workers, runs, caps }: FleetStatus, style: Style, { out }: CommandContext): string {
  const options = { width: out.columns, paintTitle: style.dim };
  const workerTable = workers.length === 0 ? "no worker runs: skein worker start\n" : itemTable(workers, workerColumns, options);
  const runTable = runs.length === 0 ? "no run waits or runs (--all lists ended ones)\n" : itemTable(runs, runColumns(style), options);
  const capText = caps
    .map(({ owner, most }) => `at most ${most} at once: ${owner === "*" ? "everyone else" : stripControls(owner)}\n`)
    .join("");
  return `${stripControls(database)}\n\n${workerTable}\n${runTable}${capText}`;
}

const workerColumns: readonly ItemColumn<FleetWorker>[] = [
  { title: "WORKER", cell: ({ id }) => shortId(id) },
  { title: "MACHINE", cell: ({ machine }) => oneLine(stripControls(machine), 30) },
  { title: "RUNS", align: "right", cell: ({ running, slots }) => `${running}/${slots}` },
  { title: "LABELS", cell: ({ labels }) => stripControls(labels.join(",")) },
  {
    title: "STATE",
    cell: ({ isDraining, seenMsAgo }) => (isDraining ? "drains" : seenMsAgo > 6_000 ? `silent for ${formatElapsed(seenMsAgo)}` : "ready"),
  },
  { title: "AGE", align: "right", cell: ({ startedAt }) => formatElapsed(Date.now() - startedAt) },
  { title: "VERSION", cell: ({ version }) => stripControls(version) },
];

function runColumns(style: Style): readonly ItemColumn<FleetRun>[] {
  const paints = { waiting: style.cyan, running: style.green, done: style.dim, dead: style.red };
  return [
    { title: "RUN", cell: ({ id }) => shortId(id) },
    { title: "SESSION", cell: ({ session }) => shortId(session) },
    { title: "STATE", cell: ({ state }) => paints[state](state) },
    { title: "MACHINE", cell: ({ machine, needs }) => stripControls(machine ?? (needs === null ? "-" : `needs ${needs}`)) },
    { title: "TRY", align: "right", cell: ({ attempts }) => String(attempts) },
    { title: "AGE", align: "right", cell: ({ submittedAt }) => formatElapsed(Date.now() - submittedAt) },
    { title: "OWNER", cell: ({ owner }) => oneLine(stripControls(owner), 16) },
    { title: "TASK", cell: ({ title, why }) => oneLine(stripControls(why === null ? title : `${title} (${why})`), 120) },
  ];
}
