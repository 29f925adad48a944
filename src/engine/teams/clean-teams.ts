// Taking directories of teams away: of those that rest, and of those whose sessions were purged. Never of one at work, and
// what would be lost with one is said, and taken only by force.
import { Fault, messageOf } from "../../protocol/api/error.ts";
import { shortId } from "../../protocol/tree/node.ts";
import type { TeamDirectory } from "../../protocol/api/ports.ts";
import { isActive, unmergedWork, type TeamCleanParams, type TeamCleanResult } from "../../protocol/team/views.ts";
import type { EngineDeps } from "../engine.ts";
import { findTeam, findTeams, type FoundTeam } from "./find-teams.ts";

const mostTeams = 1_000;

/** A directory that may go. */
type TeamToClean = {
  id: string;
  name: string | null;
  project: string;
  restsSince: number;
  isAtWork: boolean;
  /** What would be lost with it. */
  holds: string | null;
  isPurged: boolean;
};

export async function cleanTeams(deps: EngineDeps, params: TeamCleanParams): Promise<TeamCleanResult> {
  const { session, olderThanMs, dryRun, force } = params;
  const report: TeamCleanResult = { dryRun, teams: [], skipped: [], problems: [] };
  for (const kept of await allKept(deps, params)) {
    const { id, name, project, isPurged } = kept;
    if (session === null && kept.restsSince > Date.now() - olderThanMs) continue;
    const reason = kept.isAtWork ? "it is at work" : kept.holds === null || force ? null : `${kept.holds}; --force takes it away`;
    if (reason !== null) report.skipped.push({ id, name, reason });
    else
      try {
        const directory = dryRun ? deps.teams.directory(project, id) : deps.teams.remove(project, id);
        report.teams.push({ id, name, directory, isPurged });
      } catch (error) {
        report.problems.push(`${shortId(id)}: ${messageOf(error)}`);
      }
  }
  return report;
}

async function allKept(deps: EngineDeps, { session, project }: TeamCleanParams): Promise<TeamToClean[]> {
  const purged = project === null ? [] : await purgedIn(deps, project);
  if (session === null) return [...(await findTeams(deps, project, mostTeams)), ...purged].flatMap((one) => keptOf(deps, one));
  const named = purged.filter(({ id }) => id === session || shortId(id) === session);
  if (named.length > 0) return named;
  return keptOf(deps, await findTeam(deps, session));
}

function keptOf(deps: EngineDeps, one: FoundTeam | TeamToClean): TeamToClean[] {
  if (!("row" in one)) return [one];
  const { session, turn, state } = one.row;
  const { id, name, project } = session;
  if (!deps.teams.isKept(project, id)) return [];
  const restsSince = turn.endedAt ?? Date.now();
  return [{ id, name, project, restsSince, isAtWork: isActive(state), holds: unmergedWork(one.team), isPurged: false }];
}

/** Those whose sessions are in no store of ours. Someone else's may be: whoever leads one has left its name there. */
async function purgedIn(deps: EngineDeps, project: string): Promise<TeamToClean[]> {
  const all = deps.teams.all(project);
  const isPurged = await Promise.all(all.map(async ({ id }) => !(await isKnown(deps, id))));
  return all.filter((_, at) => isPurged[at]).map((one) => purgedTeam(one, project));
}

function purgedTeam({ id, touchedAt, isLed, team }: TeamDirectory, project: string): TeamToClean {
  const holds = team === "unknown" ? "what it holds can't be told" : team === null ? null : unmergedWork(team);
  return { id, name: null, project, restsSince: touchedAt, isAtWork: isLed, holds, isPurged: true };
}

/** By the end of its id: that is what a directory is called. */
async function isKnown(deps: EngineDeps, id: string): Promise<boolean> {
  if (!deps.hasStore()) return false;
  try {
    await (await deps.store()).findSession(shortId(id), null);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return error.code !== "session-unknown";
  }
}
