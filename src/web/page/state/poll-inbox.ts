// Reads what needs the user, what runs and what ran last. There is no feed of all sessions, so this asks every two seconds
// while the page is visible. The activity of a running turn is read from its last node.
import type { Api } from "../../../protocol/api/api.ts";
import type { Ask, TurnInfo } from "../../../protocol/api/control.ts";
import { callsOf, mainArgument, type Node } from "../../../protocol/tree/node.ts";
import { nodeSummary } from "../../../protocol/tree/node-summary.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import type { Line } from "../connection/line.ts";
import { createStore, type Store } from "./store.ts";

export type Inbox = {
  asks: readonly Ask[];
  running: readonly TurnInfo[];
  /** Turns that wait for a limit or for other turns. */
  waiting: readonly TurnInfo[];
  failed: readonly TurnInfo[];
  sessions: readonly Session[];
  /** The last node of each running turn as a line of text. */
  doing: ReadonlyMap<string, string>;
};

const everyMs = 2_000;
const failedForMs = 24 * 3_600_000;
const maxSessions = 60;
/** Ends that a person chose or already sees as a question. */
const quietEnds = new Set(["ok", "cancelled", "needs-input"]);

export function pollInbox(line: Line): { inbox: Store<Inbox | null>; problem: Store<string | null>; stop: () => void } {
  const inbox = createStore<Inbox | null>(null);
  const problem = createStore<string | null>(null);
  let isStopped = false;
  let wake = () => {};
  const loop = async (): Promise<void> => {
    while (!isStopped) {
      try {
        if (document.visibilityState === "visible" || inbox.get() === null) inbox.set(await readInbox(line.api, inbox.get()));
        problem.set(null);
      } catch (error) {
        if (line.state.get().status === "online") problem.set(error instanceof Error ? error.message : String(error));
      }
      await Promise.all([line.whenOnline(), new Promise<void>((resolve) => ((wake = resolve), setTimeout(resolve, everyMs)))]);
    }
  };
  void loop();
  const onVisible = () => wake();
  document.addEventListener("visibilitychange", onVisible);
  return {
    inbox,
    problem,
    stop: () => {
      isStopped = true;
      document.removeEventListener("visibilitychange", onVisible);
    },
  };
}

async function readInbox(api: Api, before: Inbox | null): Promise<Inbox> {
  const [asks, turns, sessions] = await Promise.all([
    api.ask.list({ session: null }),
    api.turn.list({ endedSince: Date.now() - failedForMs }),
    api.session.list({ project: null, archived: false, subSessions: false, limit: maxSessions }),
  ]);
  const running = outermost(turns.filter(({ state }) => ["running", "paused", "asking"].includes(state)));
  return {
    asks,
    running,
    waiting: turns.filter(({ state }) => ["waiting", "queued"].includes(state)),
    failed: latestFailures(turns),
    sessions,
    doing: await readActivities(api, running, before?.doing ?? new Map()),
  };
}

/** Without sub-sessions of sessions that run too: a team is one row, not one for each member. */
function outermost(running: readonly TurnInfo[]): TurnInfo[] {
  const ids = new Set(running.map(({ session }) => session.id));
  return running.filter(({ session }) => session.parentSession === null || !ids.has(session.parentSession));
}

/** A session's failure counts only until its next turn. Failures of sub-sessions are those of their parents. */
function latestFailures(turns: readonly TurnInfo[]): TurnInfo[] {
  const latest = new Map<string, TurnInfo>();
  for (const info of turns) {
    const known = latest.get(info.session.id);
    if (known === undefined || known.turn.startedAt < info.turn.startedAt) latest.set(info.session.id, info);
  }
  return [...latest.values()].filter(
    ({ state, turn, session }) =>
      session.parentSession === null &&
      (state === "interrupted" || (state === "ended" && turn.status !== null && !quietEnds.has(turn.status))),
  );
}

/** The keys are ids of the last nodes of turns. A node never changes, so the page does not read it again. */
async function readActivities(api: Api, running: readonly TurnInfo[], before: ReadonlyMap<string, string>): Promise<Map<string, string>> {
  const activities = new Map<string, string>();
  for (const { turn } of running) {
    if (turn.tip === null) continue;
    const known = before.get(turn.tip);
    activities.set(turn.tip, known ?? activityOf(await api.node.find({ wanted: turn.tip })));
  }
  return activities;
}

/** The last call of an answer, because it runs now. Otherwise the node itself. */
function activityOf(node: Node): string {
  const call = callsOf(node).at(-1);
  const text = call === undefined ? nodeSummary(node) : `${call.name} ${mainArgument(call.input)}`;
  return text.slice(0, 300);
}
