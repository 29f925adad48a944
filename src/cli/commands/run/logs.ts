// skein logs: what happened in a session, and with -f what happens until it rests.
import { eventRecord } from "../../../protocol/json/records.ts";
import type { Event } from "../../../protocol/tree/event.ts";
import { countFlag } from "../../parse/args.ts";
import { readHistory } from "../../attach/history.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { findSession } from "../../parse/find-session.ts";
import { printRecord } from "../../print/printer.ts";
import { sessionPrinter } from "../../print/session.ts";
import { styleOf } from "../../terminal/style.ts";

export const logs: Command = {
  name: "logs",
  summary: "what happened in a session, and what happens",
  usage: "<session> [-f] [--limit n] [--json]",
  positionals: { min: 1, max: 1 },
  flags: [
    { name: "follow", short: "f", summary: "go on until nothing runs in it any more" },
    { name: "limit", value: "n", summary: "at most so many parts of what is stored (default 100)" },
    { name: "json", summary: "one event to a line, as `run --output-format events` prints them" },
  ],
  notes: `It only watches: \`skein attach\` can also talk to the turn. -f ends when the
session rests, and Ctrl-C ends the watching, not the turn.`,
  run: runLogs,
};

async function runLogs(args: Args, ctx: CommandContext): Promise<number> {
  const limit = countFlag(args, "limit", 100);
  const api = await ctx.api();
  const session = await findSession(api, ctx, args.positionals[0]);
  const history = await readHistory(api, session.id, limit);
  const isJson = args.flags["json"] === true;
  const show: (event: Event) => void = isJson
    ? (event) => printRecord(ctx, eventRecord(event))
    : sessionPrinter(ctx.out, { stream: ctx.out.isTty, answers: "elsewhere" });
  if (history.omitted > 0) ctx.err.write(`${styleOf(ctx.err).dim(`${history.omitted} earlier events: --limit shows more`)}\n`);
  for (const event of history.events) show(event);
  if (args.flags["follow"] !== true) return 0;
  for await (const event of api.turn.watch({ session: session.id, afterSeq: history.seq, until: "idle" })) show(event);
  return 0;
}
