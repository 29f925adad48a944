// Teams among the sessions: those that the agent `team` took a turn in, read off their paths.
import type { TurnInfo } from "../../protocol/api/control.ts";
import { Fault } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import { readTeam, type TeamRecord } from "../../protocol/team/team.ts";
import type { Store } from "../../store/store.ts";
import type { EngineDeps } from "../engine.ts";

/** A team with its latest turn. */
export type FoundTeam = { row: TurnInfo; team: TeamRecord };

export async function findTeams(deps: EngineDeps, project: string | null, limit: number): Promise<FoundTeam[]> {
  if (!deps.hasStore()) return [];
  const store = await deps.store();
  const rows = await store.latestTurnsBy("team", { project, limit });
  const all = await Promise.all(rows.map(async (row) => ({ row, team: await teamIn(store, row) })));
  return all.flatMap(({ row, team }) => (team === null ? [] : [{ row, team }]));
}

async function teamIn(store: Store, { session }: TurnInfo): Promise<TeamRecord | null> {
  return session.tip === null ? null : readTeam(await store.path(session.tip));
}

export async function findTeam(deps: EngineDeps, wanted: string): Promise<FoundTeam> {
  const store = await deps.store();
  const session = await store.findSession(wanted, null);
  const [row] = await store.latestTurnsBy("team", { session: session.id });
  const team = row === undefined ? null : await teamIn(store, row);
  if (row === undefined || team === null)
    throw new Fault("session-unknown", `session ${session.name ?? shortId(session.id)} is no team`, {
      hint: "`skein team list` shows them",
    });
  return { row, team };
}
