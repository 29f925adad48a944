// Follows one session: its snapshot, then its events. After a lost line it continues at the last `seq`, so nothing is missing.
// Changes are shown at most once per frame, however many events arrive.
import type { Event } from "../../../protocol/tree/event.ts";
import { messageOf } from "../../../protocol/api/error.ts";
import type { Ask, PendingTurn, QueuedInput } from "../../../protocol/api/control.ts";
import type { Node } from "../../../protocol/tree/node.ts";
import type { Session, Turn } from "../../../protocol/tree/turn.ts";
import { addSpent, toCost } from "../../../protocol/tree/usage.ts";
import type { Line } from "../connection/line.ts";
import { createStore, type Store } from "./store.ts";
import { emptyTranscript, transcriptOf, withEarlierBlocks, withEvent, withoutLive, type Transcript } from "./transcript.ts";

export type SessionState = {
  status: "loading" | "live" | "behind" | "failed";
  problem: string | null;
  session: Session | null;
  seq: number;
  transcript: Transcript;
  /** The open turn; null if nothing runs. */
  turn: Turn | null;
  /** The turn whose process has ended without an end of the turn; null if there is none. */
  interrupted: Turn | null;
  isPaused: boolean;
  asks: readonly Ask[];
  queue: readonly QueuedInput[];
  pending: readonly PendingTurn[];
  /** The last node of the path that is not loaded; null if all are. */
  earlier: string | null;
  /** Turns of the path, the latest last. */
  turns: readonly Turn[];
};

export type FollowedSession = {
  state: Store<SessionState>;
  /** Reads the pending turns again. No event reports a turn that was queued or withdrawn. */
  refreshPending: () => Promise<void>;
  /** Reads the whole session again, for example after its tip was moved. */
  reload: () => void;
  /** Loads more of the beginning of a long conversation. */
  loadEarlier: () => Promise<void>;
  stop: () => void;
};

const initial: SessionState = {
  status: "loading",
  problem: null,
  session: null,
  seq: 0,
  transcript: emptyTranscript,
  turn: null,
  interrupted: null,
  isPaused: false,
  asks: [],
  queue: [],
  pending: [],
  earlier: null,
  turns: [],
};

export function followSession(line: Line, id: string): FollowedSession {
  const state = createStore(initial);
  let current = initial;
  let isStopped = false;
  let feed: AsyncIterator<Event> | null = null;
  const publish = perFrame(() => state.set(current));

  const refreshPending = async (): Promise<void> => {
    try {
      const pending = await line.api.turn.pending({ session: id });
      current = { ...current, pending };
      publish();
    } catch {
      // The line was lost. The next snapshot or event brings the turns.
    }
  };
  const endFeed = () => void feed?.return?.()?.catch(() => {});
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      try {
        if (current.session === null) current = await loadSession(line, id);
        if (isStopped) return;
        // A paused turn is reported again by the feed, a resumed one is not.
        current = { ...current, status: "live", problem: null, isPaused: false, transcript: withoutLive(current.transcript) };
        publish();
        feed = line.api.turn.watch({ session: id, afterSeq: current.seq, until: "never" })[Symbol.asyncIterator]();
        for (let item = await feed.next(); !item.done && !isStopped; item = await feed.next()) {
          current = applyEvent(current, item.value);
          if (current.session === null) break;
          if (item.value.type === "turn.started" || item.value.type === "turn.ended") void refreshPending();
          publish();
        }
      } catch (error) {
        if (isStopped) return;
        const isLost = line.state.get().status !== "online";
        current = { ...current, status: isLost ? "behind" : "failed", problem: isLost ? null : messageOf(error) };
        publish();
        if (!isLost && current.session === null) return;
      }
      endFeed();
      // A failure while the line is there would repeat at once.
      await Promise.all([line.whenOnline(), delay(current.status === "failed" ? 2_000 : 100)]);
    }
  };
  void loop();
  const loadMore = async (): Promise<void> => {
    const { session } = current;
    const loaded = await loadEarlier(line, current);
    if (loaded === null || current.session?.id !== session?.id) return;
    current = { ...current, earlier: loaded.earlier, transcript: withEarlierBlocks(current.transcript, loaded.transcript.settled) };
    publish();
  };
  const reload = () => {
    current = { ...current, session: null };
    endFeed();
  };
  const ownerTimer = setInterval(() => void isOwnerGone(line, current.turn).then((isGone) => isGone && !isStopped && reload()), ownerMs);
  return {
    state,
    refreshPending,
    stop: () => {
      isStopped = true;
      clearInterval(ownerTimer);
      endFeed();
    },
    reload,
    loadEarlier: loadMore,
  };
}

/** Longer conversations are loaded from their end. A frame of the hub has at most 16 MB. */
const shownChars = 6_000_000;

async function loadEarlier(line: Line, { earlier, turns }: SessionState): Promise<Earlier | null> {
  if (earlier === null) return null;
  const nodes = await line.api.node.path({ node: earlier, maxChars: shownChars });
  return { transcript: transcriptOf({ nodes, turns }), earlier: nodes[0]?.parent ?? null };
}

type Earlier = Pick<SessionState, "transcript" | "earlier">;

const ownerMs = 4_000;

/** Whether the process of a turn was killed. It sends no event then, so the page asks while a turn runs. */
async function isOwnerGone(line: Line, turn: Turn | null): Promise<boolean> {
  if (turn === null || document.visibilityState !== "visible" || line.state.get().status !== "online") return false;
  try {
    const turns = await line.api.turn.list({ endedSince: null });
    return turns.some((info) => info.turn.id === turn.id && info.state === "interrupted");
  } catch {
    return false; // The line was lost; it is asked again.
  }
}

async function loadSession(line: Line, id: string): Promise<SessionState> {
  const { session, seq, nodes, turns, asks, queue, pending, open } = await line.api.session.show({ session: id, maxChars: shownChars });
  const turn = open === null ? null : (turns.find((each) => each.id === open.turn) ?? null);
  return {
    ...initial,
    session,
    seq,
    transcript: transcriptOf({ nodes, turns }),
    turn: open?.state === "interrupted" ? null : turn,
    interrupted: open?.state === "interrupted" ? turn : null,
    isPaused: open?.state === "paused",
    asks,
    queue,
    pending,
    earlier: nodes[0]?.parent ?? null,
    turns,
  };
}

/** A state without a session must be loaded again. */
function applyEvent(state: SessionState, event: Event): SessionState {
  const isDurable = !("n" in event);
  if (isDurable && event.seq <= state.seq) return state;
  const next = { ...state, seq: isDurable ? event.seq : state.seq, transcript: withEvent(state.transcript, event) };
  switch (event.type) {
    case "turn.started": {
      // The session was moved to another node since: its path is not the one that is shown.
      const hasMoved = state.session !== null && state.session.tip !== event.turn.parent;
      return {
        ...next,
        session: hasMoved ? null : event.session,
        turn: event.turn,
        interrupted: null,
        turns: [...next.turns, event.turn],
        pending: next.pending.filter(({ id }) => id !== event.turnId),
      };
    }
    case "turn.ended":
      return {
        ...next,
        session: event.session,
        turn: null,
        isPaused: false,
        turns: next.turns.map((turn) => (turn.id === event.turn.id ? event.turn : turn)),
        pending: event.next === undefined ? next.pending : [event.next, ...next.pending],
      };
    case "node.added":
      return withCostOf(event.node, { ...next, session: next.session === null ? null : { ...next.session, tip: event.node.id } });
    case "ask.opened":
      return { ...next, asks: [...next.asks.filter(({ id }) => id !== event.ask.id), event.ask] };
    case "ask.closed":
      return { ...next, asks: next.asks.filter(({ id }) => id !== event.ask.id) };
    case "queue.changed":
      return { ...next, queue: event.queue };
    case "turn.paused":
      return { ...next, isPaused: true };
    case "turn.resumed":
      return { ...next, isPaused: false };
    default:
      return next;
  }
}

/** A turn's own record has its cost only at its end. Until then it is the sum of its answers. */
function withCostOf(node: Node, state: SessionState): SessionState {
  const { usage, costUsd = null } = node;
  if (state.turn === null || usage === undefined || node.turn !== state.turn.id) return state;
  const turn = { ...state.turn, ...addSpent(state.turn, { usage, ...toCost({ ...node, costUsd }) }) };
  return { ...state, turn, turns: state.turns.map((each) => (each.id === turn.id ? turn : each)) };
}

/** Calls `run` with the next frame, or soon if the page is hidden and has no frames. */
function perFrame(run: () => void): () => void {
  let isScheduled = false;
  return () => {
    if (isScheduled) return;
    isScheduled = true;
    const flush = () => {
      isScheduled = false;
      run();
    };
    if (document.visibilityState === "visible") requestAnimationFrame(flush);
    else setTimeout(flush, 50);
  };
}

function delay(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
