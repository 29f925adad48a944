// The Api methods of races. They read a race from its session, and adopt the work of one of its agents.
import type { RaceApi } from "../../protocol/race/views.ts";
import type { EngineDeps } from "../engine.ts";
import { adoptRace } from "./adopt-race.ts";
import { findRace, findRaces } from "./find-races.ts";
import { raceInfoOf, raceViewOf, type FilesCache } from "./race-view.ts";

const maxCachedSessions = 1_000;

export function createRaceMethods(deps: EngineDeps): RaceApi {
  const cache: FilesCache = new Map();
  return {
    list: async ({ project, limit }) => {
      const races = await findRaces(deps, project, limit);
      return Promise.all(races.map((race) => raceInfoOf(deps, race)));
    },
    show: async ({ session }) => {
      if (cache.size > maxCachedSessions) cache.clear();
      return raceViewOf(deps, await findRace(deps, session), cache);
    },
    adopt: ({ session, dryRun }) => adoptRace(deps, { session, dryRun }),
  };
}
