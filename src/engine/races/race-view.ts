// Builds the view of a race: what its session records, with the state, the files and the usage of each agent's session.
import { isAbsolute } from "node:path";
import { cutText } from "../../kit/text/cut-text.ts";
import { Fault } from "../../protocol/api/error.ts";
import { hasPassed, proposedRacer, type RacerRecord } from "../../protocol/race/race.ts";
import type { RaceInfo, RacerState, RacerView, RaceState, RaceView } from "../../protocol/race/views.ts";
import { isActive } from "../../protocol/team/views.ts";
import type { FileChange } from "../../protocol/tree/file-changes.ts";
import { textOf } from "../../protocol/tree/node.ts";
import type { Session } from "../../protocol/tree/turn.ts";
import { addSpent, countedTokens, toCost, zeroSpent, type Spent } from "../../protocol/tree/usage.ts";
import type { Store, SubSession } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";
import { branchFiles } from "../files/branch-files.ts";
import { lastAnswer } from "../tree/graft.ts";
import { createWorktreeMethods } from "../worktrees/worktree-methods.ts";
import type { FoundRace } from "./find-races.ts";

const answerBytes = 2_000;

/** Changed files by session, with the node and the state for which they were read. A running agent is read again after each change. */
export type FilesCache = Map<string, { at: string; files: FileChange[] | null }>;

export async function raceViewOf(deps: EngineDeps, found: FoundRace, cache: FilesCache): Promise<RaceView> {
  const { info, race } = found;
  const store = await deps.store();
  const subSessions = await store.subSessions(info.session.id);
  const racers = await Promise.all(race.racers.map((racer) => racerView({ deps, store, found, subSessions, cache }, racer)));
  const spent = subSessions.map((session) => session.spent).reduce<Spent>(addSpent, zeroSpent);
  const state = raceState(found);
  return {
    ...commonFields(found),
    base: race.base,
    status: state === "running" || state === "paused" ? null : info.turn.status,
    racers,
    proposed: state === "ended" && race.adopted === null ? proposedRacer(race.wish.check, racers) : null,
    adopted: race.adopted,
    ...usageOf(spent),
  };
}

export async function raceInfoOf(deps: EngineDeps, found: FoundRace): Promise<RaceInfo> {
  const { info, race } = found;
  const subSessions = await (await deps.store()).subSessions(info.session.id);
  const ends = race.racers.flatMap(({ ended }) => ended ?? []);
  return {
    ...commonFields(found),
    agents: race.racers.map(({ key }) => key),
    ended: ends.length,
    passed: ends.filter(hasPassed).length,
    adopted: race.adopted === null ? null : (race.racers.find(({ session }) => session === race.adopted?.session)?.key ?? null),
    ...toCost(subSessions.map(({ spent }) => spent).reduce<Spent>(addSpent, zeroSpent)),
  };
}

function commonFields(found: FoundRace) {
  const { info, race } = found;
  const { session, turn } = info;
  const { task, check, adoptFirstPassing } = race.wish;
  const { startedAt, endedAt } = turn;
  const names = { sessionId: session.id, name: session.name, project: session.project };
  return { ...names, state: raceState(found), task, check, adoptFirstPassing, startedAt, endedAt };
}

function raceState({ info, race }: FoundRace): RaceState {
  if (info.state === "paused") return "paused";
  if (isActive(info.state)) return "running";
  return race.racers.every(({ ended }) => ended !== null) ? "ended" : "interrupted";
}

type ViewParts = { deps: EngineDeps; store: Store; found: FoundRace; subSessions: readonly SubSession[]; cache: FilesCache };

async function racerView(parts: ViewParts, racer: RacerRecord): Promise<RacerView> {
  const { store, subSessions } = parts;
  const session = await store.session(racer.session);
  const own = subSessions.filter((candidate) => candidate.session === racer.session);
  const all = [...own, ...subSessions.filter(({ parent }) => parent === racer.session)];
  const files = session === null ? [] : await filesOf(parts, racer, session);
  const path = session === null ? [] : await store.path(session.tip);
  const start = path.findIndex(({ id }) => id === parts.found.race.base) + 1;
  const answer = lastAnswer(path.slice(start));
  const asks = (await store.asks(racer.session)).filter(({ closedAt }) => closedAt === null);
  const { key, agent, ended } = racer;
  const { state, status } = await stateOf(parts, racer, session);
  return {
    key,
    sessionId: racer.session,
    agent,
    model: session?.model ?? racer.model,
    state,
    status,
    error: ended?.error ?? null,
    check: ended?.check ?? null,
    directory: session?.directory ?? null,
    files,
    added: (files ?? []).reduce((sum, file) => sum + file.added, 0),
    removed: (files ?? []).reduce((sum, file) => sum + file.removed, 0),
    ...usageOf(all.map(({ spent }) => spent).reduce<Spent>(addSpent, zeroSpent)),
    startedAt: own[0]?.startedAt ?? null,
    endedAt: own[0]?.endedAt ?? null,
    asks: asks.map(({ id, question }) => ({ id, question })),
    answer: answer === undefined ? null : cutText(textOf(answer), answerBytes, { keep: "head" }).text,
  };
}

async function stateOf({ store, found }: ViewParts, racer: RacerRecord, session: Session | null) {
  const ended = (state: RacerState, status: RacerView["status"]) => ({ state, status });
  if (racer.ended !== null) return ended("ended", racer.ended.status);
  if (!racer.isStarted || session === null) return ended("waiting", null);
  const lastTurn = (await store.turnsOf(session.id)).at(-1);
  if (!isActive(found.info.state)) return ended("interrupted", lastTurn?.agent === "shell" ? null : (lastTurn?.status ?? null));
  return ended(lastTurn?.agent === "shell" ? "checking" : "running", null);
}

/** Reads the files once for each node of the branch: a diff starts a process. */
async function filesOf({ deps, store, found, cache }: ViewParts, racer: RacerRecord, session: Session): Promise<FileChange[] | null> {
  // The files of a race of the fleet are on its worker.
  if (!isAbsolute(found.info.session.project)) return null;
  const at = `${session.tip}:${racer.ended !== null}`;
  const cached = cache.get(session.id);
  if (cached?.at === at) return cached.files;
  const path = await store.path(session.tip);
  const start = path.findIndex(({ id }) => id === found.race.base) + 1;
  const credited = (await branchFiles(store, deps.snapshots, { path, start }))?.changes ?? null;
  const hasEnded = racer.ended !== null && found.race.adopted === null;
  const files = (credited ?? []).length === 0 && hasEnded ? await worktreeChanges(deps, session, credited) : credited;
  cache.set(session.id, { at, files });
  return files;
}

/** An agent's CLI can change files without a call that it reports. Then the changes that a merge would bring count. */
async function worktreeChanges(deps: EngineDeps, session: Session, credited: FileChange[] | null): Promise<FileChange[] | null> {
  if (session.worktree === undefined) return credited;
  try {
    return (await createWorktreeMethods(deps).diff({ session: session.id, directory: null })).changes;
  } catch (error) {
    // The worktree may be removed.
    if (error instanceof Fault) return credited;
    throw error;
  }
}

function usageOf(spent: Spent) {
  return { usage: spent.usage, tokens: countedTokens(spent.usage), ...toCost(spent) };
}
