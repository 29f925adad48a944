// Follows the events of the visible session and of its sub-sessions, in whichever process their turns run.
// Following starts at the sequence number of the view, so that no event is missed or repeated. After stopFollowing nothing is sent.
import { runInSlices } from "../../kit/flow/time-slice.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { SessionView } from "../../protocol/tree/views.ts";
import { blocksOfPath } from "../model/blocks.ts";
import { contextTokensOf } from "../model/update-by-event.ts";
import { coalesce } from "../terminal/coalesce.ts";
import { setSession, describeError, type EffectContext } from "./effect-context.ts";

export type SessionFollow = {
  session: string;
  isStopped: boolean;
  feeds: Set<AsyncIterator<Event>>;
  subSessions: Map<string, FollowedSubSession>;
  /** The running turn, according to the events so far. */
  openTurn: string | null;
};

/** `seq` is the last event received. `pendingTurns` counts started turns that have not ended. */
type FollowedSubSession = { seq: number; pendingTurns: number; isFollowed: boolean };

const retryMs = 1000;
const subSessionFlushMs = 250;

/** Reads a session, shows it and follows it from there. Null if another session became visible meanwhile. */
export async function showSession(ctx: EffectContext, id: string): Promise<SessionView | null> {
  stopFollowing(ctx);
  const view = await ctx.api.session.show({ session: id });
  const blocks = await runInSlices(blocksOfPath(view));
  if (ctx.session?.id !== id || ctx.following !== null) return null;
  const { session, seq, turns, asks, queue, open, pending } = view;
  setSession(ctx, session);
  const isRunning = open !== null && open.state !== "interrupted";
  const runner = isRunning && !ctx.running.has(id) ? runnerOf(open) : null;
  ctx.send({ type: "opened", session, blocks, turns, asks, queue, open, pending, runner, contextTokens: contextTokensOf(view.nodes) ?? 0 });
  followSession(ctx, { session, seq, open: isRunning ? open : null, spawned: view.spawned });
  return view;
}

export function followSession(
  ctx: EffectContext,
  { session, seq, open, spawned }: Pick<SessionView, "session" | "seq" | "open" | "spawned">,
): void {
  stopFollowing(ctx);
  const following: SessionFollow = {
    session: session.id,
    isStopped: false,
    feeds: new Set(),
    subSessions: new Map(spawned.map((subSession) => [subSession.id, { seq: subSession.seq, pendingTurns: 0, isFollowed: false }])),
    openTurn: open?.turn ?? null,
  };
  ctx.following = following;
  void followVisible(ctx, following, seq);
  for (const { id, state } of spawned) if (["running", "paused", "asking"].includes(state)) void followSubSession(ctx, following, id);
  if (open === null) return;
  if (!ctx.running.has(session.id)) void watchOwner(ctx, following);
  void findRunningSubSessions(ctx, following, seq);
}

export function stopFollowing(ctx: EffectContext): void {
  const { following } = ctx;
  if (following === null) return;
  following.isStopped = true;
  ctx.following = null;
  // Errors of an abandoned feed are ignored.
  for (const feed of following.feeds) feed.return?.().catch(() => {});
}

/** Reads a feed until following stops, also while it waits for an event. No generator: a stream has thousands of events. */
async function readUntilStopped(
  following: SessionFollow,
  events: AsyncIterable<Event>,
  onEvent: (event: Event) => Promise<void> | null,
): Promise<void> {
  const feed = events[Symbol.asyncIterator]();
  following.feeds.add(feed);
  try {
    while (!following.isStopped) {
      const next = await feed.next();
      if (next.done === true || following.isStopped) return;
      const handled = onEvent(next.value);
      if (handled !== null) await handled;
    }
  } finally {
    following.feeds.delete(feed);
  }
}

async function followVisible(ctx: EffectContext, following: SessionFollow, afterSeq: number): Promise<void> {
  const { session } = following;
  const { push, flush } = coalesce((event) => (following.isStopped ? undefined : ctx.send({ type: "event", event })));
  for (let seq = afterSeq; !following.isStopped; await Bun.sleep(retryMs)) {
    try {
      await readUntilStopped(following, ctx.api.turn.watch({ session, afterSeq: seq, until: "never" }), (event) => {
        ({ seq } = event);
        push(event);
        if (event.type === "session.spawned") flush(); // its block must exist before its own events arrive
        return event.type.endsWith(".delta") ? null : trackEvent(ctx, following, event);
      });
    } catch (error) {
      flush();
      if (following.isStopped) return;
      if (isConnectionLost(error) && ctx.connectHub !== null) return void reconnect(ctx);
      ctx.send({ type: "notice", text: describeError(error).text, isError: true });
    }
  }
}

async function trackEvent(ctx: EffectContext, following: SessionFollow, event: Event): Promise<void> {
  if (event.type === "turn.started" || event.type === "turn.ended") setSession(ctx, event.session);
  if (event.type === "turn.ended") following.openTurn = null;
  if (event.type === "session.spawned") void followSubSession(ctx, following, event.session);
  if (event.type !== "turn.started") return;
  following.openTurn = event.turnId;
  if (ctx.running.has(following.session)) return;
  const turns = await ctx.api.turn.list({ endedSince: null });
  const started = turns.find(({ turn }) => turn.id === event.turnId);
  if (started !== undefined && !following.isStopped) ctx.send({ type: "runner", session: following.session, runner: runnerOf(started) });
  void watchOwner(ctx, following);
}

/** Null for this process, for example for a watched sub-session of a turn of this screen. */
function runnerOf({ pid }: { pid: number | null }): string | null {
  return pid === process.pid ? null : pid === null ? "elsewhere" : `pid ${pid}`;
}

/** Polls for a killed process, which sends no event. Then shows its turn as interrupted. */
async function watchOwner(ctx: EffectContext, following: SessionFollow): Promise<void> {
  const turn = following.openTurn;
  try {
    while (!following.isStopped && turn !== null && following.openTurn === turn) {
      await Bun.sleep(retryMs);
      const turns = await ctx.api.turn.list({ endedSince: null });
      if (following.isStopped || !turns.some((info) => info.turn.id === turn && info.state === "interrupted")) continue;
      return void (await showSession(ctx, following.session));
    }
  } catch (error) {
    if (!following.isStopped && !isConnectionLost(error)) ctx.send({ type: "notice", text: describeError(error).text, isError: true });
  }
}

/** Finds sub-sessions that started before this screen followed the session. */
async function findRunningSubSessions(ctx: EffectContext, following: SessionFollow, seq: number): Promise<void> {
  const turns = await ctx.api.turn.list({ endedSince: null }).catch(() => []); // the feed reports the error
  const followed = new Set([following.session]);
  for (const { session, turn, state } of turns.toReversed()) {
    if (following.isStopped || state === "interrupted" || !followed.has(session.parentSession ?? "")) continue;
    followed.add(session.id);
    if (following.subSessions.get(session.id)?.isFollowed === true) continue;
    const head = { seq, n: 0, sessionId: following.session, turnId: following.openTurn ?? "", at: turn.startedAt };
    const spawned = { call: "", session: session.id, agent: session.agent, task: session.task ?? "" };
    ctx.send({ type: "event", event: { ...head, type: "session.spawned", ...spawned } });
    void followSubSession(ctx, following, session.id);
  }
}

/** Follows a sub-session from its last event, also if it has not started yet. Ends at the latest with the parent's turn. */
async function followSubSession(ctx: EffectContext, following: SessionFollow, session: string): Promise<void> {
  const subSession = following.subSessions.get(session) ?? { seq: 0, pendingTurns: 0, isFollowed: false };
  following.subSessions.set(session, subSession);
  subSession.pendingTurns += 1;
  if (subSession.isFollowed) return;
  subSession.isFollowed = true;
  const sendEvent = (event: Event) => ctx.send({ type: "sub-session event", session: following.session, event });
  const { push, flush } = coalesce((event) => (following.isStopped ? undefined : sendEvent(event)), subSessionFlushMs);
  try {
    for (; subSession.pendingTurns > 0 && !following.isStopped; await Bun.sleep(100)) {
      await readUntilStopped(following, ctx.api.turn.watch({ session, afterSeq: subSession.seq, until: "idle" }), (event) => {
        subSession.seq = event.seq;
        if (event.type === "turn.ended") subSession.pendingTurns = Math.max(0, subSession.pendingTurns - 1);
        if (event.type === "session.spawned") void followSubSession(ctx, following, event.session);
        push(event);
        return null;
      });
      if (following.openTurn === null) subSession.pendingTurns = 0;
    }
  } catch (error) {
    if (!following.isStopped && !isConnectionLost(error)) ctx.send({ type: "notice", text: describeError(error).text, isError: true });
  } finally {
    subSession.isFollowed = false;
    flush();
  }
}

export function isConnectionLost(error: unknown): boolean {
  return error instanceof Fault && error.code === "connection-lost";
}

/** Tries to reach the hub until it is back, then shows the session again. Does not start a hub. */
export async function reconnect(ctx: EffectContext): Promise<void> {
  if (ctx.connectHub === null || ctx.isHubLost) return;
  markHubLost(ctx);
  for (let waitMs = 50; ctx.isHubLost; waitMs = Math.min(retryMs, waitMs * 2)) {
    await Bun.sleep(waitMs);
    try {
      if (ctx.isHubLost) await onReconnected(ctx, await ctx.connectHub({ start: false }));
    } catch (error) {
      if (!ctx.isHubLost) markHubLost(ctx); // lost again
      if (error instanceof Fault && ["connection-lost", "hub-unreachable"].includes(error.code)) continue;
      ctx.send({ type: "notice", text: describeError(error).text, isError: true });
    }
  }
}

function markHubLost(ctx: EffectContext): void {
  ctx.isHubLost = true;
  ctx.send({ type: "set", fields: { isHubLost: true } });
}

export async function onReconnected(ctx: EffectContext, api: EffectContext["api"]): Promise<void> {
  ctx.api = api;
  ctx.isHubLost = false;
  ctx.send({ type: "set", fields: { isHubLost: false } });
  if (ctx.session !== null) await showSession(ctx, ctx.session.id);
}
