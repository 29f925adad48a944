// Streams a session's stored events and then its new ones, whichever process runs it. No durable event is missed or sent
// twice: the queue of new events is opened before the store is read, and duplicates are dropped.
import type { Api } from "../../protocol/api/api.ts";
import { cancellable } from "../../kit/flow/cancellable.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event, TransientEvent } from "../../protocol/tree/event.ts";
import type { EngineDeps } from "../engine.ts";
import type { ActiveHolder, Store } from "../../store/store.ts";
import { connectToHolder } from "./owner.ts";

/** How often an idle session is checked for a new owner and new events. */
const idlePollMs = 200;

type Watch = Parameters<Api["turn"]["watch"]>[0];

export function watchSession(deps: EngineDeps, params: Watch): AsyncIterable<Event> {
  return cancellable((signal) => streamEvents(deps, params, signal));
}

async function* streamEvents(deps: EngineDeps, { session, afterSeq, until }: Watch, signal: AbortSignal): AsyncGenerator<Event> {
  const store = await deps.store();
  await store.requireSession(session);
  const sent: SentPosition = { seq: afterSeq, n: 0 };
  let unsubscribe = (): void => {};
  signal.addEventListener("abort", () => unsubscribe(), { once: true });
  while (!signal.aborted) {
    const watch = deps.running.watch(session);
    const { queue } = watch;
    ({ unsubscribe } = watch);
    try {
      for (const event of await store.events(session, sent.seq)) yield markSent(sent, event);
      if (until === "now") return;
      if (deps.running.get(session) !== undefined) {
        yield* draftsOf(deps, session, sent);
        // Reads the queue until the turn ends, or the reader is too slow. The store then has the missed events.
        for (let isOver = false; !isOver;) {
          const { items, lags } = await queue.next();
          for (const event of items) if (isUnsent(event, sent)) yield markSent(sent, event);
          isOver = lags || items.length === 0;
        }
        continue;
      }
      const holder = await store.holder(session);
      if (holder !== null && holder.pid !== process.pid) yield* watchRemotely(deps, { session, holder, sent, signal });
      const isIdle = holder === null && !deps.running.isRequested(session);
      if (isIdle && until === "idle" && (await isFinished(store, session, sent))) return;
      await Promise.race([Bun.sleep(isIdle ? idlePollMs : 10), queue.arrived()]);
    } finally {
      unsubscribe();
    }
  }
}

/** False while a pending turn of the session will add events. */
async function isFinished(store: Store, session: string, { seq }: SentPosition): Promise<boolean> {
  return (await store.pendingTurns(session)).length === 0 && (await store.events(session, seq)).length === 0;
}

/** The last durable event that was sent, and the last transient event after it that the sent drafts contain. */
type SentPosition = { seq: number; n: number };

function markSent(sent: SentPosition, event: Event): Event {
  if (!("n" in event)) Object.assign(sent, { seq: event.seq, n: 0 });
  return event;
}

function isUnsent(event: Event, { seq, n }: SentPosition): boolean {
  return event.seq > seq || ("n" in event && event.seq === seq && event.n > n);
}

type RemoteWatch = { session: string; holder: ActiveHolder; sent: SentPosition; signal: AbortSignal };

async function* watchRemotely(deps: EngineDeps, { session, holder, sent, signal }: RemoteWatch): AsyncGenerator<Event> {
  let api: Api;
  try {
    api = await connectToHolder(deps, session, holder);
  } catch (error) {
    // The process may have ended meanwhile. The caller then looks for the next owner.
    if ((await (await deps.store()).holder(session))?.started === holder.started) throw error;
    return;
  }
  const disconnect = (): void => void api.close();
  signal.addEventListener("abort", disconnect, { once: true });
  if (signal.aborted) disconnect(); // the reader stopped while the connection was opened
  try {
    for await (const event of api.turn.watch({ session, afterSeq: sent.seq, until: "idle" })) yield markSent(sent, event);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "connection-lost") throw error;
  } finally {
    signal.removeEventListener("abort", disconnect);
    await api.close();
  }
}

/** Sends a new watcher the answer that is streaming, and whether files are being recorded or the turn is paused. */
function* draftsOf(deps: EngineDeps, session: string, sent: SentPosition): Generator<TransientEvent> {
  const turn = deps.running.get(session);
  const { seq, n, drafts } = turn?.recorder.drafts() ?? { ...sent, drafts: [] };
  // A durable event was published meanwhile. The queue has that event and all later ones.
  if (turn === undefined || seq !== sent.seq) return;
  sent.n = n;
  const head = { seq, n, sessionId: session, turnId: turn.recorder.turn, at: Date.now() };
  const isPaused = turn.gate.isPaused;
  const { snapshotSince } = turn.recorder;
  for (const { key, text } of drafts) yield { ...head, type: "draft.shown", key, text };
  if (snapshotSince !== null) yield { ...head, at: snapshotSince, type: "snapshot.started" };
  if (isPaused) yield { ...head, type: "turn.paused" };
}
