// Draws the board of a running team below other output, and redraws it in place.
// Warnings and questions are printed above the board. The result is printed after the board is closed.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { ResultRecord } from "../../../protocol/json/records.ts";
import type { TeamView } from "../../../protocol/team/views.ts";
import type { CommandContext, TextOutput } from "../../parse/command.ts";
import type { Printer } from "../../print/printer.ts";
import { showsUnicode, styleOf } from "../../terminal/style.ts";
import { boardLines } from "./board.ts";

export type LiveBoard = Printer & { close: () => Promise<void> };

const refreshMs = 1_000;
const debounceMs = 100;

/** `createPrinter` is called once, with outputs that write above the board. Its printer gets every event that the board does not show. */
export function liveBoard(api: Api, session: string, ctx: CommandContext, createPrinter: (ctx: CommandContext) => Printer): LiveBoard {
  const style = styleOf(ctx.err);
  const unicode = showsUnicode(ctx.env);
  const area = createDrawingArea(ctx.err);
  const printer = createPrinter({ ...ctx, err: area.above(ctx.err), out: area.above(ctx.out) });
  let view: TeamView | null = null;
  let refreshing: Promise<void> | null = null;
  let debounce: Timer | null = null;
  let result: ResultRecord | null = null;

  function draw(): void {
    if (view === null) return area.draw([style.dim("starting the team ...")]);
    const { columns } = ctx.err;
    area.draw(boardLines(view, { style, unicode, columns: columns - 1, rows: Math.max(3, (ctx.err.rows ?? 24) - 2), now: Date.now() }));
  }
  async function readView(): Promise<void> {
    try {
      view = await api.team.show({ session });
    } catch (error) {
      // The team does not exist before its first note is stored.
      if (!(error instanceof Fault && error.code === "session-unknown")) throw error;
    }
    draw();
  }
  const refresh = (): Promise<void> => (refreshing ??= readView().finally(() => (refreshing = null)));
  /** A board that can't be drawn must not stop the team. */
  const tryRefresh = (): void => void refresh().catch(() => {});
  const timer = setInterval(tryRefresh, refreshMs);
  draw();
  return {
    event(event) {
      if (event.type === "session.spawned") return;
      const isOnBoard = event.type === "node.added" && event.node.note?.about === "team";
      if (!isOnBoard) printer.event(event);
      debounce ??= setTimeout(() => {
        debounce = null;
        tryRefresh();
      }, debounceMs);
    },
    finish: (record) => (result = record),
    async close() {
      clearInterval(timer);
      clearTimeout(debounce ?? undefined);
      await refreshing?.catch(() => {});
      await readView().catch(() => {});
      area.release();
      if (result !== null) printer.finish(result);
    },
  };
}

/** Lines at the cursor. `draw` replaces them, and `above` writes other output above them. */
function createDrawingArea(out: TextOutput) {
  let drawn: string[] = [];
  /** Counts the rows again, because the terminal may have become narrower. */
  function clear(): string {
    const rows = drawn.reduce((sum, line) => sum + Math.max(1, Math.ceil(Bun.stringWidth(line) / Math.max(1, out.columns))), 0);
    return rows === 0 ? "" : `\r\x1b[${rows}A\x1b[J`;
  }
  return {
    draw(lines: string[]): void {
      out.write(`${clear()}${lines.map((line) => `${line}\n`).join("")}`);
      drawn = lines;
    },
    /** Leaves the lines on the screen; later output comes below them. */
    release: () => void (drawn = []),
    above: (output: TextOutput): TextOutput => ({
      isTty: output.isTty,
      color: output.color,
      get columns() {
        return output.columns;
      },
      write(text) {
        out.write(clear());
        output.write(text);
        out.write(drawn.map((line) => `${line}\n`).join(""));
      },
    }),
  };
}
