// The slash commands that start, find and name sessions, and those that send a prepared message.
import { ago } from "../../kit/text/duration.ts";
import { oneLine } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { compactPrompt, initPrompt, reviewPrompt, slashTable } from "../../protocol/api/slash-commands.ts";
import { loopExample, parseLoopArgument } from "../../protocol/loops/loop-argument.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { printableLabel } from "../print/session-label.ts";
import { stripControls, styleOf } from "../terminal/style.ts";
import { tableText } from "../terminal/table.ts";
import { askAtTip } from "./open-ask.ts";
import type { Repl, SendMessage } from "./repl.ts";
import { findPosition, goToPosition, noMessages, useHere } from "./switch-position.ts";

/** The next message starts the session, so that a session without a message is not stored. */
export async function startNew(repl: Repl): Promise<void> {
  const { name: _, ...open } = repl.open;
  const { agent, model } = repl.session ?? open;
  repl.open = { ...open, find: { by: "new" }, id: Bun.randomUUIDv7(), agent, model };
  repl.session = null;
  repl.isAnnounced = false;
  repl.ctx.out.write(`New session ${shortId(repl.open.id ?? "")}. The old one is saved: /resume finds it.\n`);
}

/** A branch from before the first message, which keeps the tree. */
export async function clear(repl: Repl): Promise<void> {
  const { api, ctx, session } = repl;
  if (session === null || session.tip === null) throw noMessages();
  const forked = await api.session.fork({ session: session.id, at: null, name: null });
  repl.session = await api.session.move({ session: forked.id, node: null });
  await useHere(repl, repl.session);
  ctx.out.write(`A new branch from the beginning, in session ${printableLabel(forked)}; files stay as they are.\n`);
}

const maxListed = 20;

/** Without a session, lists the latest ones; a number of the list then chooses one. */
export async function resume(repl: Repl, argument: string): Promise<void> {
  const { api, ctx, directory } = repl;
  if (argument !== "") return goToPosition(repl, await findPosition(repl, argument));
  const sessions = await api.session.list({ project: ctx.projectOf(directory), limit: maxListed });
  repl.listing = sessions.map((session) => ({
    node: session.tip,
    session,
    isCurrent: session.id === repl.session?.id,
    excerpt: session.latestPrompt ?? null,
  }));
  if (sessions.length === 0) return ctx.out.write("There are no sessions in this project yet.\n");
  const style = styleOf(ctx.out);
  const rows = repl.listing.map(({ session, isCurrent, excerpt }, index) => [
    `${index + 1}.`,
    style.cyan(session === null ? "" : printableLabel(session)),
    isCurrent ? style.green("[current]") : "",
    session === null ? "" : style.dim(ago(Date.now() - session.updatedAt)),
    oneLine(stripControls(excerpt ?? ""), 200),
  ]);
  const table = tableText(rows, { columns: [{ align: "right" }, {}, {}, {}, {}], width: ctx.out.columns });
  ctx.out.write(`${table}/resume <number or name> opens one\n`);
}

export async function rename(repl: Repl, name: string): Promise<void> {
  if (name === "") throw new Fault("usage", "/rename takes a name");
  if (repl.session === null) throw noMessages();
  repl.session = await repl.api.session.rename({ session: repl.session.id, name });
  repl.ctx.out.write(`This session is now ${printableLabel(repl.session)}.\n`);
}

export const review = (repl: Repl, what: string, send: SendMessage) => sendPrepared(repl, send, { prompt: reviewPrompt(what) });

export const init = (repl: Repl, _: string, send: SendMessage) => sendPrepared(repl, send, { prompt: initPrompt() });

/** The passes are turns of this session; the check's output goes back to the agent. */
export async function loop(repl: Repl, argument: string, send: SendMessage): Promise<number> {
  const parsed = parseLoopArgument(argument);
  if (parsed === null) throw new Fault("usage", `/loop takes ${slashTable.loop.usage}`, { hint: loopExample });
  return sendPrepared(repl, send, { prompt: parsed.task, until: parsed.until });
}

export async function queue(repl: Repl, message: string): Promise<void> {
  if (message === "") throw new Fault("usage", "/queue takes a message");
  await queueMessage(repl, message);
}

/** The hub runs the message when the session is free. Nobody can be asked then. */
export async function queueMessage({ api, ctx, turn, session }: Repl, prompt: string): Promise<void> {
  if (session === null) throw noMessages();
  const { id, place } = await api.turn.queue({ ...turn, asks: { how: "later" }, session: session.id, prompt });
  ctx.out.write(`Number ${place} in the queue of this session; the hub runs it. skein kill ${shortId(id)} withdraws it.\n`);
}

export const continueTurn = (repl: Repl, _: string, send: SendMessage) => sendPrepared(repl, send, { prompt: null });

export async function compact(repl: Repl, _: string, send: SendMessage): Promise<number> {
  if (repl.session === null || repl.session.tip === null) throw noMessages();
  return sendPrepared(repl, send, { prompt: compactPrompt, isCompaction: true });
}

/** A prepared message must not become the answer to an open question. */
async function sendPrepared(repl: Repl, send: SendMessage, message: Parameters<SendMessage>[0]): Promise<number> {
  const ask = message.prompt === null ? null : await askAtTip(repl);
  if (ask !== null)
    throw new Fault("usage", `a question waits for an answer: ${oneLine(stripControls(ask.question), 80)}`, { hint: "answer it first" });
  if (message.prompt === null && repl.session === null) throw noMessages();
  return send(message);
}
