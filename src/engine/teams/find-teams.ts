// Finds teams: sessions with a turn of the agent `team`. The team's record is read from the session's path.
import { sessionLabel } from "../../protocol/tree/turn.ts";
import type { TurnInfo } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import { readTeam, type TeamRecord } from "../../protocol/team/team.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";

/** A team with its latest turn. */
export type FoundTeam = { info: TurnInfo; team: TeamRecord };

export async function findTeams(deps: EngineDeps, project: string | null, limit: number): Promise<FoundTeam[]> {
  if (!deps.hasStore()) return [];
  const store = await deps.store();
  const turns = await store.latestTurnsBy("team", { project, limit });
  const found = await Promise.all(turns.map(async (info) => ({ info, team: await teamIn(store, info) })));
  return found.flatMap(({ info, team }) => (team === null ? [] : [{ info, team }]));
}

async function teamIn(store: Store, { session }: TurnInfo): Promise<TeamRecord | null> {
  return session.tip === null ? null : readTeam(await store.path(session.tip));
}

export async function findTeam(deps: EngineDeps, idOrName: string): Promise<FoundTeam> {
  const store = await deps.store();
  const session = await store.findSession(idOrName, null);
  const [info] = await store.latestTurnsBy("team", { session: session.id });
  const team = info === undefined ? null : await teamIn(store, info);
  if (info === undefined || team === null)
    throw new Fault("session-unknown", `session ${sessionLabel(session)} is no team`, {
      hint: "`skein team list` shows them",
    });
  return { info, team };
}
