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
export async function enterSession(doing: EffectContext, session: Session | null, how: "work" | "watch" = "work"): Promise<void> {
  stopFollowing(doing);
  if (session === null) {
    doing.session = null;
    doing.send({ type: "opened", session, blocks: [], turns: [] });
    return restoreMode(doing, session, []);
  }
  setSession(doing, session);
  // Where one only looks in, one does not go on later.
  if (how === "work" && (session.parentSession == null || session.plan !== undefined))
    await doing.api.session.use({ session: session.id, directory: doing.directory });
  const view = await showSession(doing, session.id);
  if (view !== null) await restoreMode(doing, view.session, view.turns);
}

export async function startTurn(
  doing: EffectContext,
  { prompt, images }: { prompt: string | null; images: readonly string[] },
): Promise<void> {
  await take(doing, { draft: prompt ?? "", task: prompt }, (session) =>
    doing.api.turn.start({ ...doing.turn, session, prompt, images: images.map((path) => readPastedImage(doing, path)) }),
  );
}

/** A turn in the session that is shown, or in one that it begins. */
async function take(
  doing: EffectContext,
  { draft, task }: { draft: string; task: string | null },
  begin: (session: string) => AsyncIterable<Event>,
): Promise<void> {
  const { send, turn } = doing;
  let isTaken = false;
  let session = doing.session;
  try {
    session ??= await beginSession(doing, task);
    note(doing, session);
    for await (const event of begin(session.id)) {
      if (isTaken || event.type !== "turn.started") continue;
      isTaken = true;
      note(doing, event.session);
      // From now on they are the session's; what is chosen later is for the next turn.
      if (event.turn.agent !== "shell") Object.assign(turn, { agent: null, model: null });
    }
  } catch (error) {
    const failure = { ...(session === null ? {} : { session: session.id }), ...notSent(error) };
    if (isConnectionLost(error)) void reconnect(doing);
    if (!isTaken) send({ type: "refused", draft, ...failure });
    else if (!isConnectionLost(error)) {
      if (session?.id === doing.session?.id) await showSession(doing, requireSession(doing).id);
      send({ type: "failed", ...failure });
    }
  } finally {
    if (session !== null && doing.running.delete(session.id)) tellRunning(doing);
  }
}

function note(doing: EffectContext, session: Session): void {
  doing.running.set(session.id, session);
  tellRunning(doing);
}

/** What the hub runs goes on without the screen. */
function tellRunning({ running, connectHub: reach, send }: EffectContext): void {
  send({ type: "running", sessions: reach === null ? [...running.keys()] : [] });
}

async function beginSession(doing: EffectContext, task: string | null): Promise<Session> {
  const { api, directory } = doing;
  const session = await api.session.open({ ...doing.open, task });
  await api.session.use({ session: session.id, directory });
  setSession(doing, session);
  doing.send({ type: "begun", session });
  followSession(doing, { session, seq: 0, open: null, spawned: [] });
  return session;
}

/** A message that came too late is typed again. */
async function steer(doing: EffectContext, { session, text }: { session: string; text: string }): Promise<void> {
  try {
    await doing.api.turn.steer({ session, text });
  } catch (error) {
    if (isConnectionLost(error)) void reconnect(doing);
    doing.send({ type: "refused", draft: text, session, ...notSent(error) });
  }
}

function notSent(error: unknown): ReturnType<typeof describeError> {
  return isConnectionLost(error) ? { text: "the hub is gone; what was typed is back in the prompt", hint: null } : describeError(error);
}

async function fork(doing: EffectContext, { name, at = null }: { name: string | null; at?: string | null }): Promise<void> {
  const forked = await doing.api.session.fork({ session: requireSession(doing).id, at, name });
  await enterSession(doing, forked);
  doing.send({ type: "went", text: `now in the fork ${sessionLabel(forked)}; files stay as they are` });
}

async function clear(doing: EffectContext): Promise<void> {
  const { api } = doing;
  const forked = await api.session.fork({ session: requireSession(doing).id, at: null, name: null });
  await enterSession(doing, await api.session.move({ session: forked.id, node: null }));
  doing.send({ type: "went", text: "a new branch from the beginning; files stay as they are" });
}

async function startHub(doing: EffectContext): Promise<void> {
  if (doing.connectHub === null) throw new Fault("usage", "this screen runs its turns itself", { hint: "`skein tui --hub auto` uses the hub" });
  if (!doing.isLost) return doing.send({ type: "told", text: "the hub is there" });
  await onReconnected(doing, await doing.connectHub({ start: true }));
}
