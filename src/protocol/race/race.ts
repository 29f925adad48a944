// A race: several agents with the same task, each in its own worktree. Its state is read from the notes of its session.
// Pure, so that the agent and every front end get the same state.
import type { TurnStatus } from "../api/error.ts";
import type { Contestant, RaceCheck, RaceEvent, Racer, RaceRequest } from "../schema/race/race.ts";
import type { RacerView } from "../schema/race/race-views.ts";
import type { Node } from "../tree/node.ts";

export type * from "../schema/race/race.ts";

export type RacerEnd = { status: TurnStatus; error: string | null; check: RaceCheck | null };
export type RacerRecord = Racer & { isStarted: boolean; ended: RacerEnd | null };
export type RaceAdopted = Omit<Extract<RaceEvent, { event: "race_adopted" }>, "event">;

export type RaceRecord = {
  /** The race's session. */
  id: string;
  wish: RaceRequest;
  /** The node that all agents start from; null before the first message. */
  base: string | null;
  racers: RacerRecord[];
  adopted: RaceAdopted | null;
};

/** Null if the path has no race. */
export function readRace(path: readonly Node[]): RaceRecord | null {
  const start = path.findLastIndex((node) => raceEventOf(node)?.event === "race_started");
  const [created, ...events] = path.slice(Math.max(0, start)).flatMap((node) => raceEventOf(node) ?? []);
  if (created?.event !== "race_started") return null;
  const race = newRaceRecord(path[start]!.session, created);
  for (const event of events) applyRaceEvent(race, event);
  return race;
}

export function newRaceRecord(id: string, { wish, base, racers }: Pick<RaceRecord, "wish" | "base"> & { racers: Racer[] }): RaceRecord {
  return { id, wish, base, racers: racers.map((racer) => ({ ...racer, isStarted: false, ended: null })), adopted: null };
}

export function applyRaceEvent(race: RaceRecord, event: RaceEvent): void {
  if (event.event === "race_started") return;
  if (event.event === "race_adopted") {
    const { session, continuesIn, grafted, files } = event;
    race.adopted = { session, continuesIn, grafted, files };
    return;
  }
  const racer = race.racers.find(({ key }) => key === event.racer);
  if (racer === undefined) return;
  if (event.event === "racer_started") Object.assign(racer, { isStarted: true, ended: null });
  else racer.ended = { status: event.status, error: event.error, check: event.check };
}

/** A key for each agent: its name, with a number if it takes part more than once. */
export function racerKeys(contestants: readonly Contestant[]): string[] {
  const counts = new Map<string, number>();
  return contestants.map(({ agent }) => {
    const isRepeated = contestants.filter((other) => other.agent === agent).length > 1;
    counts.set(agent, (counts.get(agent) ?? 0) + 1);
    return isRepeated ? `${agent}-${counts.get(agent)}` : agent;
  });
}

/** Whether an agent ended ok, and passed the check if there is one. */
export function hasPassed({ status, check }: { status: TurnStatus | null; check: RaceCheck | null }): boolean {
  return status === "ok" && check?.passed !== false;
}

/** The order of outcomes, the best first. Statuses that are not listed come last. */
const outcomes: readonly string[] = [
  "ok",
  "check-failed",
  "needs-input",
  "budget",
  "timed-out",
  "stalled",
  "too-long",
  "rate-limited",
  "overloaded",
  "network",
  "refused",
  "auth",
  "not-installed",
  "sandbox-unavailable",
  "broken",
  "killed",
  "cancelled",
];

/** The status of the agent with the best outcome. An agent that ended ok and failed the check counts as `check-failed`. */
export function bestOutcome(ends: readonly RacerEnd[]): TurnStatus {
  const statuses = ends.map((end): TurnStatus => (end.status === "ok" && !hasPassed(end) ? "check-failed" : end.status));
  const rank = (status: TurnStatus) => (outcomes.includes(status) ? outcomes.indexOf(status) : outcomes.length);
  return statuses.toSorted((a, b) => rank(a) - rank(b))[0] ?? "broken";
}

type Figures = Pick<RacerView, "key" | "status" | "check" | "files" | "added" | "removed">;

/** The key of the passing agent that changed the fewest lines, then the fewest files. Null without a check or a passing agent. */
export function proposedRacer(check: string | null, racers: readonly Figures[]): string | null {
  if (check === null) return null;
  const passing = racers.filter((racer) => racer.check?.passed === true && hasPassed(racer));
  const lines = ({ added, removed }: Figures) => added + removed;
  const fileCount = ({ files }: Figures) => files?.length ?? Number.MAX_SAFE_INTEGER;
  return passing.toSorted((a, b) => lines(a) - lines(b) || fileCount(a) - fileCount(b))[0]?.key ?? null;
}

export function raceEventOf(node: Pick<Node, "note">): RaceEvent | null {
  return node.note?.about === "race" ? node.note.happened : null;
}

/** How an agent ended, in a few words. */
export function racerEndText({ status, error, check }: RacerEnd): string {
  if (status !== "ok") return error === null ? status : `${status}: ${error}`;
  return check === null ? "ok" : checkText(check);
}

export function checkText({ passed, exitCode, problem }: RaceCheck): string {
  return passed ? "passed" : `failed: ${problem ?? `exit ${exitCode ?? "by a signal"}`}`;
}
