// Removes directories of idle teams, and of teams whose sessions were purged. A working team is never removed; a team with
// unmerged work only with `force`.
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { TeamDirectory } from "../../protocol/api/ports.ts";
import { isActive, unmergedWork, type TeamCleanParams, type TeamCleanResult } from "../../protocol/team/views.ts";
import type { EngineDeps } from "../engine.ts";
import { findTeam, findTeams, type FoundTeam } from "./find-teams.ts";

const maxTeams = 1_000;

type TeamToClean = {
  id: string;
  name: string | null;
  project: string;
  idleSince: number;
  isAtWork: boolean;
  /** The work that would be lost; null if none. */
  unmerged: string | null;
  isPurged: boolean;
};

export async function cleanTeams(deps: EngineDeps, params: TeamCleanParams): Promise<TeamCleanResult> {
  const { session, olderThanMs, dryRun, force } = params;
  const report: TeamCleanResult = { dryRun, teams: [], skipped: [], problems: [] };
  for (const team of await teamsToClean(deps, params)) {
    const { id, name, project, isPurged } = team;
    if (session === null && team.idleSince > Date.now() - olderThanMs) continue;
    const reason = team.isAtWork ? "it is at work" : team.unmerged === null || force ? null : `${team.unmerged}; --force removes it`;
    if (reason !== null) report.skipped.push({ id, name, reason });
    else
      try {
        const directory = await (dryRun ? deps.teams.directory(project, id) : deps.teams.remove(project, id));
        report.teams.push({ id, name, directory, isPurged });
      } catch (error) {
        report.problems.push(`${shortId(id)}: ${messageOf(error)}`);
      }
  }
  return report;
}

async function teamsToClean(deps: EngineDeps, { session, project }: TeamCleanParams): Promise<TeamToClean[]> {
  const purged = project === null ? [] : await purgedTeams(deps, project);
  if (session === null) {
    const found = await findTeams(deps, project, maxTeams);
    return [...(await Promise.all(found.map((team) => withDirectory(deps, team)))).flat(), ...purged];
  }
  const requested = purged.filter(({ id }) => id === session || shortId(id) === session);
  return requested.length > 0 ? requested : withDirectory(deps, await findTeam(deps, session));
}

/** Empty if the team's directory no longer exists. */
async function withDirectory(deps: EngineDeps, { info: { session, turn, state }, team }: FoundTeam): Promise<TeamToClean[]> {
  const { id, name, project } = session;
  if (!(await deps.teams.isKept(project, id))) return [];
  const idleSince = turn.endedAt ?? Date.now();
  return [{ id, name, project, idleSince, isAtWork: isActive(state), unmerged: unmergedWork(team), isPurged: false }];
}

/** Team directories without a session in this store. A process with another store may still lead such a team. */
async function purgedTeams(deps: EngineDeps, project: string): Promise<TeamToClean[]> {
  const directories = await deps.teams.all(project);
  const isPurged = await Promise.all(directories.map(async ({ id }) => !(await hasSession(deps, id))));
  return directories.filter((_, index) => isPurged[index]).map((directory) => purgedTeam(directory, project));
}

function purgedTeam({ id, touchedAt, hasLeader, team }: TeamDirectory, project: string): TeamToClean {
  const unmerged = team === "unknown" ? "its log can't be read, so unmerged work is unknown" : team === null ? null : unmergedWork(team);
  return { id, name: null, project, idleSince: touchedAt, isAtWork: hasLeader, unmerged, isPurged: true };
}

/** A directory is named after the end of its session's id. */
async function hasSession(deps: EngineDeps, id: string): Promise<boolean> {
  if (!deps.hasStore()) return false;
  try {
    await (await deps.store()).findSession(shortId(id), null);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return error.code !== "session-unknown";
  }
}
