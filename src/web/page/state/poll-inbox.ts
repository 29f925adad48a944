// Reads the inbox: questions, running, waiting and failed turns, recent sessions. No feed has all sessions, so the page reads
// them again every two seconds.
import { useRef } from "preact/hooks";
import type { Api } from "../../../protocol/api/api.ts";
import type { Ask, TurnInfo } from "../../../protocol/api/control.ts";
import { callsOf, mainArgument, type Node } from "../../../protocol/tree/node.ts";
import { nodeSummary } from "../../../protocol/tree/node-summary.ts";
import type { Session } from "../../../protocol/tree/turn.ts";
import { usePage } from "../page-context.ts";
import { usePolled, type Polled } from "./use-polled.ts";

export type Inbox = {
  asks: readonly Ask[];
  running: readonly TurnInfo[];
  /** Turns that wait for a limit or for other turns. */
  waiting: readonly TurnInfo[];
  failed: readonly TurnInfo[];
  sessions: readonly Session[];
  activities: Activities;
};

/** The last node of each running turn as a line of text, by the id of the node. */
type Activities = ReadonlyMap<string, string>;

const pollMs = 2_000;
/** A failed turn is shown for a day. */
const failureAgeMs = 24 * 3_600_000;
const maxSessions = 60;
/** These ends are no failures: the user chose them, or sees their question. */
const quietEnds = new Set(["ok", "cancelled", "needs-input"]);

export function usePolledInbox(): Polled<Inbox> {
  const { line } = usePage();
  const known = useRef<Activities>(new Map());
  const read = async (): Promise<Inbox> => {
    const inbox = await readInbox(line.api, known.current);
    known.current = inbox.activities;
    return inbox;
  };
  return usePolled(read, [], pollMs);
}

async function readInbox(api: Api, known: Activities): Promise<Inbox> {
  const [asks, turns, sessions] = await Promise.all([
    api.ask.list({ session: null }),
    api.turn.list({ endedSince: Date.now() - failureAgeMs }),
    api.session.list({ project: null, archived: false, subSessions: false, limit: maxSessions }),
  ]);
  const running = outermost(turns.filter(({ state }) => ["running", "paused", "asking"].includes(state)));
  return {
    asks,
    running,
    waiting: turns.filter(({ state }) => ["waiting", "queued"].includes(state)),
    failed: latestFailures(turns),
    sessions,
    activities: await readActivities(api, running, known),
  };
}

/** Leaves out sub-sessions of running sessions: a team is one row, without a row for each member. */
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

/** A node never changes, so the page does not read a known one again. */
async function readActivities(api: Api, running: readonly TurnInfo[], known: Activities): Promise<Activities> {
  const activities = new Map<string, string>();
  for (const { turn } of running) {
    if (turn.tip === null) continue;
    activities.set(turn.tip, known.get(turn.tip) ?? activityOf(await api.node.find({ wanted: turn.tip })));
  }
  return activities;
}

/** The last call of an answer, because it runs now. Without a call, a summary of the node. */
function activityOf(node: Node): string {
  const call = callsOf(node).at(-1);
  const text = call === undefined ? nodeSummary(node) : `${call.name} ${mainArgument(call.input)}`;
  return text.slice(0, 300);
}
