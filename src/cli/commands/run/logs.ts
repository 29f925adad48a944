// skein logs: prints a session's events, and with -f its new ones until nothing runs in it.
import { countFlag } from "../../parse/args.ts";
import { readHistory } from "../../attach/history.ts";
import { startLiveOutput } from "../../live/live-output.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { Fault } from "../../../protocol/api/error.ts";
import { findSession } from "../../parse/find-session.ts";
import { recordPrinter } from "../../print/printer.ts";
import { sessionPrinter } from "../../print/session.ts";
import type { Api } from "../../../protocol/api/api.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import { interruptedText } from "../../../protocol/tree/interrupted-nodes.ts";
import { printableText, styleOf } from "../../terminal/style.ts";

const eventTypes = [
  "turn.started",
  "node.added",
  "ask.opened",
  "ask.closed",
  "queue.changed",
  "turn.ended",
  "tool.started",
  "tool.output",
  "text.delta",
  "thinking.delta",
  "warning.raised",
] as const satisfies readonly Event["type"][];

export const logs: Command = {
  name: "logs",
  summary: "print what happened in a session, and follow it",
  usage: "[session] [-f] [--event-type types] [--limit n] [--json]",
  positionals: { min: 0, max: 1 },
  flags: [
    { name: "follow", short: "f", summary: "also print new events, until nothing runs in the session" },
    { name: "event-type", value: "types", summary: `only these events, with commas between: ${eventTypes.join(", ")}` },
    { name: "limit", value: "n", summary: "at most n stored parts (default 100)" },
    { name: "json", summary: "one event per line, as `run --output-format events` prints them" },
  ],
  notes: `Without a session it prints the project's current one. logs only watches;
\`skein attach\` can also send messages. -f ends when the session is idle. Ctrl-C
ends the watching, not the turn.`,
  async run(args, ctx) {
    const limit = countFlag(args, "limit", 100);
    const isWanted = eventFilter(args);
    const api = await ctx.api();
    const session = await findSession(api, ctx, args.positionals[0]);
    // With a filter the limit counts the events that pass it.
    const history = await readHistory(api, session.id, isWanted === null ? limit : null);
    const wanted = isWanted === null ? history.events : history.events.filter(isWanted).slice(-limit);
    const print = args.flags["json"] ? recordPrinter(ctx) : sessionPrinter(ctx.out, { answers: "elsewhere" });
    if (history.omitted > 0) ctx.err.write(`${styleOf(ctx.err).dim(`${history.omitted} earlier events: --limit shows more`)}\n`);
    for (const event of wanted) print(event);
    if (isWanted === null) await printInterrupted(api, session.id, { ctx, print: args.flags["json"] === true ? print : null });
    if (args.flags["follow"] !== true) return 0;
    const live = startLiveOutput(ctx, args.flags["json"] || isWanted !== null ? null : api.turn.watch);
    try {
      for (const event of history.events) live.event(event);
      for await (const event of api.turn.watch({ session: session.id, afterSeq: history.seq, until: "idle" })) {
        live.event(event);
        if (isWanted === null || isWanted(event)) print(event);
      }
    } finally {
      live.close();
    }
    return 0;
  },
};

/** Prints the text that a killed turn had streamed. Without `print`, as text. */
async function printInterrupted(
  api: Api,
  session: string,
  { ctx, print }: { ctx: CommandContext; print: ((event: Event) => void) | null },
): Promise<void> {
  const { open, seq } = await api.session.show({ session });
  if (open === null || open.state !== "interrupted") return;
  const head = { seq, n: 1, sessionId: session, turnId: open.turn, at: Date.now() };
  if (print !== null) for (const { key, text } of open.drafts) print({ ...head, type: "draft.shown", key, text });
  const text = interruptedText(open);
  if (print === null && text !== null) ctx.out.write(`${printableText(text)}\n`);
}

/** Null without --event-type. */
function eventFilter(args: Args): ((event: Event) => boolean) | null {
  const text = args.flags["event-type"];
  if (typeof text !== "string") return null;
  const types = text.split(",").map((word) => word.trim());
  const unknown = types.find((type) => !eventTypes.some((known) => known === type));
  if (unknown !== undefined)
    throw new Fault("usage", `--event-type can't be "${unknown}"`, { hint: `the types are ${eventTypes.join(", ")}` });
  return ({ type }) => types.includes(type);
}
