// skein asks: every question without an answer, whichever session of whichever project asks.
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
  summary: "the questions that wait for an answer",
  usage: "[--json]",
  positionals: { min: 0, max: 0 },
  flags: [jsonFlag],
  notes: `\`skein answer <ask> <text|number>\` answers one. A turn that waits goes on by
itself; one that has ended goes on with \`skein run --resume <session>\`.`,
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
    ctx.out.write(askText(ask, session, { isWaiting: waiting.has(ask.session), door: ctx }));
  }
  return 0;
}

/** Sessions with a turn that stands still until it is answered. */
export async function waitingSessions(api: Api, open: number): Promise<Set<string>> {
  const rows = open === 0 ? [] : await api.turn.list({ endedSince: null });
  return new Set(rows.filter(({ state }) => state === "asking" || state === "paused").map(({ session }) => session.id));
}

function askText(ask: Ask, session: Session, { isWaiting, door }: { isWaiting: boolean; door: CommandContext }): string {
  const style = styleOf(door.out);
  const left = ask.expiresAt === null ? "" : ` for another ${formatDuration(Math.max(0, ask.expiresAt - Date.now()))}`;
  const waits = isWaiting ? `its turn waits${left}` : "its turn has ended";
  const where = `session ${session.name === null ? shortId(session.id) : stripControls(session.name)} · ${ago(Date.now() - ask.openedAt)} · ${waits}`;
  const options = ask.options.map((option, at) => `  ${at + 1}  ${stripControls(option)}\n`).join("");
  return `${style.cyan(shortId(ask.id))}  ${style.bold(stripControls(ask.question))}\n${options}  ${style.dim(where)}\n`;
}
