// skein attach: shows a session's events live and sends typed lines to its agent. Leaving does not stop the turn.
import { exitCodes, Fault, type TurnStatus } from "../../../protocol/api/error.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { readHistory } from "../../attach/history.ts";
import { attachCommands, handleTypedLine, type AttachedSession } from "../../attach/typed-commands.ts";
import { TypedLines } from "../../attach/typed-lines.ts";
import { startLiveOutput } from "../../live/live-output.ts";
import { isInteractive, type Command, type CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { printFault } from "../../print/print-fault.ts";
import { recordPrinter } from "../../print/printer.ts";
import { printableLabel } from "../../print/session-label.ts";
import { sessionPrinter } from "../../print/session.ts";
import { styleOf } from "../../terminal/style.ts";

export const attach: Command = {
  name: "attach",
  summary: "watch a session live, send its agent messages and answers, stop it",
  usage: "<session> [--tui] [--json]",
  listing: "`skein ps` lists what runs, `skein list` all sessions",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "tui", summary: "use the full screen, like `skein tui <session>`" },
    { name: "json", summary: "only watch: one event per line, stored ones first" },
  ],
  notes: `attach prints the last 100 parts of the session, then its new events, whichever process
runs it. The agent gets a line you type at its next step. While it asks
a question, the line is the answer, and a number chooses an option.

${attachCommands.map(({ name, summary }) => `  /${name.padEnd(10)}${summary}`).join("\n")}

Ctrl-C leaves, the turn continues, and the exit code is 0. When the turn ends, the exit code
is the turn's. Without a terminal attach only watches. Any number of terminals can be attached.`,
  async run(args, ctx) {
    const isJson = args.flags["json"] === true;
    if (args.flags["tui"] === true) {
      if (isJson) throw new Fault("usage", "--tui and --json exclude each other");
      return (await import("../tui/tui.ts")).showInTui(ctx, args.positionals[0]);
    }
    const api = await ctx.api();
    const session = await findSession(api, ctx, args.positionals[0]);
    const history = await readHistory(api, session.id, isJson ? null : historyParts);
    const leaving = Promise.withResolvers<"SIGINT" | "SIGTERM">();
    ctx.onStop(leaving.resolve);
    const state: WatchState = { asks: [], openTurn: null, status: null };
    const attached = { api, session: session.id, ask: () => state.asks[0] ?? null, leave: () => leaving.resolve("SIGINT") };
    const typedLines = !isJson && isInteractive(ctx) ? await openTypedLines(attached, ctx) : null;
    const out = typedLines?.output ?? ctx.out;
    const print = isJson ? recordPrinter(ctx) : sessionPrinter(out, { answers: typedLines === null ? "elsewhere" : "typed" });
    const live = startLiveOutput(ctx, isJson ? null : api.turn.watch);
    const handleEvent = (event: Event): void => {
      applyEvent(state, event);
      live.event(event);
      print(event);
    };
    try {
      if (history.omitted > 0) out.write(`${styleOf(out).dim(`${history.omitted} earlier events: skein logs --limit shows them`)}\n`);
      for (const event of history.events) handleEvent(event);
      state.status = null;
      const feed = api.turn.watch({ session: session.id, afterSeq: history.seq, until: "idle" })[Symbol.asyncIterator]();
      for (;;) {
        const next = await Promise.race([feed.next(), leaving.promise]);
        if (typeof next === "string" || next.done === true) {
          typedLines?.close();
          live.close();
          return typeof next === "string" ? reportLeft(next, session, ctx) : reportEnd(state, session, ctx);
        }
        handleEvent(next.value);
      }
    } finally {
      typedLines?.close();
      live.close();
    }
  },
};

const historyParts = 100;

/** State of the session that follows from its events. */
type WatchState = { asks: string[]; openTurn: string | null; status: TurnStatus | null };

function applyEvent(state: WatchState, event: Event): void {
  if (event.type === "ask.opened") state.asks.push(event.ask.id);
  if (event.type === "ask.closed") state.asks = state.asks.filter((id) => id !== event.ask.id);
  if (event.type === "turn.started") state.openTurn = event.turnId;
  if (event.type !== "turn.ended") return;
  state.openTurn = null;
  state.status = event.turn.status;
}

function openTypedLines(attached: AttachedSession, ctx: CommandContext): Promise<TypedLines> {
  const opened: Promise<TypedLines> = TypedLines.open(ctx, {
    label: styleOf(ctx.out).bold("> "),
    onLeave: attached.leave,
    onLine: (text) => {
      const write = (line: string): void => void opened.then((typed) => typed.output.write(line));
      handleTypedLine(attached, text).then(
        (reply) => reply !== null && write(`${styleOf(ctx.out).dim(`  ${reply}`)}\n`),
        (error: unknown) => printFault(error, { env: ctx.env, write }),
      );
    },
  });
  return opened;
}

function reportLeft(signal: "SIGINT" | "SIGTERM", session: Session, ctx: CommandContext): number {
  const name = printableLabel(session);
  ctx.err.write(`left ${name}; its turn continues\n  skein attach ${name}   joins it again\n  skein kill ${name}     stops it\n`);
  return signal === "SIGINT" ? 0 : 143;
}

function reportEnd({ openTurn, status }: WatchState, session: Session, ctx: CommandContext): number {
  const name = printableLabel(session);
  if (openTurn !== null) {
    ctx.err.write(`the process that ran ${name} has ended; continue with: skein run --resume ${name}\n`);
    return exitCodes.killed;
  }
  if (status !== null) return exitCodes[status];
  ctx.err.write(`nothing is running in ${name}; continue it with: skein run --session ${name} "message"\n`);
  return 0;
}
