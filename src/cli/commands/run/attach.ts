// skein attach: what happened in a session, what happens, and a line to the agent while it works. Leaving it does not
// stop the turn.
import type { Api } from "../../../protocol/api/api.ts";
import { exitCodes, Fault, type TurnStatus } from "../../../protocol/api/error.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { eventRecord } from "../../../protocol/json/records.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { readHistory } from "../../attach/history.ts";
import { TypedLines } from "../../attach/typed-lines.ts";
import { handleTypedLine, attachCommands } from "../../attach/typed-commands.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { printRecord } from "../../print/printer.ts";
import { sessionPrinter } from "../../print/session.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";
import { printFault } from "../../print/print-fault.ts";

export const attach: Command = {
  name: "attach",
  summary: "watch a session live, talk to its agent, answer it, stop it",
  usage: "<session> [--tui] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "tui", summary: "in the full screen, as `skein tui <session>`" },
    { name: "json", summary: "only watch: one event to a line, all that are stored first" },
  ],
  notes: `First what happened (the last 100 parts), then what happens, whichever process
runs it. A line you type is given to the agent at its next step; while it asks
something, the line is the answer, and a number chooses an option.

${attachCommands.map(({ name, summary }) => `  /${name.padEnd(10)}${summary}`).join("\n")}

Ctrl-C leaves and the turn runs on: exit code 0. When the turn ends, the exit code
is the turn's. Without a terminal attach only watches. Any number can be attached.`,
  run: runAttach,
};

const historyParts = 100;

async function runAttach(args: Args, ctx: CommandContext): Promise<number> {
  const isJson = args.flags["json"] === true;
  if (args.flags["tui"] === true) {
    if (isJson) throw new Fault("usage", "--tui and --json exclude each other");
    return (await import("../tui/tui.ts")).showInTui(ctx, args.positionals[0]);
  }
  const api = await ctx.api();
  const session = await findSession(api, ctx, args.positionals[0]);
  const history = await readHistory(api, session.id, isJson ? null : historyParts);
  const left = Promise.withResolvers<"SIGINT" | "SIGTERM">();
  ctx.onStop(left.resolve);
  const seen = newSeen();
  const isTyped = !isJson && ctx.stdin.isTty && ctx.out.isTty && ctx.env["TERM"] !== "dumb";
  const typed = isTyped ? await typedTo(api, session, ctx, seen, () => left.resolve("SIGINT")) : null;
  const screen = typed?.screen ?? ctx.out;
  const show = isJson
    ? (event: Event) => printRecord(ctx, eventRecord(event))
    : sessionPrinter(screen, { stream: screen.isTty, answers: isTyped ? "typed" : "elsewhere" });
  const take = (event: Event): void => {
    applyEvent(seen, event);
    show(event);
  };
  try {
    if (history.omitted > 0) screen.write(`${styleOf(screen).dim(`${history.omitted} earlier events: skein logs --limit shows them`)}\n`);
    for (const event of history.events) take(event);
    seen.status = null;
    const how = await followed(api.turn.watch({ session: session.id, afterSeq: history.seq, until: "idle" }), take, left.promise);
    typed?.close();
    return how === "ended" ? ending(seen, session, ctx) : leaving(how, session, ctx);
  } finally {
    typed?.close();
  }
}

/** What a watcher has to know besides what it shows. */
export type WatchState = { asks: string[]; openTurn: string | null; status: TurnStatus | null };

function newSeen(): WatchState {
  return { asks: [], openTurn: null, status: null };
}

function applyEvent(seen: WatchState, event: Event): void {
  if (event.type === "ask.opened") seen.asks.push(event.ask.id);
  if (event.type === "ask.closed") seen.asks = seen.asks.filter((id) => id !== event.ask.id);
  if (event.type === "turn.started") seen.openTurn = event.turnId;
  if (event.type !== "turn.ended") return;
  seen.openTurn = null;
  seen.status = event.turn.status;
}

function typedTo(api: Api, session: Session, ctx: CommandContext, seen: WatchState, leave: () => void): Promise<TypedLines> {
  const opened: Promise<TypedLines> = TypedLines.open(ctx, {
    label: styleOf(ctx.out).bold("> "),
    onLeave: leave,
    onLine: (text) => {
      const write = (shown: string): void => void opened.then((typed) => typed.screen.write(shown));
      handleTypedLine({ api, session: session.id, ask: seen.asks[0] ?? null, leave }, text).then(
        (told) => told !== null && write(`${styleOf(ctx.out).dim(`  ${told}`)}\n`),
        (error: unknown) => printFault(error, { env: ctx.env, write }),
      );
    },
  });
  return opened;
}

async function followed(
  events: AsyncIterable<Event>,
  take: (event: Event) => void,
  left: Promise<"SIGINT" | "SIGTERM">,
): Promise<"ended" | "SIGINT" | "SIGTERM"> {
  const feed = events[Symbol.asyncIterator]();
  for (;;) {
    const next = await Promise.race([feed.next(), left]);
    if (typeof next === "string") return next;
    if (next.done === true) return "ended";
    take(next.value);
  }
}

function leaving(how: "SIGINT" | "SIGTERM", session: Session, ctx: CommandContext): number {
  const name = nameOf(session);
  ctx.err.write(`left ${name}; it runs on\n  skein attach ${name}   joins it again\n  skein kill ${name}     stops it\n`);
  return how === "SIGINT" ? 0 : 143;
}

function ending({ openTurn, status }: WatchState, session: Session, ctx: CommandContext): number {
  const name = nameOf(session);
  if (openTurn !== null) {
    ctx.err.write(`the process that ran ${name} is gone; skein run --resume ${name} goes on\n`);
    return exitCodes.killed;
  }
  if (status !== null) return exitCodes[status];
  ctx.err.write(`nothing runs in ${name}; skein run --resume ${name} "message" goes on\n`);
  return 0;
}

function nameOf(session: Session): string {
  return stripControls(session.name ?? shortId(session.id));
}
