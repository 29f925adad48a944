// Effects of the visible session: enters it, starts, steers, stops and takes back its turns, clears and forks its branches.
// The output of a turn arrives through the session's feed, not here.
import { oneLine, pluralize } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { loopUntil } from "../../protocol/loops/loop-argument.ts";
import type { Event } from "../../protocol/tree/event.ts";
import { textOf } from "../../protocol/tree/node.ts";
import { homeProject, type Session } from "../../protocol/tree/turn.ts";
import { hintFor } from "../keys/hint.ts";
import type { Effect } from "../model/state.ts";
import { plainLine } from "../layout/wrap.ts";
import { sessionTitle, setSession, requireSession, describeError, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { reconnect, followSession, onReconnected, isConnectionLost, stopFollowing, showSession } from "./follow.ts";
import { readPlan, restoreMode } from "./planning.ts";
import { readPastedImage } from "./typing.ts";

export const turnEffects: EffectHandlers<
  "start" | "execute" | "steer" | "queue" | "cancel" | "clear" | "new" | "fork" | "go back" | "undo" | "redo" | "reload" | "hub"
> = {
  start: startTurn,
  execute: (ctx, { command, unsent }) =>
    runTurn(ctx, { unsent, task: command }, (session) =>
      ctx.api.bash.execute({ session, command, timeoutMs: ctx.turn.timeoutMs, policy: ctx.turn.policy }),
    ),
  /** A refused message returns to the prompt. If the turn has just ended, the message starts the next one. */
  steer: async (ctx, { session, text, orStart }) => {
    try {
      await ctx.api.turn.steer({ session, text });
    } catch (error) {
      if (orStart && ctx.session?.id === session && (await isIdle(ctx, session))) return startTurn(ctx, { prompt: text, images: [] });
      if (isConnectionLost(error)) void reconnect(ctx);
      ctx.send({ type: "refused", unsent: text, session, ...describeSendFailure(error) });
    }
  },
  queue: async (ctx, { text }) => {
    const { id } = requireSession(ctx);
    try {
      await ctx.api.turn.queue({ ...ctx.turn, asks: { how: "later" }, session: id, prompt: text });
      ctx.send({ type: "later", session: id, pending: await ctx.api.turn.pending({ session: id }) });
    } catch (error) {
      ctx.send({ type: "refused", unsent: text, session: id, ...describeSendFailure(error) });
    }
  },
  cancel: ({ api }, { session }) => api.turn.cancel({ session }),
  clear: async (ctx) => {
    const forked = await ctx.api.session.fork({ session: requireSession(ctx).id, at: null, name: null });
    const cleared = await ctx.api.session.move({ session: forked.id, node: null });
    carryDraft(ctx);
    await goTo(ctx, cleared, "a new branch from the beginning; files stay as they are", "branch");
  },
  new: async (ctx) => {
    carryDraft(ctx);
    await enterSession(ctx, null);
    ctx.send({
      type: "set",
      fields: { overlay: null, visit: null, notice: { text: "a new session; the old one is saved", isError: false } },
    });
  },
  "go back": async (ctx, { node: id }) => {
    const { id: session } = requireSession(ctx);
    const message = await ctx.api.node.find({ wanted: id });
    const forked = await ctx.api.session.fork({ session, at: message.parent, name: null });
    // Without a node, a fork starts at the tip.
    const moved = message.parent === null ? await ctx.api.session.move({ session: forked.id, node: null }) : forked;
    carryDraft(ctx);
    await goTo(ctx, moved, "before that message, in a new branch; the old one and the files stay", "branch");
    ctx.send({ type: "prompt", text: textOf(message) });
  },
  fork: async (ctx, { name, at = null }) => {
    const forked = await ctx.api.session.fork({ session: requireSession(ctx).id, at, name });
    carryDraft(ctx);
    await goTo(ctx, forked, `now in the fork ${sessionTitle(forked)}; files stay as they are`, "branch");
  },
  undo: (ctx) => takeStep(ctx, "undo"),
  redo: (ctx) => takeStep(ctx, "redo"),
  reload: (ctx) => showSession(ctx, requireSession(ctx).id),
  hub: async (ctx) => {
    if (ctx.connectHub === null) throw new Fault("usage", "this screen runs its turns without a hub", { hint: "skein tui --hub auto" });
    if (!ctx.isHubLost) return ctx.send({ type: "notice", text: "the hub is running" });
    await onReconnected(ctx, await ctx.connectHub({ start: true }));
  },
};

/** Whether no turn is open in the session. False if that can't be read. */
async function isIdle({ api }: EffectContext, session: string): Promise<boolean> {
  try {
    return (await api.session.show({ session })).open === null;
  } catch {
    return false;
  }
}

/** "watch": it does not become the project's current session. "branch": it continues the visible one, whose policy stays. */
type Purpose = "work" | "watch" | "branch";

/** Shows a session in place of the visible one, whose turn continues in the background. Null shows a new session. */
export async function enterSession(ctx: EffectContext, session: Session | null, purpose: Purpose = "work"): Promise<void> {
  stopFollowing(ctx);
  if (session === null) {
    ctx.session = null;
    ctx.send({ type: "opened", session, blocks: [], turns: [] });
    return restoreMode(ctx, session, []);
  }
  const keepsPolicy = purpose === "branch" || ctx.session?.id === session.id;
  setSession(ctx, session);
  // A sub-session never becomes the current session, unless it executes a plan. Neither does a session of another project.
  const isOwn = session.parentSession == null || session.plan !== undefined;
  if (purpose !== "watch" && isOwn && homeProject(session) === ctx.project)
    await ctx.api.session.use({ session: session.id, directory: ctx.directory });
  const view = await showSession(ctx, session.id);
  if (view === null) return;
  // After undo, a move or a fork the user's choice of a policy stays. It may be narrower than that of the last turn.
  await (keepsPolicy ? readPlan(ctx, view.session) : restoreMode(ctx, view.session, view.turns));
}

/** Lets the next session take over the unsent message, because it continues this one. */
export function carryDraft({ send }: EffectContext): void {
  send({ type: "set", fields: { carriesDraft: true } });
}

/** Enters a session and closes the overlay that chose it. */
export async function goTo(ctx: EffectContext, session: Session, notice: string, purpose: Purpose = "work"): Promise<void> {
  await enterSession(ctx, session, purpose);
  ctx.send({ type: "set", fields: { overlay: null, visit: null, notice: { text: notice, isError: false } } });
}

export async function startTurn(
  ctx: EffectContext,
  { prompt, images, isCompaction, until }: Pick<Extract<Effect, { type: "start" }>, "prompt" | "images" | "isCompaction" | "until">,
): Promise<void> {
  await runTurn(ctx, { unsent: prompt ?? "", task: prompt }, (session) =>
    ctx.api.turn.start({
      ...ctx.turn,
      session,
      prompt,
      images: images.map((path) => readPastedImage(ctx, path)),
      ...(isCompaction === true ? { compact: true } : {}),
      ...(until === undefined ? {} : loopUntil(until)),
    }),
  );
}

/** Runs a turn in the visible session, or in a new one. */
export async function runTurn(
  ctx: EffectContext,
  { unsent, task }: { unsent: string; task: string | null },
  start: (session: string) => AsyncIterable<Event>,
): Promise<void> {
  const { send, turn } = ctx;
  let isStarted = false;
  let session = ctx.session;
  try {
    session ??= await createSession(ctx, task);
    markRunning(ctx, session);
    for await (const event of start(session.id)) {
      if (isStarted || event.type !== "turn.started") continue;
      isStarted = true;
      markRunning(ctx, event.session);
      // The session now stores its agent and model. A later choice is for the next turn.
      if (!["shell", "race"].includes(event.turn.agent)) Object.assign(turn, { agent: null, model: null });
    }
  } catch (error) {
    const failure = { ...(session === null ? {} : { session: session.id }), ...describeSendFailure(error) };
    if (isConnectionLost(error)) void reconnect(ctx);
    if (!isStarted) send({ type: "refused", unsent, ...failure });
    else if (!isConnectionLost(error)) {
      if (session?.id === ctx.session?.id) await showSession(ctx, requireSession(ctx).id);
      send({ type: "failed", ...failure });
    }
  } finally {
    if (session !== null && ctx.running.delete(session.id)) sendRunning(ctx);
  }
}

function markRunning(ctx: EffectContext, session: Session): void {
  ctx.running.set(session.id, session);
  sendRunning(ctx);
}

/** Turns that the hub runs do not end with this screen, so they are not listed. */
function sendRunning({ running, connectHub, send }: EffectContext): void {
  send({ type: "set", fields: { running: connectHub === null ? [...running.keys()] : [] } });
}

async function createSession(ctx: EffectContext, task: string | null): Promise<Session> {
  const { api, directory } = ctx;
  const session = await api.session.open({ ...ctx.open, task });
  await api.session.use({ session: session.id, directory });
  setSession(ctx, session);
  ctx.send({ type: "set", fields: { session } });
  followSession(ctx, { session, seq: 0, open: null, spawned: [] });
  return session;
}

/** Takes back the last turn of the visible session with its files, or puts it back. */
async function takeStep(ctx: EffectContext, step: "undo" | "redo"): Promise<void> {
  const { session, prompt, files, changes, kept } = await ctx.api.session[step]({ session: requireSession(ctx).id, dryRun: false });
  const turn = prompt === null ? "the last turn" : `"${oneLine(plainLine(prompt, 40), 40)}"`;
  const filesText = {
    changed: `${pluralize(changes.length, "file")} restored`,
    unchanged: "no files changed",
    unknown: "its files were not recorded",
  };
  const parts = [
    step === "undo" ? `took back ${turn}` : `put back ${turn}`,
    filesText[files],
    ...(kept.length === 0 ? [] : [`kept, changed by others: ${plainLine(kept.slice(0, 3).join(", "), 80)}`]),
    ...(step === "undo" ? [`${hintFor(ctx.bindings, "redo")} puts it back`] : []),
  ];
  await goTo(ctx, session, parts.join("; "));
}

function describeSendFailure(error: unknown): ReturnType<typeof describeError> {
  return isConnectionLost(error)
    ? { text: "connection to the hub lost; the message is back in the prompt", hint: null }
    : describeError(error);
}
