// Renders a race as a table with colours: one line for each agent. Pure: depends only on the view, the width and the time.
import { oneLine } from "../../../kit/text/cut-text.ts";
import { hasPassed } from "../../../protocol/race/race.ts";
import { raceColumns, raceHead, racerCells, type RaceColumn } from "../../../protocol/race/table.ts";
import type { RacerView, RaceView } from "../../../protocol/race/views.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { tableText } from "../../terminal/table.ts";

export type RaceTableOptions = { style: Style; width: number; now: number };

export function raceLines(view: RaceView, options: RaceTableOptions): string[] {
  const { style, width, now } = options;
  const columns = raceColumns(view);
  const rows = view.racers.map((racer) => {
    const cells = racerCells(view, racer, now);
    return columns.map(({ name }) => paintOf(name, racer, style)(stripControls(cells[name])));
  });
  return [headLine(view, options), ...tableText(rows, { columns, width, paintTitle: style.dim }).trimEnd().split("\n")];
}

function headLine(view: RaceView, { style, now }: RaceTableOptions): string {
  const name = style.bold(`race ${stripControls(view.name ?? shortId(view.sessionId))}`);
  const [state = "", ...facts] = raceHead(view, now);
  const paint = view.state === "running" ? style.green : view.state === "interrupted" ? style.red : style.bold;
  return [`${name} ${paint(state)}`, ...facts, style.dim(oneLine(stripControls(view.task), 200))].join(" · ");
}

function paintOf(column: RaceColumn, racer: RacerView, style: Style): (text: string) => string {
  if (column === "state") {
    if (racer.state === "ended") return racer.status === "ok" ? style.green : style.red;
    return racer.state === "interrupted" ? style.red : racer.state === "waiting" ? style.dim : style.cyan;
  }
  if (column === "check") return hasPassed(racer) ? style.green : style.red;
  return column === "remark" ? style.bold : (text) => text;
}
