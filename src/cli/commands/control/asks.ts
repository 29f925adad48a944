// skein asks and answer: list the questions without an answer, of all sessions in all projects, and answer one.
import { ago, formatDuration } from "../../../kit/text/duration.ts";
import type { Api } from "../../../protocol/api/api.ts";
import type { Ask } from "../../../protocol/api/control.ts";
import { shortId } from "../../../protocol/tree/node.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { printableLabel } from "../../print/session-label.ts";
import { stripControls, type Style } from "../../terminal/style.ts";
import { reportCommand } from "../report-command.ts";

export const asks = reportCommand({
  name: "asks",
  summary: "list the questions that wait for an answer",
  usage: "[--json]",
  notes: `\`skein answer <ask> <text|number>\` answers one. A waiting turn then continues by
itself. Continue a turn that has ended with \`skein run --resume <session>\`.`,
  async report(_args, ctx) {
    const api = await ctx.api();
    const openAsks = await api.ask.list({ session: null });
    const waiting = openAsks.length === 0 ? new Set<string>() : await waitingSessions(api);
    const json = openAsks.map((ask) => ({ ...ask, waiting: waiting.has(ask.session) }));
    return {
      json,
      async text(style) {
        if (openAsks.length === 0) return "no question waits for an answer\n";
        const sessions = await Promise.all(openAsks.map((ask) => api.session.find({ wanted: ask.session, directory: ctx.cwd })));
        return json.map((ask, index) => askText(ask, sessions[index]!, style)).join("");
      },
    };
  },
});

export const answer = reportCommand({
  name: "answer",
  summary: "answer a question that an agent asked",
  usage: "<ask> <text|number> [--json]",
  positionals: { min: 2, max: 2 },
  notes: `A number chooses an option, if the question has options; a number without an option
is refused. Any other text is the answer itself. \`skein asks\` lists the open questions. A question is answered once.

Examples:
  skein answer 4f2a91c0 2
  skein answer 4f2a91c0 "the second, but keep the old name"`,
  async report(args, ctx) {
    const [ask = "", text = ""] = args.positionals;
    const api = await ctx.api();
    // The waiting turn continues with the answer, so its state is read before.
    const waiting = await waitingSessions(api);
    const answered = await api.ask.answer({ ask, text });
    const isWaiting = waiting.has(answered.session);
    return {
      json: { ...answered, waiting: isWaiting },
      text: () => `answered: ${stripControls(answered.answer ?? "")}\n`,
      async remarks() {
        const { length: others } = await api.ask.list({ session: answered.session });
        if (others > 0) return `${others === 1 ? "one more question is" : `${others} more questions are`} open there: skein asks\n`;
        return isWaiting ? "the waiting turn continues\n" : `to continue: skein run --resume ${shortId(answered.session)}\n`;
      },
    };
  },
});

/** Ids of sessions with a turn that is waiting for an answer. */
async function waitingSessions(api: Api): Promise<Set<string>> {
  const turns = await api.turn.list({ endedSince: null });
  return new Set(turns.filter(({ state }) => state === "asking" || state === "paused").map(({ session }) => session.id));
}

function askText(ask: Ask & { waiting: boolean }, session: Session, style: Style): string {
  const remaining = ask.expiresAt === null ? "" : ` for another ${formatDuration(Math.max(0, ask.expiresAt - Date.now()))}`;
  const turnState = ask.waiting ? `its turn waits${remaining}` : "its turn has ended";
  const details = `session ${printableLabel(session)} · ${ago(Date.now() - ask.openedAt)} · ${turnState}`;
  const options = ask.options.map((option, index) => `  ${index + 1}  ${stripControls(option)}\n`).join("");
  return `${style.cyan(shortId(ask.id))}  ${style.bold(stripControls(ask.question))}\n${options}  ${style.dim(details)}\n`;
}
