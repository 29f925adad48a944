// Finds races: sessions with a turn of the agent `race`. The race's record is read from the session's path.
import type { TurnInfo } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import { readRace, type RaceRecord } from "../../protocol/race/race.ts";
import { sessionLabel } from "../../protocol/tree/turn.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";

/** A race with its latest turn. */
export type FoundRace = { info: TurnInfo; race: RaceRecord };

export async function findRaces(deps: EngineDeps, project: string | null, limit: number): Promise<FoundRace[]> {
  if (!deps.hasStore()) return [];
  const store = await deps.store();
  const turns = await store.latestTurnsBy("race", { project, limit });
  const found = await Promise.all(turns.map(async (info) => ({ info, race: await raceIn(store, info) })));
  return found.flatMap(({ info, race }) => (race === null || info.session.archivedAt !== null ? [] : [{ info, race }]));
}

/** Finds a race by its own session, or by the session of one of its agents. */
export async function findRace(deps: EngineDeps, idOrName: string): Promise<FoundRace> {
  if (!deps.hasStore()) throw new Fault("session-unknown", "there is no race yet", { hint: 'skein race "task" -a claude,codex' });
  const store = await deps.store();
  const session = await store.findSession(idOrName, null);
  for (const id of [session.id, session.parentSession ?? []].flat()) {
    const [info] = await store.latestTurnsBy("race", { session: id });
    const race = info === undefined ? null : await raceIn(store, info);
    if (info !== undefined && race !== null) return { info, race };
  }
  throw new Fault("session-unknown", `session ${sessionLabel(session)} is no race`, { hint: "`skein race list` shows them" });
}

/** The latest race of the session's own. A race can start from a node of another one. */
async function raceIn(store: Store, { session }: TurnInfo): Promise<RaceRecord | null> {
  const race = session.tip === null ? null : readRace(await store.path(session.tip));
  return race?.id === session.id ? race : null;
}
