// Watching a session: what is stored, then what happens, whichever process runs it. Nothing lasting is missed or told
// twice: the tail is held before the store is read, and what was told already is dropped.
import type { Api } from "../../protocol/api/api.ts";
import { cancellable } from "../../kit/flow/cancellable.ts";
import { Fault } from "../../protocol/api/error.ts";
import type { Event, TransientEvent } from "../../protocol/tree/event.ts";
import type { EngineDeps } from "../engine.ts";
import { connectToHolder } from "./owner.ts";

const idleMs = 200;

type Watch = Parameters<Api["turn"]["watch"]>[0];

export function watchSession(deps: EngineDeps, params: Watch): AsyncIterable<Event> {
  return cancellable((left) => watching(deps, params, left));
}

async function* watching(deps: EngineDeps, { session, afterSeq, until }: Watch, left: AbortSignal): AsyncGenerator<Event> {
  const store = await deps.store();
  if ((await store.session(session)) === null) throw new Fault("session-unknown", `there is no session ${session}`);
  const told: SentPosition = { seq: afterSeq, n: 0 };
  let leave = (): void => {};
  left.addEventListener("abort", () => leave(), { once: true });
  while (!left.aborted) {
    const { tail, ...watch } = deps.running.watch(session);
    ({ leave } = watch);
    try {
      for (const event of await store.events(session, told.seq)) yield markSent(told, event);
      if (until === "now") return;
      if (deps.running.get(session) !== undefined) {
        yield* draftsOf(deps, session, told);
        // Until the turn ends, or the reader was too slow: then the store knows what it missed.
        for (let isOver = false; !isOver;) {
          const { items, lags } = await tail.next();
          for (const event of items) if (isNews(event, told)) yield markSent(told, event);
          isOver = lags || items.length === 0;
        }
        continue;
      }
      const holder = await store.holder(session);
      if (holder !== null && holder.pid !== process.pid) yield* watchThere(deps, session, holder, told, left);
      const isResting = holder === null && !deps.running.isExpected(session);
      if (isResting && until === "idle" && (await store.events(session, told.seq)).length === 0) return;
      await Promise.race([Bun.sleep(isResting ? idleMs : 10), tail.arrived()]);
    } finally {
      leave();
    }
  }
}

/** The last lasting event, and the last passing one after it that a draft made up for. */
type SentPosition = { seq: number; n: number };

function markSent(sent: SentPosition, event: Event): Event {
  if (!("n" in event)) Object.assign(sent, { seq: event.seq, n: 0 });
  return event;
}

function isNews(event: Event, { seq, n }: SentPosition): boolean {
  return event.seq > seq || ("n" in event && event.seq === seq && event.n > n);
}

async function* watchThere(
  deps: EngineDeps,
  session: string,
  holder: Parameters<typeof connectToHolder>[2],
  sent: SentPosition,
  left: AbortSignal,
): AsyncGenerator<Event> {
  let api: Api;
  try {
    api = await connectToHolder(deps, session, holder);
  } catch (error) {
    // It may have ended meanwhile: then there is somebody else, or nobody, to watch.
    if ((await (await deps.store()).holder(session))?.started === holder.started) throw error;
    return;
  }
  const leave = (): void => void api.close();
  left.addEventListener("abort", leave, { once: true });
  if (left.aborted) leave(); // while it was looked for
  try {
    for await (const event of api.turn.watch({ session, afterSeq: sent.seq, until: "idle" })) yield markSent(sent, event);
  } catch (error) {
    if (!(error instanceof Fault) || error.code !== "connection-lost") throw error;
  } finally {
    left.removeEventListener("abort", leave);
    await api.close();
  }
}

/** Whoever comes late is told once what is streaming, and that the turn stands still. */
function* draftsOf(deps: EngineDeps, session: string, sent: SentPosition): Generator<TransientEvent> {
  const turn = deps.running.get(session);
  const { seq, n, drafts } = turn?.recorder.drafts() ?? { ...sent, drafts: [] };
  // Something lasting came meanwhile: the tail has it, and all that followed.
  if (turn === undefined || seq !== sent.seq) return;
  sent.n = n;
  const head = { seq, n, sessionId: session, turnId: turn.recorder.turn, at: Date.now() };
  const isShut = turn.gate.isPaused;
  for (const { key, text } of drafts) yield { ...head, type: "draft.shown", key, text };
  if (isShut) yield { ...head, type: "turn.paused" };
}
