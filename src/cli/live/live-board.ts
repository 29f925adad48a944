// Draws a board of a running turn below other output, and redraws it in place.
// Warnings and questions are printed above the board. The result is printed after the board is closed.
import { Fault } from "../../protocol/api/error.ts";
import type { ResultRecord } from "../../protocol/json/records.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { CommandContext, TextOutput } from "../parse/command.ts";
import type { Printer } from "../print/printer.ts";

export type LiveBoard = Printer & { close: () => Promise<void> };

export type Board = {
  /** The line before the first read. */
  startLine: string;
  /** Reads the current lines. May throw `session-unknown` before the first note is stored. */
  readLines: () => Promise<string[]>;
  /** Whether the board shows the event, so that no line is printed for it. */
  isOnBoard: (event: Event) => boolean;
};

const refreshMs = 1_000;
const debounceMs = 100;

/** `createPrinter` is called once, with outputs that write above the board. Its printer gets every event that the board does not show. */
export function liveBoard(ctx: CommandContext, board: Board, createPrinter: (ctx: CommandContext) => Printer): LiveBoard {
  const area = createDrawingArea(ctx.err);
  const printer = createPrinter({ ...ctx, err: area.above(ctx.err), out: area.above(ctx.out) });
  let refreshing: Promise<void> | null = null;
  let debounce: Timer | null = null;
  let result: ResultRecord | null = null;

  async function draw(): Promise<void> {
    try {
      area.draw(await board.readLines());
    } catch (error) {
      if (!(error instanceof Fault && error.code === "session-unknown")) throw error;
    }
  }
  const refresh = (): Promise<void> => (refreshing ??= draw().finally(() => (refreshing = null)));
  /** A board that can't be drawn must not stop the turn. */
  const tryRefresh = (): void => void refresh().catch(() => {});
  const timer = setInterval(tryRefresh, refreshMs);
  area.draw([board.startLine]);
  return {
    event(event) {
      if (event.type === "session.spawned") return;
      if (!board.isOnBoard(event)) printer.event(event);
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
      await draw().catch(() => {});
      area.release();
      if (result !== null) printer.finish(result);
    },
  };
}

/** Whether a board can be drawn: stdout and stderr are a terminal that can move its cursor, and no screen reader reads it. */
export function canDrawBoard({ out, err, env }: CommandContext, settings: { screenReader: boolean }): boolean {
  return out.isTty && err.isTty && !/^(dumb|vt\d)?$/.test(env["TERM"] ?? "") && !settings.screenReader;
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
