// Taking directories of teams away: of those that rest, and of those whose sessions were purged. Never of one at work, and
// what would be lost with one is said, and taken only by force.
import { Fault, messageOf } from "../protocol/error.ts";
import { shortId } from "../protocol/node.ts";
import type { TeamDirectory } from "../protocol/ports.ts";
import { isAtWork, unmergedIn, type TeamClean, type TeamCleaned } from "../protocol/team-views.ts";
import type { EngineParts } from "./engine.ts";
import { found, foundIn, type Found } from "./find-teams.ts";

const mostTeams = 1_000;

/** A directory that may go. */
type Kept = {
  id: string;
  name: string | null;
  project: string;
  restsSince: number;
  isAtWork: boolean;
  /** What would be lost with it. */
  holds: string | null;
  isPurged: boolean;
};

export async function cleanTeams(parts: EngineParts, params: TeamClean): Promise<TeamCleaned> {
  const { session, olderThanMs, dryRun, force } = params;
  const report: TeamCleaned = { dryRun, teams: [], skipped: [], problems: [] };
  for (const kept of await allKept(parts, params)) {
    const { id, name, project, isPurged } = kept;
    if (session === null && kept.restsSince > Date.now() - olderThanMs) continue;
    const reason = kept.isAtWork ? "it is at work" : kept.holds === null || force ? null : `${kept.holds}; --force takes it away`;
    if (reason !== null) report.skipped.push({ id, name, reason });
    else
      try {
        const directory = dryRun ? parts.teams.directory(project, id) : parts.teams.remove(project, id);
        report.teams.push({ id, name, directory, isPurged });
      } catch (error) {
        report.problems.push(`${shortId(id)}: ${messageOf(error)}`);
      }
  }
  return report;
}

async function allKept(parts: EngineParts, { session, project }: TeamClean): Promise<Kept[]> {
  const purged = project === null ? [] : await purgedIn(parts, project);
  if (session === null) return [...(await foundIn(parts, project, mostTeams)), ...purged].flatMap((one) => keptOf(parts, one));
  const named = purged.filter(({ id }) => id === session || shortId(id) === session);
  if (named.length > 0) return named;
  return keptOf(parts, await found(parts, session));
}

function keptOf(parts: EngineParts, one: Found | Kept): Kept[] {
  if (!("row" in one)) return [one];
  const { session, turn, state } = one.row;
  const { id, name, project } = session;
  if (!parts.teams.isKept(project, id)) return [];
  const restsSince = turn.endedAt ?? Date.now();
  return [{ id, name, project, restsSince, isAtWork: isAtWork(state), holds: unmergedIn(one.team), isPurged: false }];
}

/** Those whose sessions are in no store of ours. Someone else's may be: whoever leads one has left its name there. */
async function purgedIn(parts: EngineParts, project: string): Promise<Kept[]> {
  const all = parts.teams.all(project);
  const isPurged = await Promise.all(all.map(async ({ id }) => !(await isKnown(parts, id))));
  return all.filter((_, at) => isPurged[at]).map((one) => purgedTeam(one, project));
}

function purgedTeam({ id, touchedAt, isLed, team }: TeamDirectory, project: string): Kept {
  const holds = team === "unknown" ? "what it holds can't be told" : team === null ? null : unmergedIn(team);
  return { id, name: null, project, restsSince: touchedAt, isAtWork: isLed, holds, isPurged: true };
}

/** By the end of its id: that is what a directory is called. */
async function isKnown(parts: EngineParts, id: string): Promise<boolean> {
  if (!parts.hasStore()) return false;
  try {
    await (await parts.store()).findSession(shortId(id), null);
    return true;
  } catch (error) {
    if (!(error instanceof Fault)) throw error;
    return error.code !== "session-unknown";
  }
}
