// The live board of a team.
import type { Api } from "../../../protocol/api/api.ts";
import { liveBoard, type LiveBoard } from "../../live/live-board.ts";
import type { CommandContext } from "../../parse/command.ts";
import type { Printer } from "../../print/printer.ts";
import { showsUnicode, styleOf } from "../../terminal/style.ts";
import { boardLines } from "./board.ts";

/** `createPrinter` is called once, with outputs that write above the board. */
export function teamBoard(api: Api, session: string, ctx: CommandContext, createPrinter: (ctx: CommandContext) => Printer): LiveBoard {
  const style = styleOf(ctx.err);
  const unicode = showsUnicode(ctx.env);
  const readLines = async (): Promise<string[]> => {
    const view = await api.team.show({ session });
    const size = { columns: ctx.err.columns - 1, rows: Math.max(3, (ctx.err.rows ?? 24) - 2) };
    return boardLines(view, { style, unicode, ...size, now: Date.now() });
  };
  const board = {
    startLine: style.dim("starting the team ..."),
    readLines,
    isOnBoard: (event: Parameters<Printer["event"]>[0]) => event.type === "node.added" && event.node.note?.about === "team",
  };
  return liveBoard(ctx, board, createPrinter);
}
