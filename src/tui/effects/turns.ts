// A session on the screen: entered and left, its turns started, steered, stopped and answered, its branches cleared and
// forked. What comes of a turn is told by the feed of the session, whoever runs it.
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { sessionLabel, setSession, requireSession, describeError, type EffectHandlers, type EffectContext } from "./effect-context.ts";
import { reconnect, followSession, onReconnected, isConnectionLost, stopFollowing, showSession } from "./follow.ts";
import { restoreMode } from "./planning.ts";
import { readPastedImage } from "./typing.ts";

export const turnEffects: EffectHandlers<"start" | "execute" | "steer" | "cancel" | "clear" | "fork" | "reload" | "hub"> = {
  start: startTurn,
  execute: (doing, { command, draft }) =>
    take(doing, { draft, task: command }, (session) =>
      doing.api.bash.execute({ session, command, timeoutMs: doing.turn.timeoutMs, policy: doing.turn.policy }),
    ),
  steer,
  cancel: ({ api }, { session }) => api.turn.cancel({ session }),
  clear,
  fork,
  reload: (doing) => showSession(doing, requireSession(doing).id),
  hub: startHub,
};

/**
 * Shows a session, and leaves the one before: what runs there goes on, unseen. Null is one that is yet to begin. To watch
 * one does not make it the project's current session.
 */
export async function enterSession(ctx: EffectContext, session: Session | null, how: "work" | "watch" = "work"): Promise<void> {
  stopFollowing(ctx);
  if (session === null) {
    ctx.session = null;
    ctx.send({ type: "opened", session, blocks: [], turns: [] });
    return restoreMode(ctx, session, []);
  }
  setSession(ctx, session);
  // Where one only looks in, one does not go on later.
  if (how === "work" && (session.parentSession == null || session.plan !== undefined))
    await ctx.api.session.use({ session: session.id, directory: ctx.directory });
  const view = await showSession(ctx, session.id);
  if (view !== null) await restoreMode(ctx, view.session, view.turns);
}

export async function startTurn(
  ctx: EffectContext,
  { prompt, images }: { prompt: string | null; images: readonly string[] },
): Promise<void> {
  await take(ctx, { draft: prompt ?? "", task: prompt }, (session) =>
    ctx.api.turn.start({ ...ctx.turn, session, prompt, images: images.map((path) => readPastedImage(ctx, path)) }),
  );
}

/** A turn in the session that is shown, or in one that it begins. */
async function take(
  ctx: EffectContext,
  { draft, task }: { draft: string; task: string | null },
  begin: (session: string) => AsyncIterable<Event>,
): Promise<void> {
  const { send, turn } = ctx;
  let isTaken = false;
  let session = ctx.session;
  try {
    session ??= await beginSession(ctx, task);
    note(ctx, session);
    for await (const event of begin(session.id)) {
      if (isTaken || event.type !== "turn.started") continue;
      isTaken = true;
      note(ctx, event.session);
      // From now on they are the session's; what is chosen later is for the next turn.
      if (event.turn.agent !== "shell") Object.assign(turn, { agent: null, model: null });
    }
  } catch (error) {
    const failure = { ...(session === null ? {} : { session: session.id }), ...notSent(error) };
    if (isConnectionLost(error)) void reconnect(ctx);
    if (!isTaken) send({ type: "refused", draft, ...failure });
    else if (!isConnectionLost(error)) {
      if (session?.id === ctx.session?.id) await showSession(ctx, requireSession(ctx).id);
      send({ type: "failed", ...failure });
    }
  } finally {
    if (session !== null && ctx.running.delete(session.id)) tellRunning(ctx);
  }
}

function note(ctx: EffectContext, session: Session): void {
  ctx.running.set(session.id, session);
  tellRunning(ctx);
}

/** What the hub runs goes on without the screen. */
function tellRunning({ running, connectHub: reach, send }: EffectContext): void {
  send({ type: "running", sessions: reach === null ? [...running.keys()] : [] });
}

async function beginSession(ctx: EffectContext, task: string | null): Promise<Session> {
  const { api, directory } = ctx;
  const session = await api.session.open({ ...ctx.open, task });
  await api.session.use({ session: session.id, directory });
  setSession(ctx, session);
  ctx.send({ type: "begun", session });
  followSession(ctx, { session, seq: 0, open: null, spawned: [] });
  return session;
}

/** A message that came too late is typed again. */
async function steer(ctx: EffectContext, { session, text }: { session: string; text: string }): Promise<void> {
  try {
    await ctx.api.turn.steer({ session, text });
  } catch (error) {
    if (isConnectionLost(error)) void reconnect(ctx);
    ctx.send({ type: "refused", draft: text, session, ...notSent(error) });
  }
}

function notSent(error: unknown): ReturnType<typeof describeError> {
  return isConnectionLost(error) ? { text: "the hub is gone; what was typed is back in the prompt", hint: null } : describeError(error);
}

async function fork(ctx: EffectContext, { name, at = null }: { name: string | null; at?: string | null }): Promise<void> {
  const forked = await ctx.api.session.fork({ session: requireSession(ctx).id, at, name });
  await enterSession(ctx, forked);
  ctx.send({ type: "went", text: `now in the fork ${sessionLabel(forked)}; files stay as they are` });
}

async function clear(ctx: EffectContext): Promise<void> {
  const { api } = ctx;
  const forked = await api.session.fork({ session: requireSession(ctx).id, at: null, name: null });
  await enterSession(ctx, await api.session.move({ session: forked.id, node: null }));
  ctx.send({ type: "went", text: "a new branch from the beginning; files stay as they are" });
}

async function startHub(ctx: EffectContext): Promise<void> {
  if (ctx.connectHub === null)
    throw new Fault("usage", "this screen runs its turns itself", { hint: "`skein tui --hub auto` uses the hub" });
  if (!ctx.isLost) return ctx.send({ type: "told", text: "the hub is there" });
  await onReconnected(ctx, await ctx.connectHub({ start: true }));
}
