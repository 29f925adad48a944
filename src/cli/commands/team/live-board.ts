// The board of a team while it works, redrawn in place at the end of what is printed. What is to stay (warnings,
// questions, the end) is printed above it.
import type { Api } from "../../../protocol/api/api.ts";
import { Fault } from "../../../protocol/api/error.ts";
import type { ResultRecord } from "../../../protocol/json/records.ts";
import type { TeamView } from "../../../protocol/team/views.ts";
import type { CommandContext, TextOutput } from "../../parse/command.ts";
import type { Printer } from "../../print/printer.ts";
import { showsUnicode, styleOf } from "../../terminal/style.ts";
import { boardLines } from "./board.ts";

export type LiveBoard = Printer & { close: () => Promise<void> };

const everyMs = 1_000;
const soonMs = 100;

/** `inner` prints what stays; it is told of everything but what the board shows. */
export function liveBoard(api: Api, session: string, ctx: CommandContext, inner: (ctx: CommandContext) => Printer): LiveBoard {
  const style = styleOf(ctx.err);
  const unicode = showsUnicode(ctx.env);
  const drawn = inPlace(ctx.err);
  const above = inner({ ...ctx, err: drawn.above(ctx.err), out: drawn.above(ctx.out) });
  let view: TeamView | null = null;
  let asking: Promise<void> | null = null;
  let soon: Timer | null = null;
  let result: ResultRecord | null = null;

  function draw(): void {
    if (view === null) return drawn.show([style.dim("the team begins ...")]);
    const { columns } = ctx.err;
    drawn.show(boardLines(view, { style, unicode, columns: columns - 1, rows: Math.max(3, (ctx.err.rows ?? 24) - 2), now: Date.now() }));
  }
  async function look(): Promise<void> {
    try {
      view = await api.team.show({ session });
    } catch (error) {
      // Before its first note there is no team to show.
      if (!(error instanceof Fault && error.code === "session-unknown")) throw error;
    }
    draw();
  }
  const refresh = (): Promise<void> => (asking ??= look().finally(() => (asking = null)));
  /** A board that can't be drawn any more must not end the work. */
  const tryRefresh = (): void => void refresh().catch(() => {});
  const timer = setInterval(tryRefresh, everyMs);
  draw();
  return {
    event(event) {
      if (event.type === "session.spawned") return;
      const isOnBoard = event.type === "node.added" && event.node.note?.about === "team";
      if (!isOnBoard) above.event(event);
      soon ??= setTimeout(() => {
        soon = null;
        tryRefresh();
      }, soonMs);
    },
    finish: (ended) => (result = ended),
    async close() {
      clearInterval(timer);
      clearTimeout(soon ?? undefined);
      await asking?.catch(() => {});
      await look().catch(() => {});
      drawn.leave();
      if (result !== null) above.finish(result);
    },
  };
}

/** Lines at the cursor that are replaced by the next ones, and others that go above them. */
function inPlace(screen: TextOutput) {
  let shown: string[] = [];
  /** As many rows as they take now: the terminal may have become narrower. */
  function clear(): string {
    const rows = shown.reduce((sum, line) => sum + Math.max(1, Math.ceil(Bun.stringWidth(line) / Math.max(1, screen.columns))), 0);
    return rows === 0 ? "" : `\r\x1b[${rows}A\x1b[J`;
  }
  return {
    show(lines: string[]): void {
      screen.write(`${clear()}${lines.map((line) => `${line}\n`).join("")}`);
      shown = lines;
    },
    /** They stay as they are. */
    leave: () => void (shown = []),
    above: (other: TextOutput): TextOutput => ({
      isTty: other.isTty,
      color: other.color,
      get columns() {
        return other.columns;
      },
      write(text) {
        screen.write(clear());
        other.write(text);
        screen.write(shown.map((line) => `${line}\n`).join(""));
      },
    }),
  };
}
