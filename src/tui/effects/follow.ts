// The shown session as it happens, whoever runs its turns, with the sub-sessions below it. It begins where the session was
// read, so nothing is missed or told twice; whoever leaves it hears nothing more of it.
import { runInSlices } from "../../kit/flow/time-slice.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event } from "../../protocol/tree/event.ts";
import type { SessionView, SpawnedSession } from "../../protocol/tree/views.ts";
import { blocksOfPath } from "../model/blocks.ts";
import { coalesce } from "../terminal/coalesce.ts";
import { setSession, describeError, type EffectContext } from "./effect-context.ts";

export type SessionFollow = {
  session: string;
  isLeft: boolean;
  feeds: Set<AsyncIterator<Event>>;
  below: Map<string, FollowedSubSession>;
  /** As far as was told. */
  openTurn: string | null;
};

/** A sub-session, as far as it was heard, and how many of its turns are still to end. */
type FollowedSubSession = { seq: number; due: number; isHeard: boolean };

const againMs = 1000;
const belowEveryMs = 250;

/** Reads where the session stands, shows it, and goes on from there. */
export async function showSession(ctx: EffectContext, id: string): Promise<SessionView | null> {
  stopFollowing(ctx);
  const view = await ctx.api.session.show({ session: id });
  const blocks = await runInSlices(blocksOfPath(view));
  if (ctx.session?.id !== id || ctx.following !== null) return null; // another one is shown by now
  const { session, seq, turns, below, asks, queue, open } = view;
  setSession(ctx, session);
  const isRunning = open !== null && open.state !== "interrupted";
  const runner = isRunning && !ctx.running.has(id) ? runnerOf(open) : null;
  ctx.send({ type: "opened", session, blocks, turns, below, asks, queue, open, runner });
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
    isLeft: false,
    feeds: new Set(),
    below: new Map(spawned.map((each) => [each.id, { seq: each.seq, due: 0, isHeard: false }])),
    openTurn: open?.turn ?? null,
  };
  ctx.following = following;
  void followShown(ctx, following, seq);
  for (const { id, state } of spawned) if (isAtWork(state)) void followBelow(ctx, following, id);
  if (open === null) return;
  if (!ctx.running.has(session.id)) void watchOwner(ctx, following);
  void findBelow(ctx, following, seq);
}

export function stopFollowing(ctx: EffectContext): void {
  const { following } = ctx;
  if (following === null) return;
  following.isLeft = true;
  ctx.following = null;
  // What goes wrong in a feed that nobody reads is nobody's.
  for (const feed of following.feeds) feed.return?.().catch(() => {});
}

/** Ends as soon as it is left, also while it waits. */
async function* readUntilLeft(following: SessionFollow, events: AsyncIterable<Event>): AsyncGenerator<Event> {
  const feed = events[Symbol.asyncIterator]();
  following.feeds.add(feed);
  try {
    while (!following.isLeft) {
      const next = await feed.next();
      if (next.done === true || following.isLeft) return;
      yield next.value;
    }
  } finally {
    following.feeds.delete(feed);
  }
}

async function followShown(ctx: EffectContext, following: SessionFollow, from: number): Promise<void> {
  const { session } = following;
  const { push, flush } = coalesce((events) => {
    for (const event of events) if (!following.isLeft) ctx.send({ type: "event", event });
  });
  for (let seq = from; !following.isLeft; await Bun.sleep(againMs)) {
    try {
      for await (const event of readUntilLeft(following, ctx.api.turn.watch({ session, afterSeq: seq, until: "never" }))) {
        ({ seq } = event);
        push(event);
        if (event.type === "session.spawned") flush(); // its block has to be there before what it tells
        await note(ctx, following, event);
      }
    } catch (error) {
      flush();
      if (following.isLeft) return;
      if (isConnectionLost(error) && ctx.connectHub !== null) return void reconnect(ctx);
      ctx.send({ type: "told", text: describeError(error).text, isError: true });
    }
  }
}

/** What has to be known of it besides what is shown. */
async function note(ctx: EffectContext, following: SessionFollow, event: Event): Promise<void> {
  if (event.type === "turn.started" || event.type === "turn.ended") setSession(ctx, event.session);
  if (event.type === "turn.ended") following.openTurn = null;
  if (event.type === "session.spawned") void followBelow(ctx, following, event.session);
  if (event.type !== "turn.started") return;
  following.openTurn = event.turnId;
  if (ctx.running.has(following.session)) return;
  const rows = await ctx.api.turn.list({ endedSince: null });
  const row = rows.find(({ turn }) => turn.id === event.turnId);
  if (row !== undefined && !following.isLeft) ctx.send({ type: "runner", session: following.session, runner: runnerOf(row) });
  void watchOwner(ctx, following);
}

/** Null is this process: a sub-session of a turn that was left, or that is visited. */
function runnerOf({ pid }: { pid: number | null }): string | null {
  return pid === process.pid ? null : pid === null ? "elsewhere" : `pid ${pid}`;
}

/** A process that was killed tells nobody: its turn is then shown as what it left. */
async function watchOwner(ctx: EffectContext, following: SessionFollow): Promise<void> {
  const turn = following.openTurn;
  try {
    while (!following.isLeft && turn !== null && following.openTurn === turn) {
      await Bun.sleep(againMs);
      const rows = await ctx.api.turn.list({ endedSince: null });
      if (following.isLeft || !rows.some((row) => row.turn.id === turn && row.state === "interrupted")) continue;
      return void (await showSession(ctx, following.session));
    }
  } catch (error) {
    if (!following.isLeft && !isConnectionLost(error)) ctx.send({ type: "told", text: describeError(error).text, isError: true });
  }
}

/** Whoever comes late was not told which sub-sessions run. */
async function findBelow(ctx: EffectContext, following: SessionFollow, seq: number): Promise<void> {
  const rows = await ctx.api.turn.list({ endedSince: null }).catch(() => []); // the feed itself tells what is wrong
  const found = new Set([following.session]);
  for (const { session, turn, state } of rows.toReversed()) {
    if (following.isLeft || state === "interrupted" || !found.has(session.parentSession ?? "")) continue;
    found.add(session.id);
    if (following.below.get(session.id)?.isHeard === true) continue;
    const head = { seq, n: 0, sessionId: following.session, turnId: following.openTurn ?? "", at: turn.startedAt };
    const spawned = { call: "", session: session.id, agent: session.agent, task: session.task ?? "" };
    ctx.send({ type: "event", event: { ...head, type: "session.spawned", ...spawned } });
    void followBelow(ctx, following, session.id);
  }
}

function isAtWork(state: SpawnedSession["state"]): boolean {
  return state === "running" || state === "paused" || state === "asking";
}

/** From where it was heard last. It may not have begun yet; it is over at the latest when the turn above it is. */
async function followBelow(ctx: EffectContext, following: SessionFollow, session: string): Promise<void> {
  const below = following.below.get(session) ?? { seq: 0, due: 0, isHeard: false };
  following.below.set(session, below);
  below.due += 1;
  if (below.isHeard) return;
  below.isHeard = true;
  const { push, flush } = coalesce((events) => {
    for (const event of events) if (!following.isLeft) ctx.send({ type: "below", session: following.session, event });
  }, belowEveryMs);
  try {
    for (; below.due > 0 && !following.isLeft; await Bun.sleep(100)) {
      for await (const event of readUntilLeft(following, ctx.api.turn.watch({ session, afterSeq: below.seq, until: "idle" }))) {
        below.seq = event.seq;
        if (event.type === "turn.ended") below.due = Math.max(0, below.due - 1);
        if (event.type === "session.spawned") void followBelow(ctx, following, event.session);
        push(event);
      }
      if (following.openTurn === null) below.due = 0;
    }
  } catch (error) {
    if (!following.isLeft && !isConnectionLost(error)) ctx.send({ type: "told", text: describeError(error).text, isError: true });
  } finally {
    below.isHeard = false;
    flush();
  }
}

export function isConnectionLost(error: unknown): boolean {
  return error instanceof Fault && error.code === "connection-lost";
}

/** Looks for the hub until it is there again, and shows what happened meanwhile. Nothing is started unasked. */
export async function reconnect(ctx: EffectContext): Promise<void> {
  if (ctx.connectHub === null || ctx.isLost) return;
  lose(ctx);
  for (let waitMs = 50; ctx.isLost; waitMs = Math.min(againMs, waitMs * 2)) {
    await Bun.sleep(waitMs);
    try {
      if (ctx.isLost) await onReconnected(ctx, await ctx.connectHub({ start: false }));
    } catch (error) {
      if (!ctx.isLost) lose(ctx); // it went away again
      if (error instanceof Fault && ["connection-lost", "hub-unreachable"].includes(error.code)) continue;
      ctx.send({ type: "told", text: describeError(error).text, isError: true });
    }
  }
}

function lose(ctx: EffectContext): void {
  ctx.isLost = true;
  ctx.send({ type: "connection", is: "lost" });
}

export async function onReconnected(ctx: EffectContext, api: EffectContext["api"]): Promise<void> {
  ctx.api = api;
  ctx.isLost = false;
  ctx.send({ type: "connection", is: "found" });
  if (ctx.session !== null) await showSession(ctx, ctx.session.id);
}
