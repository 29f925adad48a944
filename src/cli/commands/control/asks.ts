// skein asks: lists the questions without an answer, of all sessions in all projects.
import { printableLabel } from "../../print/session-label.ts";
import { ago, formatDuration } from "../../../kit/text/duration.ts";
import type { Api } from "../../../protocol/api/api.ts";
import type { Ask } from "../../../protocol/api/control.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import { askRecord } from "../../../protocol/json/records.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { jsonFlag } from "../../parse/args.ts";
import type { Args, Command, CommandContext } from "../../parse/command.ts";
import { jsonText } from "../../print/json.ts";
import { stripControls, styleOf } from "../../terminal/style.ts";

export const asks: Command = {
  name: "asks",
  summary: "list the questions that wait for an answer",
  usage: "[--json]",
  positionals: { min: 0, max: 0 },
  flags: [jsonFlag],
  notes: `\`skein answer <ask> <text|number>\` answers one. A waiting turn then continues by
itself. Continue one that has ended with \`skein run --resume <session>\`.`,
  run: runAsks,
};

async function runAsks(args: Args, ctx: CommandContext): Promise<number> {
  const api = await ctx.api();
  const open = await api.ask.list({ session: null });
  const waiting = await waitingSessions(api, open.length);
  if (args.flags["json"]) {
    ctx.out.write(jsonText(open.map((ask) => ({ ...askRecord(ask), waiting: waiting.has(ask.session) }))));
    return 0;
  }
  if (open.length === 0) ctx.out.write("no question waits for an answer\n");
  for (const ask of open) {
    const session = await api.session.find({ wanted: ask.session, directory: ctx.cwd });
    ctx.out.write(askText(ask, session, { isWaiting: waiting.has(ask.session), ctx }));
  }
  return 0;
}

/** Ids of sessions with a turn that is waiting for an answer. */
export async function waitingSessions(api: Api, openAsks: number): Promise<Set<string>> {
  const turns = openAsks === 0 ? [] : await api.turn.list({ endedSince: null });
  return new Set(turns.filter(({ state }) => state === "asking" || state === "paused").map(({ session }) => session.id));
}

function askText(ask: Ask, session: Session, { isWaiting, ctx }: { isWaiting: boolean; ctx: CommandContext }): string {
  const style = styleOf(ctx.out);
  const remaining = ask.expiresAt === null ? "" : ` for another ${formatDuration(Math.max(0, ask.expiresAt - Date.now()))}`;
  const waits = isWaiting ? `its turn waits${remaining}` : "its turn has ended";
  const where = `session ${printableLabel(session)} · ${ago(Date.now() - ask.openedAt)} · ${waits}`;
  const options = ask.options.map((option, index) => `  ${index + 1}  ${stripControls(option)}\n`).join("");
  return `${style.cyan(shortId(ask.id))}  ${style.bold(stripControls(ask.question))}\n${options}  ${style.dim(where)}\n`;
}
