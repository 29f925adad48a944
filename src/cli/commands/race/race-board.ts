// The live table of a race.
import type { Api } from "../../../protocol/api/api.ts";
import { liveBoard, type LiveBoard } from "../../live/live-board.ts";
import type { CommandContext } from "../../parse/command.ts";
import type { Printer } from "../../print/printer.ts";
import { styleOf } from "../../terminal/style.ts";
import { cutToWidth } from "../../terminal/table.ts";
import { raceLines } from "./race-table.ts";

/** `createPrinter` is called once, with outputs that write above the table. */
export function raceBoard(api: Api, session: string, ctx: CommandContext, createPrinter: (ctx: CommandContext) => Printer): LiveBoard {
  const style = styleOf(ctx.err);
  const readLines = async (): Promise<string[]> => {
    const view = await api.race.show({ session });
    // The table that stays on the screen is printed after the end.
    if (view.state === "ended" || view.state === "interrupted") return [];
    const width = ctx.err.columns - 1;
    return raceLines(view, { style, width, now: Date.now() }).map((line) => cutToWidth(line, width));
  };
  const board = {
    startLine: style.dim("starting the race ..."),
    readLines,
    isOnBoard: (event: Parameters<Printer["event"]>[0]) => event.type === "node.added" && event.node.note?.about === "race",
  };
  return liveBoard(ctx, board, createPrinter);
}
