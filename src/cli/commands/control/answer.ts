// skein answer: answers a question, and prints how its session continues.
import type { Ask } from "../../../protocol/api/control.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { askRecord } from "../../../protocol/json/records.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls } from "../../terminal/style.ts";
import { waitingSessions } from "./asks.ts";

export const answer: Command = {
  name: "answer",
  summary: "answer a question that an agent asked",
  usage: "<ask> <text|number> [--json]",
  positionals: { min: 2, max: 2 },
  flags: [jsonFlag],
  notes: `A number chooses an option, if the question has options. Any other text is the
answer itself. \`skein asks\` lists the open questions. A question is answered once.

Examples:
  skein answer 4f2a91c0 2
  skein answer 4f2a91c0 "the second, but keep the old name"`,
  run: runAnswer,
};

async function runAnswer(args: Args, ctx: CommandContext): Promise<number> {
  const [ask = "", text = ""] = args.positionals;
  const api = await ctx.api();
  const waiting = await waitingSessions(api, 1);
  const answered = await api.ask.answer({ ask, text });
  const isWaiting = waiting.has(answered.session);
  if (args.flags["json"]) {
    ctx.out.write(jsonText({ ...askRecord(answered), waiting: isWaiting }));
    return 0;
  }
  const others = (await api.ask.list({ session: answered.session })).length;
  ctx.out.write(`answered: ${stripControls(answered.answer ?? "")}\n`);
  ctx.err.write(`${nextStepText(answered, { isWaiting, others })}\n`);
  return 0;
}

function nextStepText({ session }: Ask, { isWaiting, others }: { isWaiting: boolean; others: number }): string {
  if (others > 0) return `${others === 1 ? "one more question is" : `${others} more questions are`} open there: skein asks`;
  return isWaiting ? "the waiting turn continues" : `to continue: skein run --resume ${shortId(session)}`;
}
